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
        join commonlore.profile p on p.team_id = o.team_id and p.profile_id = o.owner_profile_id and p.retired_at is null
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
cross join lateral (
    select n.semantic_group_key, n.community_no from commonlore.community_member n
    where n.semantic_group_key = s.semantic_group_key and n.snapshot_id = %(snapshot_id)s::uuid
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
) m
cross join lateral (
    select k.logical_community_id from commonlore.community k
    where k.community_no = m.community_no and k.snapshot_id = %(snapshot_id)s::uuid
      and k.team_id = %(team_id)s::uuid -- tenant
      and k.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
) c;

-- name: other_members
-- For each community its members that count now and are not among `without`, by their place; at most `most`.
select w.community_no, x.semantic_group_key
from unnest(%(community_nos)s::int[]) as w (community_no)
cross join lateral (
    select m.semantic_group_key, m.place
    from commonlore.community_member m
    where m.community_no = w.community_no and m.snapshot_id = %(snapshot_id)s::uuid and m.semantic_group_key <> all(%(without)s::text[])
      and (select true from commonlore.relationship r
           join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
           where r.semantic_group_key = m.semantic_group_key and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
             and r.team_id = %(team_id)s::uuid -- tenant
             and r.space_epoch = %(space_epoch)s::bigint -- tenant
           limit 1)
      and m.team_id = %(team_id)s::uuid -- tenant
      and m.space_epoch = %(space_epoch)s::bigint -- tenant
    order by m.place
    limit %(most)s::int
) x
order by w.community_no, x.place;

-- name: described
-- One row a community, unordered: counts without the members that went, entities, and the quotes of members whose text and
-- relationship count now, both in their stored order. An entity is looked for among the members only where some went.
select c.community_no, c.community_id, c.logical_community_id, c.entity_count, c.top_predicates, c.group_count - g.members as member_count,
       (select jsonb_agg(jsonb_build_array(e.entity_id, n.display_name) order by e.place)
        from unnest(c.top_entity_ids) with ordinality as e (entity_id, place)
        cross join lateral (
            select k.display_name from commonlore.entity_name k
            where k.entity_id = e.entity_id and k.name_kind = 'canonical' and k.known_to is null
              and k.team_id = %(team_id)s::uuid -- tenant
              and k.space_epoch = %(space_epoch)s::bigint -- tenant
            offset 0
        ) n
        where case when g.members = 0 then true else coalesce((
            select true from commonlore.relationship r
            join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
            where r.subject_entity_id = e.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
              and m.snapshot_id = c.snapshot_id and m.community_no = c.community_no
              and r.team_id = %(team_id)s::uuid -- tenant
              and r.space_epoch = %(space_epoch)s::bigint -- tenant
              and m.team_id = %(team_id)s::uuid -- tenant
              and m.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1
        ), (
            select true from commonlore.relationship r
            join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
            where r.object_entity_id = e.entity_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
              and m.snapshot_id = c.snapshot_id and m.community_no = c.community_no
              and r.team_id = %(team_id)s::uuid -- tenant
              and r.space_epoch = %(space_epoch)s::bigint -- tenant
              and m.team_id = %(team_id)s::uuid -- tenant
              and m.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1
        ), false) end
       ) as entities,
       (select jsonb_agg(p.quote order by q.place)
        from unnest(c.quote_support_ids) with ordinality as q (support_id, place)
        cross join lateral (
            select s.quote, s.evidence_id, s.relationship_id from commonlore.relationship_support s
            where s.support_id = q.support_id
              and s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
            offset 0
        ) p
        cross join lateral (
            select r.owner_profile_id from commonlore.relationship r
            where r.relationship_id = p.relationship_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
              and r.team_id = %(team_id)s::uuid -- tenant
              and r.space_epoch = %(space_epoch)s::bigint -- tenant
            offset 0
        ) r
        join commonlore.profile o on o.profile_id = r.owner_profile_id and o.retired_at is null
        where (select d.decision from commonlore.support_decision_event d
               where d.support_id = q.support_id
                 and d.team_id = %(team_id)s::uuid -- tenant
                 and d.space_epoch = %(space_epoch)s::bigint -- tenant
               order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
          and not exists (
              select from commonlore.evidence_exclusion x
              where x.evidence_id = p.evidence_id
                and x.team_id = %(team_id)s::uuid -- tenant
                and x.space_epoch = %(space_epoch)s::bigint -- tenant
          )
          and o.team_id = %(team_id)s::uuid -- tenant
       ) as quotes
from commonlore.community c
cross join lateral (
    select count(*)::int as members from commonlore.community_stale_member s
    where s.snapshot_id = c.snapshot_id and s.community_no = c.community_no
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
) g
where c.community_no = any(%(community_nos)s::int[]) and c.snapshot_id = %(snapshot_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;
