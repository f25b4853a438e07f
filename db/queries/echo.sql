-- Texts that were recalled shortly before, by id and nothing else, and texts that quote one of them.

-- name: read_recalled
-- The texts of the open space that were recalled since then, the latest, and those that are named, by id. Erased ones are gone.
-- Index: `recalled_evidence_latest`.
select e.evidence_id, coalesce(x.source_group_key, e.source_group, s.source_key, e.source, e.evidence_id::text) as source_group_key
from (
    (select r.evidence_id from commonlore.recalled_evidence r
     where r.recalled_at >= %(since)s::timestamptz
       and r.team_id = %(team_id)s::uuid -- tenant
       and r.space_epoch = %(space_epoch)s::bigint -- tenant
     order by r.recalled_at desc, r.evidence_id
     limit %(most)s::int)
    union
    select * from unnest(%(evidence_ids)s::uuid[])
) w
join commonlore.evidence e on e.evidence_id = w.evidence_id
left join commonlore.evidence_source s on s.team_id = e.team_id and s.space_epoch = e.space_epoch and s.source_id = e.source_id
left join commonlore.evidence_echo x on x.team_id = e.team_id and x.space_epoch = e.space_epoch and x.evidence_id = e.evidence_id
where not exists (
      select from commonlore.evidence_exclusion n
      where n.evidence_id = e.evidence_id and n.reason = 'erased'
        and n.team_id = %(team_id)s::uuid -- tenant
        and n.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: read_begins
-- How texts of the open space begin, in any order. Index: the primary key.
select e.evidence_id, left(e.content, %(chars)s::int) as begins from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: keep_echoes
insert into commonlore.evidence_echo (team_id, space_epoch, evidence_id, echoed_evidence_id, source_group_key, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.evidence_id, r.echoed_evidence_id, r.source_group_key, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (evidence_id uuid, echoed_evidence_id uuid, source_group_key text);

-- name: keep_recalled
-- Notes texts of the open space as recalled; ids that are nothing there are passed over.
insert into commonlore.recalled_evidence as r (team_id, space_epoch, evidence_id, recalled_at)
select e.team_id, e.space_epoch, e.evidence_id, w.recalled_at
from unnest(%(evidence_ids)s::uuid[], %(instants)s::timestamptz[]) as w (evidence_id, recalled_at)
join commonlore.evidence e on e.evidence_id = w.evidence_id
where e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id
on conflict (team_id, space_epoch, evidence_id) do update set recalled_at = greatest(r.recalled_at, excluded.recalled_at);

-- name: forget_recalled
delete from commonlore.recalled_evidence r
where r.recalled_at < %(before)s::timestamptz
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;
