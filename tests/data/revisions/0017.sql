-- A session with one event whose text is there, and one whose text was erased.
insert into commonlore.ingested_session values (md5('team')::uuid, 2, sha256('session'), 2, '2026-01-07Z');
insert into commonlore.ingested_turn values
    (md5('team')::uuid, 2, sha256('event 1'), sha256('session'), md5('evidence 2')::uuid, '2026-01-07Z'),
    (md5('team')::uuid, 2, sha256('event 2'), sha256('session'), null, '2026-01-07Z');
