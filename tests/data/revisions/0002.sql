-- Two texts of one source, and the relationship read in the first: Ada leads Orion, and Orion has 7 people. All in the shared space.
insert into commonlore.submission (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, idempotency_key, request_sha256, result, known_from)
values (md5('team')::uuid, 2, md5('submission')::uuid, 'remember', md5('ada')::uuid, md5('key')::uuid, 'first', sha256('request'), '{}', '2026-01-02Z');
begin;
insert into commonlore.evidence_source values (md5('team')::uuid, 2, md5('source')::uuid, md5('ada')::uuid, 'minutes', md5('revision 1')::uuid, '2026-01-02Z');
insert into commonlore.evidence_source_revision values (md5('team')::uuid, 2, md5('revision 1')::uuid, md5('source')::uuid, 'r1', null, '2026-01-02Z');
commit;
insert into commonlore.evidence (team_id, space_epoch, evidence_id, submission_id, evidence_index, owner_profile_id, content, content_sha256, duplicate_sha256,
    source_type, authority, source, source_id, revision_id, labels, metadata, occurred_at, speaker, session, sequence, part_count, known_from)
values
    (md5('team')::uuid, 2, md5('evidence 1')::uuid, md5('submission')::uuid, 0, md5('ada')::uuid, 'Ada leads Orion.', sha256('Ada leads Orion.'), sha256('1'),
     'document', 'primary', 'minutes', md5('source')::uuid, md5('revision 1')::uuid, '{plan,"a \\ tab	"}', '{"page": 1, "ü": "\n\t\\N"}', '2026-01-01T09:00:00.123456Z', null, null, null, 1, '2026-01-02Z'),
    (md5('team')::uuid, 2, md5('evidence 2')::uuid, md5('submission')::uuid, 1, md5('ada')::uuid, E'Orion has 7 people.\n\\.\n\t\\N NULL é漢', sha256('2'), sha256('2'),
     'conversation', 'unknown', null, null, null, '{}', null, null, 'ada', 'standup', 1, 1, '2026-01-02Z'),
    (md5('team')::uuid, 2, md5('evidence 3')::uuid, md5('submission')::uuid, 2, md5('ada')::uuid, 'Orion is late.', sha256('3'), null,
     'manual', 'unknown', null, null, null, '{}', null, null, null, null, null, 1, '2026-01-02Z');
insert into commonlore.evidence_occurrence (team_id, space_epoch, occurrence_id, evidence_id, submission_id, evidence_index, authority, labels, known_from)
values (md5('team')::uuid, 2, md5('occurrence')::uuid, md5('evidence 1')::uuid, md5('submission')::uuid, 3, 'unknown', '{}', '2026-01-03Z');
insert into commonlore.evidence_lifecycle_event (team_id, space_epoch, event_id, evidence_id, action, reason, actor_profile_id, known_from)
values (md5('team')::uuid, 2, md5('retraction')::uuid, md5('evidence 3')::uuid, 'retract', 'said in error', md5('ada')::uuid, '2026-01-04Z');
insert into commonlore.evidence_exclusion values (md5('team')::uuid, 2, md5('evidence 3')::uuid, 'retracted', '2026-01-04Z');
insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from) values
    (md5('team')::uuid, 2, md5('entity ada')::uuid, 'person', 'active', 1, '2026-01-02Z'),
    (md5('team')::uuid, 2, md5('entity orion')::uuid, 'project', 'active', 1, '2026-01-02Z');
insert into commonlore.entity_name (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, known_from) values
    (md5('team')::uuid, 2, md5('name ada')::uuid, md5('entity ada')::uuid, 'person', 'Ada', 'ada', 'canonical', '2026-01-02Z'),
    (md5('team')::uuid, 2, md5('name orion')::uuid, md5('entity orion')::uuid, 'project', 'Orion', 'orion', 'canonical', '2026-01-02Z');
insert into commonlore.entity_resolution_event values
    (md5('team')::uuid, 2, md5('resolution')::uuid, md5('submission')::uuid, 'r1/subject', 'Ada', 'person', 'create', md5('entity ada')::uuid, '2026-01-02Z');
insert into commonlore.value_record values (md5('team')::uuid, 2, md5('seven')::uuid, 'number', '7', null, '7', 1, '2026-01-02Z');
insert into commonlore.predicate_definition values
    (md5('team')::uuid, 2, 'leads', 1, '{}', '{}', '{}', 'state', 'many', 'active', '2026-01-02Z'),
    (md5('team')::uuid, 2, 'has_people', 1, '{}', '{}', '{}', 'state', 'one', 'active', '2026-01-02Z');
insert into commonlore.predicate_registration_event (team_id, space_epoch, event_id, predicate_key, version, policy, submission_id, actor_profile_id, known_from)
values (md5('team')::uuid, 2, md5('registration')::uuid, 'leads', 1, 'open_vocabulary_v1', md5('submission')::uuid, md5('ada')::uuid, '2026-01-02Z');
insert into commonlore.relationship (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key,
    predicate_version, object_entity_id, object_value_id, relationship_kind, current_cardinality, status, polarity, valid_from, valid_to,
    support_count, source_group_count, version, known_from)
values
    (md5('team')::uuid, 2, md5('relationship 1')::uuid, md5('ada')::uuid, 'sg:' || repeat('1', 64), md5('entity ada')::uuid, 'leads', 1,
     md5('entity orion')::uuid, null, 'state', 'many', 'active', '+', '2026-01-01Z', '2027-01-01Z', 1, 1, 1, '2026-01-02Z'),
    (md5('team')::uuid, 2, md5('relationship 2')::uuid, md5('ada')::uuid, 'sg:' || repeat('2', 64), md5('entity orion')::uuid, 'has_people', 1,
     null, md5('seven')::uuid, 'state', 'one', 'active', '+', null, null, 1, 1, 1, '2026-01-02Z');
insert into commonlore.relationship_observation (team_id, space_epoch, observation_id, submission_id, relationship_id, ref, proposal, known_from)
select team_id, space_epoch, md5('observation ' || n)::uuid, md5('submission')::uuid, md5('relationship ' || n)::uuid, 'r' || n, '{}', '2026-01-02Z'
from commonlore.submission, generate_series(1, 2) n;
insert into commonlore.verification_event
select team_id, space_epoch, md5('verification ' || n)::uuid, md5('observation ' || n)::uuid, 'entailed', 'spans_v1', 0.75, 'both ends stand in the text', '2026-01-02Z'
from commonlore.submission, generate_series(1, 2) n;
insert into commonlore.relationship_support (team_id, space_epoch, support_id, relationship_id, observation_id, verification_event_id, evidence_id,
    source_group_key, span_start, span_end, quote, authority, known_from)
select team_id, space_epoch, md5('support ' || n)::uuid, md5('relationship ' || n)::uuid, md5('observation ' || n)::uuid, md5('verification ' || n)::uuid,
    md5('evidence ' || n)::uuid, 'minutes', 0, 10, 'Ada leads ', 'primary', '2026-01-02Z'
from commonlore.submission, generate_series(1, 2) n;
insert into commonlore.support_decision_event
select team_id, space_epoch, md5('decision ' || n)::uuid, md5('support ' || n)::uuid, 'grant', 'verified', md5('ada')::uuid, '2026-01-02Z'
from commonlore.submission, generate_series(1, 2) n;
insert into commonlore.relationship_transition_event (team_id, space_epoch, event_id, relationship_id, from_status, to_status, version, reason, known_from)
select team_id, space_epoch, md5('transition ' || n)::uuid, md5('relationship ' || n)::uuid, null, 'active', 1, 'supported', '2026-01-02Z'
from commonlore.submission, generate_series(1, 2) n;
