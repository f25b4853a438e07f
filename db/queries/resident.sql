-- Vectors that a process keeps of the spaces it is asked about: reading them, and the vector branches over what it found among them.
-- A vector's `arrived` is the transaction that brought it. What a snapshot sees beyond an older one came with a transaction that was
-- not over for the older: one not below its xmin. Rows that were restored from another server may name transactions that are still to
-- come here: those count as none (0), so that what comes with them is asked for.

-- name: load_evidence
-- Every vector of the space, as bytes in one row, each column in the same order; `mark` is the least transaction that is not over.
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, string_agg(uuid_send(v.evidence_id), '') as ids,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived, string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.evidence_vector_1 v
where v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: new_evidence
-- As `load_evidence`: what came with a transaction from `mark` on, save those in `held`.
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, string_agg(uuid_send(v.evidence_id), '') as ids,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived, string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.evidence_vector_1 v
where v.arrived > '0' and v.arrived >= %(mark)s::xid8 and v.arrived <> all(%(held)s::xid8[]) and pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot()))
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: load_relationship
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, string_agg(uuid_send(v.relationship_id), '') as ids,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived, string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.relationship_vector_1 v
where v.generation = %(generation)s::int
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: new_relationship
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, string_agg(uuid_send(v.relationship_id), '') as ids,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived, string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.relationship_vector_1 v
where v.generation = %(generation)s::int and v.arrived > '0' and v.arrived >= %(mark)s::xid8 and v.arrived <> all(%(held)s::xid8[]) and pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot()))
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: evidence_vector
-- As `evidence_vector` of the frontier, over the texts `ids` that may hold the nearest parts. Every part that is not theirs lies beyond
-- `within`; where fewer parts than are wanted lie within it (some are gone, or a gate refuses them), the search is exact over the space.
-- `is_short` says whether it was. A `within` of infinity: there are no others.
with sample as materialized (
    {sample}
), near as materialized (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where c.evidence_id = any(%(ids)s::uuid[]) and {gate}
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec, c.evidence_id, c.part_no
    limit %(part_depth)s::int
), short as materialized (
    select %(within)s::float8 < 'infinity' and count(*) < %(part_depth)s::int as is_short from near n where n.distance <= %(within)s::float8
), every as (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where (select s.is_short from short s) and {gate}
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec, c.evidence_id, c.part_no
    limit %(part_depth)s::int
)
select f.evidence_id, f.part_no, -f.distance as score,
       (select avg(-s.distance) from sample s)::float8 as mean, (select stddev_pop(-s.distance) from sample s)::float8 as deviation,
       (select s.is_short from short s) as is_short
from (
    select distinct on (n.evidence_id) n.evidence_id, n.part_no, n.distance
    from (select * from near where not (select s.is_short from short s) union all select * from every) n
    order by n.evidence_id, n.distance, n.part_no
) f
order by f.distance, f.evidence_id
limit %(depth)s::int;

-- name: relationship_vector
-- As `relationship_vector` of the frontier, for a search of the present that names no entities and no filter, over the documents of `ids`.
with near as materialized (
    select v.relationship_id, v.embedding <#> %(vector)s::halfvec as distance
    from commonlore.relationship_vector_1 v
    where v.generation = %(generation)s::int and v.relationship_id = any(%(ids)s::uuid[])
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec, v.relationship_id
    limit %(near)s::int
), short as materialized (
    select %(within)s::float8 < 'infinity' and count(*) < %(near)s::int as is_short from near n where n.distance <= %(within)s::float8
), every as (
    select v.relationship_id, v.embedding <#> %(vector)s::halfvec as distance
    from commonlore.relationship_vector_1 v
    where (select s.is_short from short s) and v.generation = %(generation)s::int
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec, v.relationship_id
    limit %(near)s::int
)
select r.relationship_id, r.semantic_group_key, r.known_from, (select s.is_short from short s) as is_short
from (select * from (select * from near where not (select s.is_short from short s) union all select * from every) n
      order by n.distance, n.relationship_id) s
cross join lateral (
    select r.relationship_id, r.semantic_group_key, r.known_from
    from commonlore.relationship r
    where r.relationship_id = s.relationship_id and {eligible}
      and r.owner_profile_id <> all(array(
          select o.profile_id from commonlore.profile o
          where o.retired_at is not null
            and o.team_id = %(team_id)s::uuid -- tenant
      ))
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
) r
order by s.distance, r.known_from, r.relationship_id
limit %(depth)s::int;
