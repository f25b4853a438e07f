-- A published snapshot with one community.
insert into commonlore.community_run (team_id, space_epoch, run_id, reason, status, configuration, source_mark, relationship_count, group_count, tie_count,
    community_count, known_from, ended_at)
values (md5('team')::uuid, 2, md5('run')::uuid, 'requested', 'completed', '1', sha256('mark'), 2, 2, 1, 1, '2026-01-06Z', '2026-01-06Z');
insert into commonlore.community_snapshot
values (md5('team')::uuid, 2, md5('snapshot')::uuid, md5('run')::uuid, '1', sha256('mark'), 2, 2, 1, '2026-01-06Z');
insert into commonlore.community values (md5('team')::uuid, 2, md5('snapshot')::uuid, 1, md5('community')::uuid, md5('logical community')::uuid, 2, 2, 2,
    array[md5('entity ada')::uuid, md5('entity orion')::uuid], '{leads,has_people}', array[md5('support 1')::uuid]);
insert into commonlore.community_member
select md5('team')::uuid, 2, md5('snapshot')::uuid, 'sg:' || repeat(n::text, 64), 1, n from generate_series(1, 2) n;
insert into commonlore.community_stale_member values (md5('team')::uuid, 2, md5('snapshot')::uuid, 'sg:' || repeat('2', 64), 1, '2026-01-06Z');
insert into commonlore.community_gate (team_id, space_epoch, enabled, snapshot_id, published_at, run_status, known_from)
values (md5('team')::uuid, 2, true, md5('snapshot')::uuid, '2026-01-06Z', 'completed', '2026-01-06Z');
