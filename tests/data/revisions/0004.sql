-- A job of the team that waits, by the function of this revision; a worker that is gone, and the clock's own job.
select commonlore.enqueue('embed_parts', 'embedding', 0, 'embed_parts:' || md5('shared')::uuid,
                          jsonb_build_object('team_id', md5('team')::uuid, 'space_id', md5('shared')::uuid));
insert into procrastinate.procrastinate_workers (last_heartbeat) values ('2026-01-01Z');
insert into procrastinate.procrastinate_periodic_defers (task_name, defer_timestamp, job_id, periodic_id) values ('sweep', 1767225600, null, '');
