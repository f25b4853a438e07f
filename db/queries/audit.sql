-- The audit log. The team is set; no space is open. Nobody changes or removes an entry here.

-- name: add_entries
-- One entry a subject, at the end of the transaction that did what they say. None where it wrote nothing, unless `always`.
with added as (
    insert into commonlore.audit_entry (team_id, entry_id, act, actor_kind, profile_id, credential_id, subject_kind, subject, outcome, code,
                                        reason, correlation, known_from)
    select %(team_id)s::uuid, s.entry_id, %(act)s::text, %(actor_kind)s::text, %(profile_id)s::uuid, %(credential_id)s::uuid, s.kind, s.subject,
           %(outcome)s::text, %(code)s::text, %(reason)s::text, %(correlation)s::text, %(now)s::timestamptz
    from unnest(%(entry_ids)s::uuid[], %(kinds)s::text[], %(subjects)s::text[]) as s (entry_id, kind, subject)
    where %(always)s::boolean or pg_current_xact_id_if_assigned() is not null
    returning team_id, entry_id
)
insert into commonlore.audit_unsealed (team_id, entry_id) select team_id, entry_id from added;

-- name: page_entries
-- Entries before an id, the newest first. `from_id` stands in front of every entry that may be as young as `since`. Index: the primary key.
select e.entry_id, e.act, e.actor_kind, e.profile_id, e.credential_id, e.subject_kind, e.subject, e.outcome, e.code, e.reason, e.correlation,
       e.known_from
from commonlore.audit_entry e
where e.entry_id < %(before)s::uuid and e.entry_id >= %(from_id)s::uuid
  and coalesce(e.act = %(act)s::text, true) and coalesce(e.profile_id = %(profile_id)s::uuid, %(profile_id)s::uuid is null)
  and coalesce(e.outcome = %(outcome)s::text, true)
  and coalesce(e.known_from >= %(since)s::timestamptz, true) and coalesce(e.known_from < %(until)s::timestamptz, true)
  and e.team_id = %(team_id)s::uuid -- tenant
order by e.entry_id desc
limit %(limit)s::integer;

-- name: page_entries_of
-- The same of one subject. Index: audit_entry_by_subject.
select e.entry_id, e.act, e.actor_kind, e.profile_id, e.credential_id, e.subject_kind, e.subject, e.outcome, e.code, e.reason, e.correlation,
       e.known_from
from commonlore.audit_entry e
where e.subject = %(subject)s::text and e.entry_id < %(before)s::uuid and e.entry_id >= %(from_id)s::uuid
  and coalesce(e.act = %(act)s::text, true) and coalesce(e.profile_id = %(profile_id)s::uuid, %(profile_id)s::uuid is null)
  and coalesce(e.outcome = %(outcome)s::text, true)
  and coalesce(e.known_from >= %(since)s::timestamptz, true) and coalesce(e.known_from < %(until)s::timestamptz, true)
  and e.team_id = %(team_id)s::uuid -- tenant
order by e.entry_id desc
limit %(limit)s::integer;

-- name: read_entries
-- By id.
select e.entry_id, e.act, e.actor_kind, e.profile_id, e.credential_id, e.subject_kind, e.subject, e.outcome, e.code, e.reason, e.correlation,
       e.known_from
from commonlore.audit_entry e
where e.entry_id = any(%(entry_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
order by e.entry_id;

-- name: read_seals
-- Seals after a place, in their order.
select s.ordinal, s.entry_ids, s.entries_sha256, s.previous_sha256, s.seal_sha256, s.known_from from commonlore.audit_seal s
where s.ordinal > %(after)s::bigint
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.ordinal
limit %(limit)s::integer;

-- name: last_seal
select s.ordinal, s.entry_ids, s.entries_sha256, s.previous_sha256, s.seal_sha256, s.known_from from commonlore.audit_seal s
where true
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.ordinal desc
limit 1;

-- name: count_unsealed
select count(*) as entries from commonlore.audit_unsealed u
where true
  and u.team_id = %(team_id)s::uuid -- tenant
;
