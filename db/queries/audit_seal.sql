-- Seals of the audit log, made by a worker. The team is set; no space is open.

-- name: is_unsealed
-- Whether an entry made before an id waits for its seal. Index: the primary key.
select exists (
    select from commonlore.audit_unsealed u
    where u.entry_id < %(before)s::uuid
      and u.team_id = %(team_id)s::uuid -- tenant
) as is_unsealed;

-- name: take_unsealed
-- The ids of the first entries that wait, taken off the list; in any order.
delete from commonlore.audit_unsealed u
where u.entry_id in (
    select w.entry_id from commonlore.audit_unsealed w
    where true
      and w.team_id = %(team_id)s::uuid -- tenant
    order by w.entry_id
    limit %(batch)s::integer
)
  and u.team_id = %(team_id)s::uuid -- tenant
returning u.entry_id;

-- name: add_seal
insert into commonlore.audit_seal (team_id, ordinal, entry_ids, entries_sha256, previous_sha256, seal_sha256, last_known_from, known_from)
values (%(team_id)s::uuid, %(ordinal)s::bigint, %(entry_ids)s::uuid[], %(entries_sha256)s::bytea, %(previous_sha256)s::bytea,
        %(seal_sha256)s::bytea, %(last_known_from)s::timestamptz, %(now)s::timestamptz);
