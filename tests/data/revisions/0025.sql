-- An erasure that is over, with what it deleted and the id of a text that is nowhere; one that waits with words to search for; a hold and a file.
insert into commonlore.erasure (team_id, erasure_id, target_kind, target_id, target_sha256, reason, actor_profile_id, actor_credential_id, state, known_from,
                                finished_at, receipt)
values (md5('team')::uuid, md5('erasure 1')::uuid, 'evidence', null, sha256('target'), 'asked for', md5('ada')::uuid, md5('key')::uuid, 'done', '2026-01-09Z',
        '2026-01-09Z', '{"format":1}'),
       (md5('team')::uuid, md5('erasure 2')::uuid, 'space', md5('project')::uuid, sha256('space'), 'over', md5('ada')::uuid, md5('key')::uuid, 'restored',
        '2026-01-09Z', null, null);
insert into commonlore.erasure_scope values (md5('team')::uuid, md5('erasure 1')::uuid, 2, md5('space')::uuid, 'items');
insert into commonlore.erasure_count values (md5('team')::uuid, md5('erasure 1')::uuid, 'evidence', 1);
insert into commonlore.erasure_item values (md5('team')::uuid, 2, md5('erasure 1')::uuid, md5('evidence that went')::uuid, 'evidence');
insert into commonlore.erasure_sample values (md5('team')::uuid, 2, md5('erasure 1')::uuid, 'fragment', 'words that only one text held');
insert into commonlore.legal_hold (team_id, hold_id, target_kind, target_id, reason, placed_by, known_from)
values (md5('team')::uuid, md5('hold')::uuid, 'evidence', md5('evidence 1')::uuid, 'case 7', md5('ada')::uuid, '2026-01-09Z');
insert into commonlore.export values (md5('team')::uuid, md5('export')::uuid, 'backup', null, '/backup/file', 10, sha256('file'), '2026-01-09Z', null);
