-- Sessions that are taken in event by event.

-- name: open_session
-- Makes the session where it is new. Of two writers at once the second waits for the first.
insert into commonlore.ingested_session (team_id, space_epoch, session_sha256, last_sequence, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(session_sha256)s::bytea, 0, %(now)s::timestamptz)
on conflict do nothing;

-- name: lock_session
-- The number of its last event; nobody else adds to it until the transaction ends.
select s.last_sequence from commonlore.ingested_session s
where s.session_sha256 = %(session_sha256)s::bytea
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
for update;

-- name: read_events
-- Those of the events that were taken in before, with what of them never changes, how their text stands, and whether it waits for a vector.
select v.event_sha256, v.evidence_id, e.content_sha256, e.speaker, e.occurred_at,
       exists (
           select from commonlore.evidence_embedding_backlog b
           where b.evidence_id = v.evidence_id
             and b.team_id = %(team_id)s::uuid -- tenant
             and b.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as waits,
       array(
           select x.reason from commonlore.evidence_exclusion x
           where x.evidence_id = v.evidence_id
             and x.team_id = %(team_id)s::uuid -- tenant
             and x.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as reasons
from commonlore.ingested_turn v
left join commonlore.evidence e on e.team_id = v.team_id and e.space_epoch = v.space_epoch and e.evidence_id = v.evidence_id
where v.event_sha256 = any(%(keys)s::bytea[])
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: keep_events
with kept as (
    update commonlore.ingested_session s set last_sequence = %(last_sequence)s::bigint
    where s.session_sha256 = %(session_sha256)s::bytea
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
)
insert into commonlore.ingested_turn (team_id, space_epoch, event_sha256, session_sha256, evidence_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_sha256, %(session_sha256)s::bytea, r.evidence_id, %(now)s::timestamptz
from unnest(%(keys)s::bytea[], %(evidence_ids)s::uuid[]) as r (event_sha256, evidence_id);
