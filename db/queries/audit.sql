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
