insert into commonlore.ledger_instant values (md5('team')::uuid, 2, '2026-01-05Z', '1');
-- From here on an event has the end that the relationship had.
update commonlore.relationship_transition_event t set valid_to = r.valid_to from commonlore.relationship r
where r.relationship_id = t.relationship_id;
