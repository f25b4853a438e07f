-- A text that was recalled, and one that quotes it.
insert into commonlore.recalled_evidence values (md5('team')::uuid, 2, md5('evidence 1')::uuid, '2026-01-07Z');
insert into commonlore.evidence_echo values (md5('team')::uuid, 2, md5('evidence 2')::uuid, md5('evidence 1')::uuid, 'minutes', '2026-01-07Z');
