-- A run of detection, by the worker: read the source, write a snapshot, publish it. Each with the team set and one space open.

-- name: lock_run
-- One run of a space at a time, to the end of the transaction; false while another one goes on.
select pg_try_advisory_xact_lock(hashtextextended('commonlore.community ' || %(space_epoch)s::bigint::text, 0)) as is_ours;

-- name: read_schedule
select t.community_time_zone, t.community_start_minute from commonlore.team t
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: last_begun
-- When the last run of the open space began, if communities are on; no row where they are off.
select (select max(r.known_from) from commonlore.community_run r
        where r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as begun
from commonlore.community_gate g
where g.enabled
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: end_abandoned
-- Runs whose worker is gone: the lock of the space is ours, so nobody goes on with them.
update commonlore.community_run r set status = 'failed', error_code = 'worker_lost', ended_at = %(now)s::timestamptz
where r.status = 'running'
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: begin_run
insert into commonlore.community_run (team_id, space_epoch, run_id, reason, status, configuration, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(run_id)s::uuid, %(reason)s::text, 'running', %(configuration)s::text, %(now)s::timestamptz);

-- name: end_run
update commonlore.community_run r
set status = %(status)s::text, error_code = %(error_code)s::text, ended_at = %(now)s::timestamptz, source_mark = %(source_mark)s::bytea,
    relationship_count = %(relationship_count)s::int, group_count = %(group_count)s::int, tie_count = %(tie_count)s::int,
    community_count = %(community_count)s::int
where r.run_id = %(run_id)s::uuid and r.status = 'running'
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: state_run
-- What the gate says of the latest run.
update commonlore.community_gate g set run_status = %(status)s::text
where g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_published
-- The snapshot that the gate names, if communities are on; no row where they are off.
select g.snapshot_id, g.stale_from, s.configuration, s.source_mark
from commonlore.community_gate g
left join commonlore.community_snapshot s on s.team_id = g.team_id and s.space_epoch = g.space_epoch and s.snapshot_id = g.snapshot_id
where g.enabled
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: source_mark
-- One state of the relationships that count: how many, with how many supports, and a digest of their ids, versions and supports.
select count(*)::int as relationships, coalesce(sum(r.support_count), 0)::int as supports,
       sha256(convert_to(coalesce(string_agg(r.relationship_id::text || ' ' || r.version || ' ' || r.support_count, ',' order by r.relationship_id), ''),
                         'UTF8')) as mark
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: source_relationships
-- The relationships that count. Unordered; ids as their sixteen bytes.
select uuid_send(r.relationship_id), r.semantic_group_key, uuid_send(r.subject_entity_id), r.predicate_key,
       uuid_send(r.object_entity_id), uuid_send(r.object_value_id)
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: source_supports
-- Their effective supports, with the length of each quote. Unordered.
select uuid_send(s.relationship_id), uuid_send(s.evidence_id), uuid_send(s.support_id), length(s.quote)
from commonlore.relationship_support s
join commonlore.relationship r on r.relationship_id = s.relationship_id
where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and (select d.decision from commonlore.support_decision_event d
       where d.support_id = s.support_id
         and d.team_id = %(team_id)s::uuid -- tenant
         and d.space_epoch = %(space_epoch)s::bigint -- tenant
       order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = s.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: earlier_members
-- The groups of the snapshot before, each with the logical id of its community. Unordered.
select c.logical_community_id, m.semantic_group_key
from commonlore.community_member m
join commonlore.community c on c.team_id = m.team_id and c.space_epoch = m.space_epoch and c.snapshot_id = m.snapshot_id and c.community_no = m.community_no
where m.snapshot_id = %(snapshot_id)s::uuid
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: insert_snapshot
insert into commonlore.community_snapshot
    (team_id, space_epoch, snapshot_id, run_id, configuration, source_mark, relationship_count, group_count, community_count, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(snapshot_id)s::uuid, %(run_id)s::uuid, %(configuration)s::text, %(source_mark)s::bytea,
        %(relationship_count)s::int, %(group_count)s::int, %(community_count)s::int, %(now)s::timestamptz);

-- name: insert_communities
insert into commonlore.community
    (team_id, space_epoch, snapshot_id, community_no, community_id, logical_community_id, group_count, relationship_count, entity_count,
     top_entity_ids, top_predicates, quote_support_ids)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(snapshot_id)s::uuid, r.community_no, r.community_id, r.logical_community_id, r.group_count,
       r.relationship_count, r.entity_count, r.top_entity_ids, r.top_predicates, r.quote_support_ids
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (community_no int, community_id uuid, logical_community_id uuid, group_count int, relationship_count int, entity_count int,
          top_entity_ids uuid[], top_predicates text[], quote_support_ids uuid[]);

-- name: insert_members
insert into commonlore.community_member (team_id, space_epoch, snapshot_id, semantic_group_key, community_no, place)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(snapshot_id)s::uuid, r.semantic_group_key, r.community_no, r.place
from unnest(%(group_keys)s::text[], %(community_nos)s::int[], %(places)s::int[]) as r (semantic_group_key, community_no, place);

-- name: note_changed
-- Members of a snapshot that stopped counting between the reading of its source and its publication; how many there are.
with gone as (
    insert into commonlore.community_stale_member (team_id, space_epoch, snapshot_id, semantic_group_key, community_no, known_from)
    select m.team_id, m.space_epoch, m.snapshot_id, m.semantic_group_key, m.community_no, %(now)s::timestamptz
    from commonlore.community_member m
    where m.snapshot_id = %(snapshot_id)s::uuid
      and not exists (
          select from commonlore.relationship r
          join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
          where r.semantic_group_key = m.semantic_group_key and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
            and r.team_id = %(team_id)s::uuid -- tenant
            and r.space_epoch = %(space_epoch)s::bigint -- tenant
      )
      and m.team_id = %(team_id)s::uuid -- tenant
      and m.space_epoch = %(space_epoch)s::bigint -- tenant
    on conflict do nothing
    returning semantic_group_key
)
select count(*)::int as gone from gone;

-- name: publish
-- From the commit on this is what recalls read.
update commonlore.community_gate g
set snapshot_id = %(snapshot_id)s::uuid, published_at = %(now)s::timestamptz, stale_from = %(stale_from)s::timestamptz, run_status = 'completed'
where g.enabled
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
returning g.snapshot_id;

-- name: old_snapshots
-- All but the published one and the one before it.
select s.snapshot_id from commonlore.community_snapshot s
where s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.known_from desc, s.snapshot_id desc
offset 2;

-- name: forget_stale
delete from commonlore.community_stale_member s
where s.snapshot_id = any(%(snapshot_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_members
delete from commonlore.community_member m
where m.snapshot_id = any(%(snapshot_ids)s::uuid[])
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_communities
delete from commonlore.community c
where c.snapshot_id = any(%(snapshot_ids)s::uuid[])
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_snapshots
delete from commonlore.community_snapshot s
where s.snapshot_id = any(%(snapshot_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_runs
-- Runs beyond the last fifty that left no snapshot.
delete from commonlore.community_run r
where r.run_id in (
    select n.run_id from commonlore.community_run n
    where n.status <> 'running'
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
    order by n.known_from desc, n.run_id desc
    offset 50
)
  and not exists (
      select from commonlore.community_snapshot s
      where s.run_id = r.run_id
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;
