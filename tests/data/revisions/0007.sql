-- An open case of statements and one of texts.
insert into commonlore.conflict_case (team_id, space_epoch, conflict_id, kind, case_key, status, question, version, last_ordinal, positions_truncated,
    subject_entity_id, predicate_key, predicate_version, polarity, policy_version, review_days, review_due_at, known_from)
values
    (md5('team')::uuid, 2, md5('case 1')::uuid, 'cross_profile_current_state', 'orion has_people', 'open', 'How many?', 1, 2, false,
     md5('entity orion')::uuid, 'has_people', 1, '+', '1', 7, '2100-01-01Z', '2026-01-05Z'),
    (md5('team')::uuid, 2, md5('case 2')::uuid, 'evidence_conflict', 'late', 'open', 'Is it late?', 1, 1, false,
     null, null, null, null, '1', 7, '2100-01-01Z', '2026-01-05Z');
insert into commonlore.conflict_position (team_id, space_epoch, position_id, conflict_id, position_no, object_value_id, known_from)
values (md5('team')::uuid, 2, md5('position')::uuid, md5('case 1')::uuid, 1, md5('seven')::uuid, '2026-01-05Z');
insert into commonlore.conflict_member values (md5('team')::uuid, 2, md5('case 1')::uuid, md5('support 2')::uuid, md5('position')::uuid,
    md5('relationship 2')::uuid, md5('ada')::uuid, md5('verification 2')::uuid, md5('evidence 2')::uuid, 'minutes', 'primary', '2026-01-02Z', 'recorded_at',
    '2026-01-02Z', '2026-01-05Z');
insert into commonlore.conflict_quote values (md5('team')::uuid, 2, md5('quote')::uuid, md5('case 2')::uuid, 1, md5('evidence 3')::uuid, md5('ada')::uuid,
    0, 5, 'Orion', 'unknown', true, '2026-01-05Z');
insert into commonlore.conflict_event (team_id, space_epoch, conflict_id, ordinal, version, action, position_id, support_id, actor_profile_id, reason, known_from)
values
    (md5('team')::uuid, 2, md5('case 1')::uuid, 1, 1, 'opened', null, null, md5('ada')::uuid, 'two objects', '2026-01-05Z'),
    (md5('team')::uuid, 2, md5('case 1')::uuid, 2, 1, 'member_added', md5('position')::uuid, md5('support 2')::uuid, null, 'it joined', '2026-01-05Z'),
    (md5('team')::uuid, 2, md5('case 2')::uuid, 1, 1, 'opened', null, null, md5('ada')::uuid, 'two texts', '2026-01-05Z');
