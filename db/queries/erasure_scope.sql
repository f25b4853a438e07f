-- What an erasure or a deletion is of, and what stands in its way: spaces, members, keys, holds, exports.

-- name: read_target_space
select s.space_id, s.space_kind, s.name, s.space_epoch, s.lifecycle_state from commonlore.space s
where s.space_id = %(target_id)s::uuid and s.lifecycle_state in ('active', 'sealed')
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: spaces_of_owner
-- Private spaces of a member or of a key; of a member also those of its keys. By epoch.
select s.space_id, s.space_kind, s.name, s.space_epoch, s.lifecycle_state from commonlore.space s
left join commonlore.credential c on c.team_id = s.team_id and c.credential_id = s.owner_credential_id
where (s.owner_profile_id = %(target_id)s::uuid or s.owner_credential_id = %(target_id)s::uuid or c.profile_id = %(target_id)s::uuid)
  and s.lifecycle_state in ('active', 'sealed')
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: spaces_of_team
select s.space_id, s.space_kind, s.name, s.space_epoch, s.lifecycle_state from commonlore.space s
where s.lifecycle_state in ('active', 'sealed')
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: shared_spaces
select s.space_id, s.space_kind, s.name, s.space_epoch, s.lifecycle_state from commonlore.space s
where s.lifecycle_state = 'active' and s.space_kind = 'team_shared'
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: read_profile
select p.profile_id, p.retired_at is not null as is_over from commonlore.profile p
where p.profile_id = %(target_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_credential
select c.credential_id, c.revoked_at is not null as is_over from commonlore.credential c
where c.credential_id = %(target_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_team_name
select t.name from commonlore.team t
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: count_rows
-- Of each table in the open space; by name.
select t.name, commonlore.count_rows(t.name) as row_count from unnest(%(tables)s::text[]) as t (name) order by t.name;

-- name: lock_epoch
-- Writers that have begun keep the row until they end; the fence waits for them.
select p.space_epoch from commonlore.space_epoch p
where p.space_epoch = %(epoch)s::bigint
  and p.team_id = %(team_id)s::uuid -- tenant
for update;

-- name: end_epoch
update commonlore.space_epoch p set known_to = greatest(%(now)s::timestamptz, p.known_from)
where p.space_epoch = %(epoch)s::bigint and p.known_to is null
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: renew_space
-- A space that stays gets a new number, and is empty.
with renewed as (
    update commonlore.space s set space_epoch = nextval('commonlore.space_epoch_number'), content_from = null
    where s.space_id = %(space_id)s::uuid
      and s.team_id = %(team_id)s::uuid -- tenant
    returning s.team_id, s.space_epoch, s.space_id
)
insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from)
select team_id, space_epoch, space_id, %(now)s::timestamptz from renewed;

-- name: set_space_state
update commonlore.space s set lifecycle_state = %(lifecycle_state)s::text
where s.space_id = %(space_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: retire_team
update commonlore.team t set retired_at = coalesce(t.retired_at, %(now)s::timestamptz), purge_at = %(purge_at)s::timestamptz
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: restore_team
update commonlore.team t set retired_at = null, purge_at = null
where t.purge_at is not null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: revoke_keys
update commonlore.credential c set revoked_at = %(now)s::timestamptz
where c.revoked_at is null and (%(credential_id)s::uuid is null or c.credential_id = %(credential_id)s::uuid)
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: restore_erasure
-- One row where the deletion is not an erasure yet.
update commonlore.erasure e set state = 'restored', restored_at = %(now)s::timestamptz
where e.erasure_id = %(erasure_id)s::uuid and e.state = 'deleted' and e.purge_at > %(now)s::timestamptz
  and e.team_id = %(team_id)s::uuid -- tenant
returning e.target_kind, e.target_id;

-- name: list_erasures
-- The newest first; where ids are given, those alone.
select e.erasure_id, e.target_kind, e.target_sha256, e.reason, e.actor_profile_id, e.state, e.known_from, e.purge_at, e.restored_at, e.finished_at
from commonlore.erasure e
where (%(erasure_ids)s::uuid[] is null or e.erasure_id = any(%(erasure_ids)s::uuid[]))
  and e.team_id = %(team_id)s::uuid -- tenant
order by e.known_from desc, e.erasure_id desc
limit %(limit)s::int;

-- name: erasures_of_item
-- Those that took it from the open epoch.
select i.erasure_id from commonlore.erasure_item i
where i.item_id = %(item_id)s::uuid
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: deletion_of
-- The deletion of a space or team that can still be restored.
select e.erasure_id from commonlore.erasure e
where e.target_id = %(target_id)s::uuid and e.state = 'deleted'
  and e.team_id = %(team_id)s::uuid -- tenant
;

-- name: add_hold
insert into commonlore.legal_hold (team_id, hold_id, target_kind, target_id, reason, placed_by, known_from)
values (%(team_id)s::uuid, %(hold_id)s::uuid, %(target_kind)s::text, %(target_id)s::uuid, %(reason)s::text, %(profile_id)s::uuid,
        %(now)s::timestamptz)
on conflict do nothing
returning hold_id;

-- name: release_hold
update commonlore.legal_hold h set released_at = %(now)s::timestamptz, released_by = %(profile_id)s::uuid
where h.hold_id = %(hold_id)s::uuid and h.released_at is null
  and h.team_id = %(team_id)s::uuid -- tenant
returning h.hold_id;

-- name: read_hold
select h.hold_id, h.target_kind, h.target_id, h.reason, h.placed_by, h.known_from, h.released_by, h.released_at from commonlore.legal_hold h
where h.hold_id = %(hold_id)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
;

-- name: list_holds
-- The newest first.
select h.hold_id, h.target_kind, h.target_id, h.reason, h.placed_by, h.known_from, h.released_by, h.released_at from commonlore.legal_hold h
where (h.released_at is null or %(released)s::bool)
  and h.team_id = %(team_id)s::uuid -- tenant
order by h.known_from desc, h.hold_id desc
limit %(limit)s::int;

-- name: standing_holds
-- By id.
select h.hold_id, h.target_kind, h.target_id from commonlore.legal_hold h
where h.released_at is null
  and h.team_id = %(team_id)s::uuid -- tenant
order by h.hold_id;

-- name: lock_team
-- Whoever places a hold and whoever begins an erasure take turns.
select pg_advisory_xact_lock(hashtextextended('commonlore.holds ' || %(team_id)s::uuid::text, 0));

-- name: held_texts
-- Of the texts, those that a hold of a text, a source or a member covers; all of the open epoch where no ids are given.
select h.hold_id from commonlore.evidence e
join commonlore.legal_hold h
  on h.target_kind = 'evidence' and h.target_id = e.evidence_id
     or h.target_kind = 'source' and h.target_id = e.source_id
     or h.target_kind = 'profile' and h.target_id = e.owner_profile_id
where h.released_at is null and (%(evidence_ids)s::uuid[] is null or e.evidence_id = any(%(evidence_ids)s::uuid[]))
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
  and h.team_id = %(team_id)s::uuid -- tenant
group by h.hold_id
order by h.hold_id;

-- name: exists_evidence
select e.evidence_id as found from commonlore.evidence e
where (e.evidence_id = %(target_id)s::uuid or e.source_id = %(target_id)s::uuid)
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
limit 1;

-- name: copies_of
-- Copies that promotions made of the texts, or of any text of the spaces; by id.
select i.target_space_id, i.evidence_id from commonlore.promotion_item i
join commonlore.promotion p on p.promotion_id = i.promotion_id
where i.evidence_id is not null
  and (i.source_evidence_id = any(%(evidence_ids)s::uuid[]) or p.source_space_id = any(%(space_ids)s::uuid[]))
  and i.team_id = %(team_id)s::uuid -- tenant
  and p.team_id = %(team_id)s::uuid -- tenant
order by i.evidence_id;

-- name: present_texts
select e.evidence_id from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: add_export
insert into commonlore.export (team_id, export_id, export_kind, space_ids, file_path, byte_count, file_sha256, known_from)
values (%(team_id)s::uuid, %(export_id)s::uuid, %(export_kind)s::text, %(space_ids)s::uuid[], %(file_path)s::text, %(byte_count)s::bigint,
        %(file_sha256)s::bytea, %(now)s::timestamptz);

-- name: list_exports
-- The newest first.
select x.export_id, x.export_kind, x.space_ids, x.file_path, x.byte_count, x.known_from, x.destroyed_at from commonlore.export x
where x.team_id = %(team_id)s::uuid -- tenant
order by x.known_from desc, x.export_id desc
limit %(limit)s::int;

-- name: standing_exports
-- A page of those that are not destroyed and hold rows of the spaces, by id, the newest first. Index: the primary key.
select x.export_id, x.export_kind, x.space_ids, x.file_path, x.byte_count, x.known_from, x.destroyed_at from commonlore.export x
where x.destroyed_at is null and (x.space_ids is null or x.space_ids && %(space_ids)s::uuid[])
  and (%(before)s::uuid is null or x.export_id < %(before)s::uuid)
  and x.team_id = %(team_id)s::uuid -- tenant
order by x.export_id desc
limit %(limit)s::int;

-- name: destroy_export
update commonlore.export x set destroyed_at = %(now)s::timestamptz
where x.export_id = %(export_id)s::uuid and x.destroyed_at is null
  and x.team_id = %(team_id)s::uuid -- tenant
returning x.export_id, x.export_kind, x.space_ids, x.file_path, x.byte_count, x.known_from, x.destroyed_at;
