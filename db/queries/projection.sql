-- Generations of relationship documents: the rows of the gate, what steers them, and what is counted of them.

-- name: list_generations
-- Every generation of the team, the newest first.
select g.generation, g.state, g.contract_id, c.contract_key, c.lifecycle_state = 'served' as is_served, g.format_version, g.activates_itself,
       g.known_from, g.projected_at, g.ready_at, g.activated_at, g.paused_at, g.retired_at, g.error_code
from commonlore.projection_generation g
join commonlore.embedding_contract c on c.contract_id = g.contract_id
where g.source_kind = 'relationship'
  and g.team_id = %(team_id)s::uuid -- tenant
order by g.generation desc;

-- name: lock_generations
-- One administrator or worker at a time changes the states of a team's generations.
select pg_advisory_xact_lock(hashtextextended('commonlore.generations ' || %(team_id)s::uuid::text, 0));

-- name: add_generation
-- A new generation of a contract, to be built; its number.
insert into commonlore.projection_generation (team_id, source_kind, generation, format_version, contract_id, state, known_from, activates_itself)
select %(team_id)s::uuid, 'relationship', coalesce(max(g.generation), 0) + 1, %(format_version)s::int, %(contract_id)s::smallint,
       'projecting_text', %(now)s::timestamptz, %(activates_itself)s::bool
from commonlore.projection_generation g
where g.source_kind = 'relationship'
  and g.team_id = %(team_id)s::uuid -- tenant
returning generation;

-- name: add_empty_generation
-- The generation of a new team under a contract that is kept beside the served one: nothing is to be built.
insert into commonlore.projection_generation
    (team_id, source_kind, generation, format_version, contract_id, state, known_from, projected_at, ready_at, activated_at)
select %(team_id)s::uuid, 'relationship', 1 + row_number() over (order by c.contract_id), %(format_version)s::int, c.contract_id, 'current',
       %(now)s::timestamptz, %(now)s::timestamptz, %(now)s::timestamptz, %(now)s::timestamptz
from commonlore.embedding_contract c
where c.lifecycle_state in ('building', 'standby');

-- name: set_state
update commonlore.projection_generation g
set state = %(state)s::text, error_code = %(error_code)s::text,
    activated_at = case when %(state)s::text = 'current' then %(now)s::timestamptz else g.activated_at end,
    retired_at = case when %(state)s::text = 'retired' then %(now)s::timestamptz end
where g.source_kind = 'relationship' and g.generation = %(generation)s::int
  and g.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_paused
update commonlore.projection_generation g
set paused_at = %(paused_at)s::timestamptz
where g.source_kind = 'relationship' and g.generation = %(generation)s::int
  and g.team_id = %(team_id)s::uuid -- tenant
;

-- name: count_documents
-- Documents of a generation in the open space by state, and those of the generation it is made from.
select count(*) filter (where d.generation = %(generation)s::int) as documents,
       count(*) filter (where d.generation = %(generation)s::int and d.search_state = 'current') as current,
       count(*) filter (where d.generation = %(generation)s::int and d.search_state = 'pending') as pending,
       count(*) filter (where d.generation = %(generation)s::int and d.search_state = 'failed') as failed,
       count(*) filter (where d.generation = %(source)s::int) as expected
from commonlore.relationship_document d
where d.generation in (%(generation)s::int, %(source)s::int)
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: count_unfinished
-- Documents of a generation in the open space that wait for a vector, or failed. Index: relationship_document_waiting.
select count(*) filter (where d.search_state = 'pending') as pending, count(*) filter (where d.search_state = 'failed') as failed
from commonlore.relationship_document d
where d.generation = %(generation)s::int and d.search_state in ('pending', 'failed')
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: failed_vectors
-- What of the open space has no vector for good, after an id, by id: texts with the number of their parts that failed, and relationships.
-- Of several failures the last is told. Indexes: evidence_embedding_backlog_by_contract, relationship_document_waiting.
select f.id, f.kind, f.parts, f.attempts, f.error_code, f.failed_at
from (
    select b.evidence_id as id, 'text' as kind, count(distinct b.part_no) as parts, max(b.attempts) as attempts,
           (array_agg(b.error_code order by b.failed_at desc nulls last, b.part_no, b.contract_id))[1] as error_code, max(b.failed_at) as failed_at
    from commonlore.evidence_embedding_backlog b
    where b.search_state = 'failed' and coalesce(b.evidence_id > %(after)s::uuid, true)
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
    group by b.evidence_id
    union all
    select d.relationship_id, 'relationship', 1, max(d.attempts),
           (array_agg(d.error_code order by d.failed_at desc nulls last, d.generation))[1], max(d.failed_at)
    from commonlore.relationship_document d
    where d.search_state = 'failed' and coalesce(d.relationship_id > %(after)s::uuid, true)
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    group by d.relationship_id
) f
order by f.id
limit %(limit)s::int;

-- name: retry_documents
update commonlore.relationship_document d
set search_state = 'pending', attempts = 0, error_code = null, failed_at = null
where d.generation = %(generation)s::int and d.search_state = 'failed'
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
;
