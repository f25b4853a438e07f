-- An act of a member, not yet sealed, and one that is.
insert into commonlore.audit_entry (team_id, entry_id, act, actor_kind, profile_id, credential_id, subject_kind, subject, outcome, correlation, known_from)
select md5('team')::uuid, md5('act ' || n)::uuid, 'remember', 'credential', md5('ada')::uuid, md5('key')::uuid, 'evidence', md5('evidence ' || n)::text,
    'done', 'c' || n, '2026-01-02Z'
from generate_series(1, 2) n;
insert into commonlore.audit_unsealed values (md5('team')::uuid, md5('act 2')::uuid);
insert into commonlore.audit_seal
values (md5('team')::uuid, 1, array[md5('act 1')::uuid], sha256('entries'), sha256(''), sha256('seal'), '2026-01-02Z', '2026-01-03Z');
