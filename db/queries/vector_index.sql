-- The vector indexes of one space, by the worker: what stands, what it should be, and how much of the exact answer an index finds.

-- name: read_indexes
-- A row for each frontier of the open space that has vectors or an index, evidence first: rows by its statistics, what is noted, and
-- whether the index stands in the catalogue (null: it does not; false: its building was cut off).
-- Rows are those of the contracts that may be searched and, of relationships, of their generations that serve or would; of others, what an
-- index was noted for. A contract that has not served is among them from when it has every vector of the space: then its index can be ready
-- before it serves.
with searched as (
    select c.contract_id from commonlore.embedding_contract c
    where c.lifecycle_state in ('served', 'standby')
       or c.lifecycle_state = 'building' and exists (
              select from commonlore.vector_index i
              where i.contract_id = c.contract_id
                and i.team_id = %(team_id)s::uuid -- tenant
                and i.space_epoch = %(space_epoch)s::bigint -- tenant
          )
       or c.lifecycle_state = 'building' and exists (
              select from commonlore.contract_progress f
              where f.contract_id = c.contract_id and f.is_filled
                and f.team_id = %(team_id)s::uuid -- tenant
                and f.space_epoch = %(space_epoch)s::bigint -- tenant
          ) and not exists (
              select from commonlore.evidence_embedding_backlog b
              where b.contract_id = c.contract_id and b.search_state = 'pending'
                and b.team_id = %(team_id)s::uuid -- tenant
                and b.space_epoch = %(space_epoch)s::bigint -- tenant
          )
), sizes as (
    select 'evidence' as frontier, k.contract_id, 0 as generation,
           (select sum(s.parts)::bigint from commonlore.evidence_statistic s
            where s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as row_count
    from searched k
    union all
    select 'relationship', p.contract_id, p.generation,
           (select sum(s.documents)::bigint from commonlore.relationship_statistic s
            where s.generation = p.generation
              and s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
           )
    from commonlore.projection_generation p
    join searched k on k.contract_id = p.contract_id
    where p.source_kind = 'relationship' and p.state = 'current'
      and p.team_id = %(team_id)s::uuid -- tenant
), noted as (
    select i.frontier, i.contract_id, i.generation, i.state, i.row_count, i.measured_at
    from commonlore.vector_index i
    where i.team_id = %(team_id)s::uuid -- tenant
      and i.space_epoch = %(space_epoch)s::bigint -- tenant
)
select frontier, contract_id, generation, coalesce(z.row_count, 0) as row_count, n.state, n.row_count as measured_rows, n.measured_at,
       (select x.indisvalid from pg_catalog.pg_index x
        join pg_catalog.pg_class c on c.oid = x.indexrelid
        where c.relname = frontier || '_vector_' || contract_id || '_near_' || %(space_epoch)s::bigint
                          || case generation when 0 then '' else '_' || generation end
          and c.relnamespace = 'commonlore'::regnamespace) as is_valid
from sizes z
full join noted n using (frontier, contract_id, generation)
where coalesce(z.row_count, 0) > 0 or n.state is not null
order by frontier, contract_id, generation;

-- name: note_building
-- From here on searches of the frontier are exact.
insert into commonlore.vector_index (team_id, space_epoch, frontier, contract_id, generation, index_name, state)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(frontier)s::text, %(contract_id)s::smallint, %(generation)s::int, %(index_name)s::text, 'building')
on conflict (team_id, space_epoch, frontier, contract_id, generation)
do update set index_name = excluded.index_name, state = 'building', ef_search = null, row_count = null, overlap = null, query_count = null,
              measured_at = null;

-- name: note_measured
update commonlore.vector_index i
set state = %(state)s::text, ef_search = %(ef_search)s::int, row_count = %(row_count)s::bigint, overlap = %(overlap)s::int, query_count = %(query_count)s::int,
    measured_at = %(now)s::timestamptz
where i.frontier = %(frontier)s::text and i.contract_id = %(contract_id)s::smallint and i.generation = %(generation)s::int
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: keep_overlap
insert into commonlore.vector_overlap (team_id, space_epoch, frontier, size_bucket, overlap, least_overlap, query_count, measured_at)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(frontier)s::text, %(size_bucket)s::bigint, %(overlap)s::int, %(overlap)s::int,
        %(query_count)s::int, %(now)s::timestamptz)
on conflict (team_id, space_epoch, frontier, size_bucket)
do update set overlap = excluded.overlap, least_overlap = least(vector_overlap.least_overlap, excluded.overlap),
              query_count = excluded.query_count, measured_at = excluded.measured_at;

-- name: forget_index
delete from commonlore.vector_index i
where i.frontier = %(frontier)s::text and i.contract_id = %(contract_id)s::smallint and i.generation = %(generation)s::int
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: sample_evidence
-- Vectors of texts that follow a place in the order of the ids' ends, which are random.
select v.embedding
from commonlore.evidence_vector_1 v
where v.evidence_id = any(array(
      select p.evidence_id from commonlore.evidence_part p
      where p.part_no = 0 and "right"(p.evidence_id::text, 12) >= %(place)s::text
        and p.team_id = %(team_id)s::uuid -- tenant
        and p.space_epoch = %(space_epoch)s::bigint -- tenant
      order by "right"(p.evidence_id::text, 12)
      limit %(vectors)s::int))
  and v.part_no = 0
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by "right"(v.evidence_id::text, 12);

-- name: sample_relationship
select v.embedding
from commonlore.relationship_vector_1 v
where "right"(v.relationship_id::text, 12) >= %(place)s::text and v.generation = %(generation)s::int
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by "right"(v.relationship_id::text, 12)
limit %(vectors)s::int;

-- name: nearest_evidence
-- The nearest parts. As it stands it is exact: without the space as literals no index of a space can serve it.
select v.evidence_id, v.part_no
from commonlore.evidence_vector_1 v
where true /* and in one space: v */
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by v.embedding <#> %(vector)s::halfvec
limit %(depth)s::int;

-- name: nearest_relationship
-- The same for the documents of one generation.
select v.relationship_id
from commonlore.relationship_vector_1 v
where v.generation = %(generation)s::int /* and in one space: v */
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by v.embedding <#> %(vector)s::halfvec
limit %(depth)s::int;
