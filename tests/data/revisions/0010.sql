-- A job with its report, by the function of this revision, and one that a worker holds that is gone; the turn of the team.
begin;
select set_config('commonlore.team_id', md5('team')::uuid::text, true);
select commonlore.enqueue(md5('job 1')::uuid, 'fold_statistics', 'upkeep', 0, 'fold_statistics:shared', md5('shared')::uuid, '{}');
select commonlore.enqueue(md5('job 2')::uuid, 'review_conflicts', 'upkeep', 0, 'review_conflicts:shared', md5('shared')::uuid, '{}');
update procrastinate.procrastinate_jobs set status = 'doing', worker_id = (select min(id) from procrastinate.procrastinate_workers)
where task_name = 'review_conflicts';
update commonlore.job set state = 'running', started_at = now() where kind = 'review_conflicts';
commit;
insert into procrastinate.job_turn values (md5('team')::uuid::text, '2026-01-05Z'), ('', '2026-01-05Z');
