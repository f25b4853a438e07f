-- The write side. Rows go in as arrays or as one JSON recordset, so that a call costs a handful of round trips.

-- name: insert_evidence
-- One row when the text is new for its author, speaker and source; none when it is stored already.
insert into commonlore.evidence
    (team_id, space_epoch, evidence_id, submission_id, evidence_index, owner_profile_id, content, content_sha256, duplicate_sha256,
     source_type, authority, source, source_group, source_id, revision_id, labels, metadata, occurred_at, speaker, session, sequence,
     part_count, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(evidence_id)s::uuid, %(submission_id)s::uuid, %(evidence_index)s::int,
        %(profile_id)s::uuid, %(content)s::text, %(content_sha256)s::bytea, %(duplicate_sha256)s::bytea, %(source_type)s::text,
        %(authority)s::text, %(source)s::text, %(source_group)s::text, %(source_id)s::uuid, %(revision_id)s::uuid, %(labels)s::text[],
        %(metadata)s::jsonb, %(occurred_at)s::timestamptz, %(speaker)s::text, %(session)s::text, %(sequence)s::bigint,
        %(part_count)s::int, %(now)s::timestamptz)
on conflict (team_id, space_epoch, duplicate_sha256) where duplicate_sha256 is not null do nothing
returning evidence_id;

-- name: find_duplicate
-- The evidence with the hash, and whether it was withdrawn for good.
select e.evidence_id,
       exists (select from commonlore.evidence_exclusion x
               where x.evidence_id = e.evidence_id and x.reason in ('erased', 'retracted', 'superseded')
                 and x.team_id = %(team_id)s::uuid -- tenant
                 and x.space_epoch = %(space_epoch)s::bigint -- tenant
              ) as is_ended
from commonlore.evidence e
where e.duplicate_sha256 = %(duplicate_sha256)s::bytea
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: insert_occurrence
insert into commonlore.evidence_occurrence
    (team_id, space_epoch, occurrence_id, evidence_id, submission_id, evidence_index, authority, source, source_group, labels, metadata,
     occurred_at, session, sequence, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(occurrence_id)s::uuid, %(evidence_id)s::uuid, %(submission_id)s::uuid,
        %(evidence_index)s::int, %(authority)s::text, %(source)s::text, %(source_group)s::text, %(labels)s::text[], %(metadata)s::jsonb,
        %(occurred_at)s::timestamptz, %(session)s::text, %(sequence)s::bigint, %(now)s::timestamptz);

-- name: insert_parts
insert into commonlore.evidence_part (team_id, space_epoch, evidence_id, part_no, span_start, span_end, text)
select %(team_id)s::uuid, %(space_epoch)s::bigint, p.*
from unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[], %(starts)s::int[], %(ends)s::int[], %(texts)s::text[]) as p;

-- name: insert_statistics
-- What this call adds to the counts of its space.
insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(statistic_id)s::uuid, %(parts)s::bigint, %(length)s::bigint, %(texts)s::bigint);

-- name: insert_vectors
insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding)
select %(team_id)s::uuid, %(space_epoch)s::bigint, v.*
from unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[], %(embeddings)s::halfvec[]) as v;

-- name: insert_backlog
insert into commonlore.evidence_embedding_backlog (team_id, space_epoch, evidence_id, part_no, contract_id, search_state)
select %(team_id)s::uuid, %(space_epoch)s::bigint, b.evidence_id, b.part_no, %(contract_id)s::smallint, 'pending'
from unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[]) as b (evidence_id, part_no);

-- name: lock_ledger
-- One writer at a time resolves names in a space; every writer takes it after its evidence, so no two wait for each other.
select pg_advisory_xact_lock(hashtextextended('commonlore.ledger ' || %(space_epoch)s::bigint::text, 0));

-- name: read_names
-- Active entities that carry one of the names now, with every current name: canonical first, then by name.
select e.entity_id, e.entity_kind,
       (select array_agg(n.display_name order by n.name_kind <> 'canonical', n.name_key, n.entity_name_id)
        from commonlore.entity_name n
        where n.entity_id = e.entity_id and n.known_to is null and n.name_kind <> 'former'
          and n.team_id = %(team_id)s::uuid -- tenant
          and n.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as names,
       (select array_agg(distinct n.name_key)
        from commonlore.entity_name n
        where n.entity_id = e.entity_id and n.known_to is null and n.name_kind <> 'former' and n.name_key = any(%(name_keys)s::text[])
          and n.team_id = %(team_id)s::uuid -- tenant
          and n.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as matched
from commonlore.entity e
where e.status = 'active'
  and e.entity_id = any(array(
      select n.entity_id from commonlore.entity_name n
      where n.name_key = any(%(name_keys)s::text[]) and n.known_to is null and n.name_kind <> 'former'
        and n.team_id = %(team_id)s::uuid -- tenant
        and n.space_epoch = %(space_epoch)s::bigint -- tenant
      ) || %(entity_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.entity_id;

-- name: read_predicates
-- The newest version of every registered predicate that is one of the keys or has one as an alias.
select distinct on (p.predicate_key) p.predicate_key, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.relationship_kind,
       p.current_cardinality, p.lifecycle_state
from commonlore.predicate_definition p
where (p.predicate_key = any(%(keys)s::text[]) or p.aliases && %(keys)s::text[])
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
order by p.predicate_key, p.version desc;

-- name: read_values
select v.value_id, v.value_type, v.canonical_value, v.unit
from commonlore.value_record v
where (v.value_type, v.canonical_value) in (select * from unnest(%(types)s::text[], %(canonicals)s::text[]))
  and v.normalization_version = %(normalization_version)s::int
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_cited
-- Evidence of this space by id, for proposals that cite what is stored already.
select e.evidence_id, e.content, e.speaker, e.authority,
       coalesce(q.source_group_key, e.source_group, s.source_key, e.source, e.evidence_id::text) as source_group_key
from commonlore.evidence e
left join commonlore.evidence_source s on s.team_id = e.team_id and s.space_epoch = e.space_epoch and s.source_id = e.source_id
left join commonlore.evidence_echo q on q.team_id = e.team_id and q.space_epoch = e.space_epoch and q.evidence_id = e.evidence_id
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_relationships
-- The author's own canonical relationships of the subjects and predicates, locked, with their supports and document.
select r.relationship_id, r.subject_entity_id, r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id, r.polarity,
       r.scope_key, r.valid_from, r.valid_to, r.status, r.version, r.relationship_kind, r.current_cardinality, r.known_to,
       d.document_text,
       (select coalesce(jsonb_agg(jsonb_build_array(s.support_id, s.evidence_id, s.span_start, s.span_end, s.source_group_key, (
                   select d.decision from commonlore.support_decision_event d
                   where d.support_id = s.support_id
                     and d.team_id = %(team_id)s::uuid -- tenant
                     and d.space_epoch = %(space_epoch)s::bigint -- tenant
                   order by d.known_from desc, d.event_id desc limit 1))), '[]')
        from commonlore.relationship_support s
        where s.relationship_id = r.relationship_id
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as supports
from commonlore.relationship r
left join commonlore.relationship_document d
  on d.team_id = r.team_id and d.space_epoch = r.space_epoch and d.relationship_id = r.relationship_id
     and d.generation = %(generation)s::int
where r.owner_profile_id = %(profile_id)s::uuid and r.identity_alias_of is null
  and (r.subject_entity_id, r.predicate_key) in (select * from unnest(%(subjects)s::uuid[], %(predicates)s::text[]))
  and (r.current_cardinality = 'one'
       or coalesce(r.object_entity_id, r.object_value_id) = any(%(objects)s::uuid[]))
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
for update of r;

-- name: kept_generations
-- The generations of relationship documents that new ones are written for: first the one that recalls read (as in
-- read_statistics, also when it failed: its words are still searched), then those that are built or stand by.
select g.generation, g.contract_id, c.contract_key
from commonlore.projection_generation g
join commonlore.embedding_contract c on c.contract_id = g.contract_id
where g.source_kind = 'relationship' and g.state <> 'retired'
  and g.team_id = %(team_id)s::uuid -- tenant
order by c.lifecycle_state = 'served' desc, g.state = 'current' desc, g.generation desc;
