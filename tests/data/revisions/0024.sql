-- A promotion that stands, and a request that was rejected.
insert into commonlore.promotion (team_id, promotion_id, state, owner_profile_id, source_space_id, target_space_id, with_relationships, reason, known_from,
                                  expires_at, submission_id, decided_by_profile_id, decided_at, decision_reason) values
    (md5('team')::uuid, md5('promotion 1')::uuid, 'promoted', md5('ada')::uuid, md5('private')::uuid, md5('shared')::uuid, true, 'useful', '2026-01-11Z',
     null, md5('submission')::uuid, null, null, null),
    (md5('team')::uuid, md5('promotion 2')::uuid, 'rejected', md5('ada')::uuid, md5('private')::uuid, md5('handbook')::uuid, false, null, '2026-01-11Z',
     '2026-01-25Z', null, md5('ben')::uuid, '2026-01-12Z', 'not here');
insert into commonlore.promotion_item values
    (md5('team')::uuid, md5('promotion 1')::uuid, 0, md5('shared')::uuid, md5('evidence 1')::uuid, md5('evidence 2')::uuid, null),
    (md5('team')::uuid, md5('promotion 2')::uuid, 0, md5('handbook')::uuid, md5('evidence 1')::uuid, null, '2026-01-12Z');
