-- A hypothesis from two premises.
insert into commonlore.hypothesis_gate values (md5('team')::uuid, 2, true, 20, '2026-01-06Z');
insert into commonlore.hypothesis_rule values (md5('team')::uuid, 2, 'transitive', 'leads', 'leads', 'leads', true, md5('ada')::uuid, '2026-01-06Z');
insert into commonlore.hypothesis_run (team_id, space_epoch, run_id, reason, status, generator_version, known_from, ended_at)
values (md5('team')::uuid, 2, md5('hypothesis run')::uuid, 'requested', 'completed', '1', '2026-01-06Z', '2026-01-06Z');
insert into commonlore.hypothesis (team_id, space_epoch, hypothesis_id, run_id, rule_kind, first_key, second_key, subject_entity_id, predicate_key,
    predicate_version, object_entity_id, is_single, likelihood, confidence, record, strength, tested, closed, target_sha256, content_sha256,
    generator_version, status, version, known_from, updated_at)
values (md5('team')::uuid, 2, md5('hypothesis')::uuid, md5('hypothesis run')::uuid, 'transitive', 'leads', 'leads', md5('entity ada')::uuid, 'leads', 1,
    md5('entity orion')::uuid, false, 500, 500, 500, 500, 2, 1, sha256('target'), sha256('content'), '1', 'proposed', 1, '2026-01-06Z', '2026-01-06Z');
insert into commonlore.hypothesis_source
select md5('team')::uuid, 2, md5('hypothesis')::uuid, n, md5('relationship ' || n)::uuid, 1, 'sg:' || repeat(n::text, 64), md5('support ' || n)::uuid, '2026-01-06Z'
from generate_series(1, 2) n;
insert into commonlore.hypothesis_term values (md5('team')::uuid, 2, 'ada', md5('hypothesis')::uuid);
insert into commonlore.hypothesis_event (team_id, space_epoch, hypothesis_id, version, status, reason, known_from)
values (md5('team')::uuid, 2, md5('hypothesis')::uuid, 1, 'proposed', 'a run', '2026-01-06Z');
