-- Communities as a recall, a write and an administrator see them. Only the snapshot that the gate names is ever read.

-- name: read_gate
-- The gate of the open space and the schedule of its team; one row, with nulls where communities were never switched on.
select g.enabled, g.snapshot_id, g.published_at, g.run_status, g.stale_from, t.community_time_zone, t.community_start_minute,
       s.configuration, s.relationship_count, s.group_count, s.community_count,
       (select count(*) from commonlore.community_stale_member m
        where m.snapshot_id = g.snapshot_id
          and m.team_id = %(team_id)s::uuid -- tenant
          and m.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as stale_count
from commonlore.team t
left join commonlore.community_gate g
  on g.team_id = t.team_id
     and g.space_epoch = %(space_epoch)s::bigint -- tenant
left join commonlore.community_snapshot s
  on s.team_id = g.team_id and s.space_epoch = g.space_epoch and s.snapshot_id = g.snapshot_id
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: switch_gate
-- Communities on or off; what was published stays, and is served again when they are switched on again.
insert into commonlore.community_gate (team_id, space_epoch, enabled, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(enabled)s::bool, %(now)s::timestamptz)
on conflict (team_id, space_epoch) do update set enabled = excluded.enabled;

-- name: set_schedule
update commonlore.team t
set community_time_zone = coalesce(%(time_zone)s::text, t.community_time_zone),
    community_start_minute = coalesce(%(start_minute)s::int, t.community_start_minute)
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: latest_runs
-- Newest first.
select r.run_id, r.reason, r.status, r.relationship_count, r.group_count, r.tie_count, r.community_count, r.error_code, r.known_from, r.ended_at
from commonlore.community_run r
where r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.known_from desc, r.run_id desc
limit %(most)s::int;

-- name: note_stale
-- Members of the published snapshot of which no relationship counts any more, among those that a write touched. The writer
-- holds the ledger lock, and so does whoever publishes: no change falls between a snapshot and its notes.
with gone as (
    insert into commonlore.community_stale_member (team_id, space_epoch, snapshot_id, semantic_group_key, community_no, known_from)
    select distinct m.team_id, m.space_epoch, m.snapshot_id, m.semantic_group_key, m.community_no, %(now)s::timestamptz
    from commonlore.community_gate g
    join commonlore.relationship r on r.relationship_id = any(%(relationship_ids)s::uuid[])
    join commonlore.community_member m on m.snapshot_id = g.snapshot_id and m.semantic_group_key = r.semantic_group_key
    where not exists (
        select from commonlore.relationship o
        where o.semantic_group_key = r.semantic_group_key and o.status = 'active' and o.support_count > 0 and o.identity_alias_of is null
          and o.team_id = %(team_id)s::uuid -- tenant
          and o.space_epoch = %(space_epoch)s::bigint -- tenant
    )
      and g.team_id = %(team_id)s::uuid -- tenant
      and g.space_epoch = %(space_epoch)s::bigint -- tenant
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
      and m.team_id = %(team_id)s::uuid -- tenant
      and m.space_epoch = %(space_epoch)s::bigint -- tenant
    on conflict do nothing
    returning semantic_group_key
)
update commonlore.community_gate g set stale_from = %(now)s::timestamptz
where g.stale_from is null and exists (select from gone)
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: seeded
-- The communities that seeds lie in: of which origin, at which place of it, by which group. Unordered.
-- Known ids count as in `read_known`; an entity brings at most `fan_out` relationships of each side, by predicate, then id.
select s.origin, s.place::int as place, m.semantic_group_key, m.community_no, c.logical_community_id
from (
    select 'group' as origin, i.place, i.semantic_group_key
    from unnest(%(group_keys)s::text[]) with ordinality as i (semantic_group_key, place)
    union all
    select 'known_evidence', i.place, r.semantic_group_key
    from unnest(%(evidence_ids)s::uuid[]) with ordinality as i (evidence_id, place)
    join commonlore.relationship_support p on p.evidence_id = i.evidence_id
    join commonlore.relationship r on r.relationship_id = p.relationship_id
    where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
      and p.team_id = %(team_id)s::uuid -- tenant
      and p.space_epoch = %(space_epoch)s::bigint -- tenant
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select 'known_relationship', i.place, r.semantic_group_key
    from unnest(%(relationship_ids)s::uuid[]) with ordinality as i (relationship_id, place)
    join commonlore.relationship r on r.relationship_id = i.relationship_id
    where r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select 'entity', i.place, e.semantic_group_key
    from unnest(%(entity_ids)s::uuid[]) with ordinality as i (entity_id, place)
    cross join lateral (
        (select r.semantic_group_key from commonlore.relationship r
         where r.subject_entity_id = i.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
           and r.team_id = %(team_id)s::uuid -- tenant
           and r.space_epoch = %(space_epoch)s::bigint -- tenant
         order by r.predicate_key, r.relationship_id limit %(fan_out)s::int)
        union all
        (select r.semantic_group_key from commonlore.relationship r
         where r.object_entity_id = i.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
           and r.team_id = %(team_id)s::uuid -- tenant
           and r.space_epoch = %(space_epoch)s::bigint -- tenant
         order by r.predicate_key, r.relationship_id limit %(fan_out)s::int)
    ) e
) s
join commonlore.community_member m on m.semantic_group_key = s.semantic_group_key
join commonlore.community c on c.team_id = m.team_id and c.space_epoch = m.space_epoch and c.snapshot_id = m.snapshot_id and c.community_no = m.community_no
where m.snapshot_id = %(snapshot_id)s::uuid
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: uncovered_members
-- For each community its members that count now and that nobody has said yet: those that match the query by their place
-- among the candidates, then the others by their place in the community. At most `most` of each kind; by community, then so.
select w.community_no, x.semantic_group_key, x.direct_place
from unnest(%(community_nos)s::int[]) as w (community_no)
cross join lateral (
    (select m.semantic_group_key, d.place as direct_place, 0 as place
     from unnest(%(direct_keys)s::text[]) with ordinality as d (semantic_group_key, place)
     join commonlore.community_member m on m.semantic_group_key = d.semantic_group_key
     where m.community_no = w.community_no and m.snapshot_id = %(snapshot_id)s::uuid
       and m.team_id = %(team_id)s::uuid -- tenant
       and m.space_epoch = %(space_epoch)s::bigint -- tenant
     order by d.place
     limit %(most)s::int)
    union all
    (select m.semantic_group_key, null, m.place
     from commonlore.community_member m
     where m.community_no = w.community_no and m.snapshot_id = %(snapshot_id)s::uuid
       and m.semantic_group_key <> all(%(covered_keys)s::text[]) and m.semantic_group_key <> all(%(direct_keys)s::text[])
       and exists (
           select from commonlore.relationship r
           join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
           where r.semantic_group_key = m.semantic_group_key and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
             and r.team_id = %(team_id)s::uuid -- tenant
             and r.space_epoch = %(space_epoch)s::bigint -- tenant
       )
       and m.team_id = %(team_id)s::uuid -- tenant
       and m.space_epoch = %(space_epoch)s::bigint -- tenant
     order by m.place
     limit %(most)s::int)
) x
order by w.community_no, x.direct_place, x.place, x.semantic_group_key;

-- name: described
-- One row a community, unordered: counts without the members that went, entities that a member names now, and the quotes
-- of members whose text and relationship count now, both in their stored order.
select c.community_no, c.community_id, c.logical_community_id, c.entity_count, c.top_predicates,
       c.group_count - (
           select count(*) from commonlore.community_stale_member s
           where s.snapshot_id = c.snapshot_id and s.community_no = c.community_no
             and s.team_id = %(team_id)s::uuid -- tenant
             and s.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as member_count,
       (select jsonb_agg(jsonb_build_array(e.entity_id, n.display_name) order by e.place)
        from unnest(c.top_entity_ids) with ordinality as e (entity_id, place)
        join commonlore.entity_name n on n.entity_id = e.entity_id and n.name_kind = 'canonical' and n.known_to is null
        where (exists (
            select from commonlore.relationship r
            join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
            where r.subject_entity_id = e.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
              and m.snapshot_id = c.snapshot_id and m.community_no = c.community_no
              and r.team_id = %(team_id)s::uuid -- tenant
              and r.space_epoch = %(space_epoch)s::bigint -- tenant
              and m.team_id = %(team_id)s::uuid -- tenant
              and m.space_epoch = %(space_epoch)s::bigint -- tenant
        ) or exists (
            select from commonlore.relationship r
            join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
            where r.object_entity_id = e.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
              and m.snapshot_id = c.snapshot_id and m.community_no = c.community_no
              and r.team_id = %(team_id)s::uuid -- tenant
              and r.space_epoch = %(space_epoch)s::bigint -- tenant
              and m.team_id = %(team_id)s::uuid -- tenant
              and m.space_epoch = %(space_epoch)s::bigint -- tenant
        ))
          and n.team_id = %(team_id)s::uuid -- tenant
          and n.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as entities,
       (select jsonb_agg(p.quote order by q.place)
        from unnest(c.quote_support_ids) with ordinality as q (support_id, place)
        join commonlore.relationship_support p on p.support_id = q.support_id
        join commonlore.relationship r on r.relationship_id = p.relationship_id
        join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
        where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
          and (select d.decision from commonlore.support_decision_event d
               where d.support_id = p.support_id
                 and d.team_id = %(team_id)s::uuid -- tenant
                 and d.space_epoch = %(space_epoch)s::bigint -- tenant
               order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
          and not exists (
              select from commonlore.evidence_exclusion x
              where x.evidence_id = p.evidence_id
                and x.team_id = %(team_id)s::uuid -- tenant
                and x.space_epoch = %(space_epoch)s::bigint -- tenant
          )
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as quotes
from commonlore.community c
where c.community_no = any(%(community_nos)s::int[]) and c.snapshot_id = %(snapshot_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;
