-- The queue as a worker sees it. It stands outside row security, so that a worker can take a job before it knows the team; the report of a
-- job is a row of its team, written with the team set. Wherever both change, they change in one transaction.

-- name: take
-- The next job: of the team with the fewest running jobs, then of that whose last turn is longest ago; in a team the highest priority, then the
-- oldest. None of a key that runs already, none of a kind that this worker does not know. Index: job_waiting_by_team.
with recursive team as (
    (select coalesce(j.args ->> 'team_id', '') as name from procrastinate.procrastinate_jobs j
     where j.status = 'todo' order by coalesce(j.args ->> 'team_id', '') limit 1)
    union all
    select (select coalesce(j.args ->> 'team_id', '') from procrastinate.procrastinate_jobs j
            where j.status = 'todo' and coalesce(j.args ->> 'team_id', '') > t.name order by coalesce(j.args ->> 'team_id', '') limit 1)
    from team t where t.name is not null
), next as (
    select t.name, w.id, w.priority,
           (select count(*) from procrastinate.procrastinate_jobs r where r.status = 'doing' and coalesce(r.args ->> 'team_id', '') = t.name) as running
    from team t
    cross join lateral (
        select j.id, j.priority from procrastinate.procrastinate_jobs j
        where j.status = 'todo' and coalesce(j.args ->> 'team_id', '') = t.name and j.task_name = any(%(kinds)s::text[])
          and coalesce(j.scheduled_at <= now(), true)
          and not exists (select from procrastinate.procrastinate_jobs d where d.status = 'doing' and d.lock = j.lock)
        order by j.priority desc, j.id
        limit 1
    ) w
), chosen as (
    select j.id, n.name from next n
    join procrastinate.procrastinate_jobs j on j.id = n.id and j.status = 'todo'
    left join procrastinate.job_turn l on l.team = n.name
    order by n.running, l.started_at nulls first, n.priority desc, n.id
    limit 1
    for update of j skip locked
), turn as (
    insert into procrastinate.job_turn (team, started_at) select c.name, clock_timestamp() from chosen c
    on conflict (team) do update set started_at = excluded.started_at
)
update procrastinate.procrastinate_jobs j
set status = 'doing', worker_id = %(worker_id)s::bigint
from chosen c
where j.id = c.id
returning j.id, j.status::text as status, j.priority, j.lock, j.queueing_lock, j.task_name, j.args, j.scheduled_at, j.queue_name, j.attempts,
          j.abort_requested, j.worker_id;

-- name: begin
-- Notes that the job runs; what it told in an earlier turn is returned.
update commonlore.job r set state = 'running', started_at = coalesce(r.started_at, now()), run_after = null
where r.queue_number = %(number)s::bigint and r.state in ('queued', 'running')
  and r.team_id = %(team_id)s::uuid -- tenant
returning r.job_id, r.stage, r.done, r.total;

-- name: report
-- How far a job has come, told by the worker that runs it. No row when that is another by now.
update commonlore.job r
set stage = %(stage)s::text, done = %(done)s::bigint, total = %(total)s::bigint, rate = %(rate)s::bigint, reported_at = now()
where r.queue_number = %(number)s::bigint and r.state = 'running'
  and exists (select from procrastinate.procrastinate_jobs j where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id = %(worker_id)s::bigint)
  and r.team_id = %(team_id)s::uuid -- tenant
returning r.job_id;

-- name: finish
-- Takes a job out of the queue and says how it ended; dead jobs of its key are made up for by one that succeeded. Nothing when it is another worker's.
with entry as (
    delete from procrastinate.procrastinate_jobs j
    where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id = %(worker_id)s::bigint
    returning j.id, j.lock
), made_up as (
    update commonlore.job r set state = 'merged'
    from entry e
    where r.job_key = e.lock and r.state = 'dead' and %(state)s::text = 'succeeded'
      and r.team_id = %(team_id)s::uuid -- tenant
    returning r.queue_number
), gone as (
    delete from procrastinate.procrastinate_jobs j using made_up m where j.id = m.queue_number and j.status = 'failed'
)
update commonlore.job r
set state = %(state)s::text, reason = null, run_after = null, finished_at = now()
from entry e
where r.queue_number = e.id
  and r.team_id = %(team_id)s::uuid -- tenant
returning r.state;

-- name: bury
-- A job that will not be tried again: it stays in the queue as failed or cancelled, so that an administrator may queue it anew.
with entry as (
    update procrastinate.procrastinate_jobs j
    set status = case when %(state)s::text = 'dead' then 'failed' else 'cancelled' end::procrastinate.procrastinate_job_status,
        attempts = j.attempts + %(tries)s::int, abort_requested = false, worker_id = null
    where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id is not distinct from %(worker_id)s::bigint
    returning j.id, j.attempts
)
update commonlore.job r
set state = %(state)s::text, reason = %(reason)s::text, attempts = e.attempts, run_after = null, finished_at = now()
from entry e
where r.queue_number = e.id
  and r.team_id = %(team_id)s::uuid -- tenant
returning r.state;

-- name: join_waiting
-- Another job of the same key that waits and never ran is given up for the one that goes back to the queue.
with twin as (
    delete from procrastinate.procrastinate_jobs t using procrastinate.procrastinate_jobs j
    where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id is not distinct from %(worker_id)s::bigint
      and t.queueing_lock = j.queueing_lock and t.status = 'todo'
    returning t.id
)
update commonlore.job r set state = 'merged', finished_at = now()
from twin t
where r.queue_number = t.id
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: put_back
-- A job that goes on in a later turn, or is tried again after a pause; one whose end was asked for in between ends instead.
with entry as (
    update procrastinate.procrastinate_jobs j
    set status = case when j.abort_requested then 'cancelled' else 'todo' end::procrastinate.procrastinate_job_status,
        abort_requested = false, worker_id = null, attempts = j.attempts + %(tries)s::int,
        scheduled_at = case when %(pause_s)s::float8 > 0 then now() + make_interval(secs => %(pause_s)s::float8) end
    where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id is not distinct from %(worker_id)s::bigint
    returning j.id, j.status, j.attempts, j.scheduled_at
), woken as (
    select pg_notify('procrastinate_any_queue_v1', json_build_object('type', 'job_inserted', 'job_id', e.id)::text)
    from entry e where e.status = 'todo' and e.scheduled_at is null
)
update commonlore.job r
set state = case when e.status = 'todo' then 'queued' else 'cancelled' end, attempts = e.attempts, run_after = e.scheduled_at,
    reason = case when e.status = 'todo' then %(reason)s::text else 'cancelled' end,
    finished_at = case when e.status = 'todo' then null else now() end
from entry e left join woken w on true
where r.queue_number = e.id
  and r.team_id = %(team_id)s::uuid -- tenant
returning r.state;

-- name: drop_own
-- A job of the installation that is over; the clock makes the next one.
delete from procrastinate.procrastinate_jobs j
where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id is not distinct from %(worker_id)s::bigint;

-- name: stalled
-- Running jobs whose worker is gone or has not reported for some time, by their number.
select j.id, j.task_name, j.attempts, j.worker_id, (j.args ->> 'team_id')::uuid as team
from procrastinate.procrastinate_jobs j
left join procrastinate.procrastinate_workers w on w.id = j.worker_id
where j.status = 'doing' and coalesce(w.last_heartbeat < now() - make_interval(secs => %(silent_s)s::float8), true)
order by j.id;

-- name: still_stalled
-- The same of one job, whose entry stays locked to the end of the transaction.
select j.abort_requested from procrastinate.procrastinate_jobs j
where j.id = %(number)s::bigint and j.status = 'doing' and j.worker_id is not distinct from %(worker_id)s::bigint
  and not exists (select from procrastinate.procrastinate_workers w
                  where w.id = j.worker_id and w.last_heartbeat >= now() - make_interval(secs => %(silent_s)s::float8))
for update of j;

-- name: is_cared_for
-- Whether a job of this key waits or runs, or the last one gave up not long ago. Index: those of the two locks, and job_by_key.
select exists (select from procrastinate.procrastinate_jobs j where j.queueing_lock = %(job_key)s::text and j.status = 'todo')
    or exists (select from procrastinate.procrastinate_jobs j where j.lock = %(job_key)s::text and j.status = 'doing')
    or exists (
        select from commonlore.job r
        where r.job_key = %(job_key)s::text and r.state = 'dead' and r.finished_at > now() - interval '10 minutes'
          and r.team_id = %(team_id)s::uuid -- tenant
    ) as is_cared_for;

-- name: forget_ended
-- Reports of jobs that ended long ago by the team's rule of retention, and what is left of them in the queue.
with gone as (
    delete from commonlore.job r
    using (select coalesce((select k.job_days from commonlore.retention_rule k
                            where true
                              and k.team_id = %(team_id)s::uuid -- tenant
                           ), 30) as days) d
    where r.finished_at < now() - case when r.state in ('dead', 'cancelled') then d.days else least(d.days, 7) end * interval '1 day'
      and r.team_id = %(team_id)s::uuid -- tenant
    returning r.queue_number
)
delete from procrastinate.procrastinate_jobs j using gone g where j.id = g.queue_number and j.status in ('failed', 'cancelled');
