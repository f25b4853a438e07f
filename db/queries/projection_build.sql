-- How texts and vectors get into a new generation, and out of a retired one. Run by the worker, with one space open.

-- name: is_serving
-- Whether the serving role has a transaction open now in this database. Every transaction holds a lock of this kind, and whose they are everybody may see.
select exists (
    select from pg_catalog.pg_locks l
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'virtualxid' and l.granted and a.usename = 'commonlore_app' and a.datname = current_database()
) as is_serving;

-- name: note_projected
update commonlore.projection_generation g
set state = 'embedding', projected_at = %(now)s::timestamptz
where g.source_kind = 'relationship' and g.generation = %(generation)s::int and g.state = 'projecting_text'
  and g.team_id = %(team_id)s::uuid -- tenant
;

-- name: note_ready
update commonlore.projection_generation g
set ready_at = coalesce(g.ready_at, %(now)s::timestamptz)
where g.source_kind = 'relationship' and g.generation = %(generation)s::int
  and g.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_progress
select p.projected_to, p.projected, p.is_projected
from commonlore.projection_progress p
where p.generation = %(generation)s::int
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: note_progress
insert into commonlore.projection_progress (team_id, space_epoch, generation, projected_to, projected, is_projected)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, %(projected_to)s::uuid, %(projected)s::bigint, %(is_projected)s::bool)
on conflict (team_id, space_epoch, generation)
do update set projected_to = excluded.projected_to, projected = projection_progress.projected + excluded.projected, is_projected = excluded.is_projected;

-- name: next_wordings
-- The next documents of the generation that serves, in the order of their ids, with what they should say: those that the new one lacks.
-- What cannot be worded any more keeps its text. Both keys are bounded, so that a merge of them begins where the batch does.
select d.relationship_id, r.version, r.predicate_key, r.polarity, r.scope_key, r.valid_from, r.valid_to,
       subject.display_name as subject_name, target.display_name as object_name, value.display, value.unit, d.document_text,
       n.relationship_id is not null as is_projected
from (
    select d.relationship_id, d.document_text from commonlore.relationship_document d
    where d.generation = %(source)s::int and d.relationship_id > %(after)s::uuid
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    order by d.relationship_id
    limit %(batch)s::int
) d
join commonlore.relationship r
  on r.relationship_id = d.relationship_id and r.relationship_id > %(after)s::uuid
     and r.team_id = %(team_id)s::uuid -- tenant
     and r.space_epoch = %(space_epoch)s::bigint -- tenant
left join commonlore.relationship_document n
  on n.generation = %(generation)s::int and n.relationship_id = d.relationship_id and n.relationship_id > %(after)s::uuid
     and n.team_id = %(team_id)s::uuid -- tenant
     and n.space_epoch = %(space_epoch)s::bigint -- tenant
left join commonlore.entity_name subject
  on subject.entity_id = r.subject_entity_id and subject.name_kind = 'canonical' and subject.known_to is null
     and subject.team_id = %(team_id)s::uuid -- tenant
     and subject.space_epoch = %(space_epoch)s::bigint -- tenant
left join commonlore.entity_name target
  on target.entity_id = r.object_entity_id and target.name_kind = 'canonical' and target.known_to is null
     and target.team_id = %(team_id)s::uuid -- tenant
     and target.space_epoch = %(space_epoch)s::bigint -- tenant
left join commonlore.value_record value
  on value.value_id = r.object_value_id
     and value.team_id = %(team_id)s::uuid -- tenant
     and value.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.relationship_id;

-- name: copy_documents
-- Documents that say in the new generation what they say in the one that serves; each waits for its vector.
insert into commonlore.relationship_document (team_id, space_epoch, generation, relationship_id, source_version, document_text, search_state)
select d.team_id, d.space_epoch, %(generation)s::int, d.relationship_id, d.source_version, d.document_text,
       case d.search_state when 'not_required' then 'not_required' else 'pending' end
from commonlore.relationship_document d
where d.generation = %(source)s::int and d.relationship_id = any(%(relationship_ids)s::uuid[])
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.relationship_id;

-- name: carry_vectors
-- Vectors of texts that say the same in the generation that serves, under the same contract; how many were carried over.
with same as (
    select d.relationship_id
    from commonlore.relationship_document d
    join commonlore.relationship_document s
      on s.relationship_id = d.relationship_id and s.generation = %(source)s::int and s.search_state = 'current' and s.document_text = d.document_text
         and s.team_id = %(team_id)s::uuid -- tenant
         and s.space_epoch = %(space_epoch)s::bigint -- tenant
    where d.generation = %(generation)s::int and d.search_state = 'pending'
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    order by d.relationship_id
    limit %(batch)s::int
    for update of d
), carried as (
    insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding)
    select v.team_id, v.space_epoch, %(generation)s::int, v.relationship_id, v.embedding
    from commonlore.relationship_vector_1 v
    where v.generation = %(source)s::int and v.relationship_id = any(array(select s.relationship_id from same s))
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.relationship_id
    returning relationship_id
), kept as (
    update commonlore.relationship_document d
    set search_state = 'current', error_code = null
    from carried c
    where d.generation = %(generation)s::int and d.relationship_id = c.relationship_id
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
)
select count(*) as carried from carried;

-- name: clear_documents
-- Some documents of a retired generation with their vectors; how many documents.
with gone as (
    select d.relationship_id from commonlore.relationship_document d
    where d.generation = %(generation)s::int
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    order by d.relationship_id
    limit %(batch)s::int
), vectors as (
    delete from commonlore.relationship_vector_1 v
    where v.generation = %(generation)s::int and v.relationship_id = any(array(select g.relationship_id from gone g))
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
), documents as (
    delete from commonlore.relationship_document d
    where d.generation = %(generation)s::int and d.relationship_id = any(array(select g.relationship_id from gone g))
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    returning d.relationship_id
)
select count(*) as cleared from documents;

-- name: clear_rest
-- Postings, statistics and progress of a retired generation in the open space.
with blocks as (
    delete from commonlore.relationship_posting b
    where b.generation = %(generation)s::int
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
), differences as (
    delete from commonlore.relationship_posting_difference d
    where d.generation = %(generation)s::int
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
), whole as (
    delete from commonlore.relationship_statistic s
    where s.generation = %(generation)s::int
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
)
delete from commonlore.projection_progress p
where p.generation = %(generation)s::int
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: clear_texts
-- The same where the vector tables of the generation's contract are gone.
with gone as (
    select d.relationship_id from commonlore.relationship_document d
    where d.generation = %(generation)s::int
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    order by d.relationship_id
    limit %(batch)s::int
), documents as (
    delete from commonlore.relationship_document d
    where d.generation = %(generation)s::int and d.relationship_id = any(array(select g.relationship_id from gone g))
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    returning d.relationship_id
)
select count(*) as cleared from documents;

-- name: has_tables
-- Whether a contract has its vector tables.
select to_regclass('commonlore.relationship_vector_' || %(contract_id)s::smallint) is not null as exists;
