-- Calls that may be repeated, each with its key, the hash of its request and its answer. Who holds the database has no credential.

-- name: find_submission
-- The submission with this key of this credential in the open space, or none. Index: the unique keys of `submission`.
select s.request_sha256, s.result from commonlore.submission s
where s.idempotency_key = %(idempotency_key)s::text
  and (s.credential_id = %(credential_id)s::uuid or (%(credential_id)s::uuid is null and s.credential_id is null))
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: claim_submission
-- One row when the key is free; waits for another transaction that has it, then returns none.
insert into commonlore.submission
    (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, idempotency_key, request_sha256, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(submission_id)s::uuid, %(kind)s::text, %(profile_id)s::uuid, %(credential_id)s::uuid,
        %(idempotency_key)s::text, %(request_sha256)s::bytea, %(now)s::timestamptz)
on conflict do nothing
returning submission_id;

-- name: conclude_submission
update commonlore.submission s set result = %(result)s::text
where s.submission_id = %(submission_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: mark_content
-- Notes the first write into a space; later ones change nothing and lock nothing.
update commonlore.space s set content_from = %(now)s::timestamptz
where s.space_id = %(space_id)s::uuid and s.content_from is null
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: next_instant
-- The instant of a write that has just taken the ledger lock: `now`, or right after the last one that was given in this space. The
-- same write gets the same instant again, or a later one that it asks for.
insert into commonlore.ledger_instant as i (team_id, space_epoch, known_from, given_to)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(now)s::timestamptz, pg_current_xact_id()::text)
on conflict (team_id, space_epoch) do update
set known_from = greatest(excluded.known_from,
                          case when i.given_to = excluded.given_to then i.known_from else i.known_from + interval '1 microsecond' end),
    given_to = excluded.given_to
returning i.known_from;
