-- Texts that may say nearly the same: the nearest by meaning, to be compared by their words.

-- name: page_texts
-- Texts of the open space that count now, after an id. Index: the primary key of `evidence`.
select e.evidence_id
from commonlore.evidence e
where e.evidence_id > %(after)s::uuid
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id
limit %(most)s::int;

-- name: nearest_texts
-- Of each named text the later ones whose beginning is nearest to its own; exact, and only those that have a vector.
select p.evidence_id, n.evidence_id as other_id, a.content_sha256 = b.content_sha256 as is_same_text
from commonlore.evidence_vector_1 p
cross join lateral (
    select v.evidence_id
    from commonlore.evidence_vector_1 v
    where v.part_no = 0 and v.evidence_id > p.evidence_id
      and not exists (
          select from commonlore.evidence_exclusion x
          where x.evidence_id = v.evidence_id and x.reason <> 'unsupported'
            and x.team_id = %(team_id)s::uuid -- tenant
            and x.space_epoch = %(space_epoch)s::bigint -- tenant
      )
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> p.embedding, v.evidence_id
    limit %(nearest)s::int
) n
join commonlore.evidence a on a.evidence_id = p.evidence_id
join commonlore.evidence b on b.evidence_id = n.evidence_id
where p.part_no = 0 and p.evidence_id = any(%(evidence_ids)s::uuid[])
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
  and a.team_id = %(team_id)s::uuid -- tenant
  and a.space_epoch = %(space_epoch)s::bigint -- tenant
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
order by p.evidence_id, n.evidence_id;

-- name: read_texts
-- How texts of the open space begin, in any order. Index: the primary key.
select e.evidence_id, left(e.content, %(chars)s::int) as content from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;
