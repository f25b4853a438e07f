-- The vector branches of a recall in a space whose vectors have an index of their own: `frontier.sql` has the exact ones.
-- `/* and in one space: x */` becomes the literals of the index's own condition: with parameters alone, no plan that is made once
-- for all teams could use it. Both locks stand beside them. Where the index is gone the same statements are exact.

-- name: evidence_vector
-- As `evidence_vector` of the frontier, but the nearest parts are those that the index finds; where it finds less than is wanted,
-- the search is exact after all.
with sample as materialized (
    {sample}
), near as materialized (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where {gate} /* and in one space: c */
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec
    limit %(part_depth)s::int
), every as (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where (select count(*) from near) < %(part_depth)s::int and {gate}
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec, c.evidence_id, c.part_no
    limit %(part_depth)s::int
)
select f.evidence_id, f.part_no, -f.distance as score,
       (select avg(-s.distance order by s.evidence_id) from sample s)::float8 as mean, (select stddev_pop(-s.distance order by s.evidence_id) from sample s)::float8 as deviation
from (
    select distinct on (n.evidence_id) n.evidence_id, n.part_no, n.distance
    from (select * from near union all select * from every) n
    order by n.evidence_id, n.distance, n.part_no
) f
order by f.distance, f.evidence_id
limit %(depth)s::int;

-- name: relationship_vector
-- As `relationship_vector` of the frontier, for a search of the present that names no entities and no filter.
with near as materialized (
    select v.relationship_id, v.embedding <#> %(vector)s::halfvec as distance
    from commonlore.relationship_vector_1 v
    where v.generation = %(generation)s::int /* and in one space: v */
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec
    limit %(near)s::int
), every as (
    select v.relationship_id, v.embedding <#> %(vector)s::halfvec as distance
    from commonlore.relationship_vector_1 v
    where (select count(*) from near) < %(near)s::int and v.generation = %(generation)s::int
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec, v.relationship_id
    limit %(near)s::int
)
select r.relationship_id, r.semantic_group_key, r.known_from
from (select * from near union select * from every) s
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
