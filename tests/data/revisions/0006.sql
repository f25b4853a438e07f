-- A correction of a relationship and one of an entity.
insert into commonlore.submission (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, request_sha256, result, known_from)
values (md5('team')::uuid, 2, md5('correction')::uuid, 'correct', md5('ada')::uuid, md5('key')::uuid, sha256('correction'), '{}', '2026-01-05Z');
insert into commonlore.relationship_correction (team_id, space_epoch, submission_id, owner_profile_id, relationship_id, expected_version, request,
    support_set_sha256, state, successor_id, known_from, concluded_at)
values (md5('team')::uuid, 2, md5('correction')::uuid, md5('ada')::uuid, md5('relationship 2')::uuid, 1, '{}', sha256('set'), 'completed',
        md5('relationship 1')::uuid, '2026-01-05Z', '2026-01-05Z');
insert into commonlore.relationship_cross_reference (team_id, space_epoch, reference_id, author_profile_id, source_relationship_id, source_version,
    target_relationship_id, target_version, kind, submission_id, known_from)
values (md5('team')::uuid, 2, md5('reference')::uuid, md5('ada')::uuid, md5('relationship 1')::uuid, 1, md5('relationship 2')::uuid, 1, 'confirms',
        md5('correction')::uuid, '2026-01-05Z');
insert into commonlore.entity_correction (team_id, space_epoch, correction_id, action, from_entity_id, to_entity_id, reason, actor_profile_id, known_from)
values (md5('team')::uuid, 2, md5('merge')::uuid, 'merge', md5('entity ada')::uuid, md5('entity ada')::uuid, 'one person', md5('ada')::uuid, '2026-01-05Z');
insert into commonlore.entity_correction_item (team_id, space_epoch, correction_id, relationship_id, effect, target_id, status_before)
values (md5('team')::uuid, 2, md5('merge')::uuid, md5('relationship 1')::uuid, 'joined', md5('relationship 2')::uuid, 'active');
