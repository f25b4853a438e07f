-- Jobs of a team as its members' requests make them and its administrators see them. The team is set; no space is open.

-- name: enqueue
-- One row when the job is queued; null where one of the same key waits already.
select commonlore.enqueue(%(job_id)s::uuid, %(kind)s::text, %(queue)s::text, %(priority)s::int, %(job_key)s::text, %(space_id)s::uuid,
                          %(args)s::jsonb) as job_id;

-- name: page_jobs
-- Jobs before an id, the newest first. Index: the primary key, or job_by_state.
select j.job_id, j.kind, j.queue, j.priority, j.space_id, j.state, j.attempts, j.reason, j.cancel_requested, j.stage, j.done, j.total, j.rate,
       j.queued_at, j.run_after, j.started_at, j.reported_at, j.finished_at, now() as seen_at
from commonlore.job j
where coalesce(j.job_id < %(before)s::uuid, true) and coalesce(j.state = %(state)s::text, true) and coalesce(j.kind = %(kind)s::text, true)
  and j.team_id = %(team_id)s::uuid -- tenant
order by j.job_id desc
limit %(limit)s::int;

-- name: read_job
select j.job_id, j.kind, j.queue, j.priority, j.space_id, j.state, j.attempts, j.reason, j.cancel_requested, j.stage, j.done, j.total, j.rate,
       j.queued_at, j.run_after, j.started_at, j.reported_at, j.finished_at, now() as seen_at
from commonlore.job j
where j.job_id = %(job_id)s::uuid
  and j.team_id = %(team_id)s::uuid -- tenant
;

-- name: cancel_job
-- The state afterwards; null where the team has no such job. The function compares the team of the transaction.
select commonlore.cancel_job(%(job_id)s::uuid) as state;

-- name: retry_job
select commonlore.retry_job(%(job_id)s::uuid) as state;

-- name: queue_numbers
-- By queue, over all teams: how many jobs wait, run and are dead, and for how many seconds the oldest that is due waits.
select n.queue, n.waiting, n.running, n.dead, n.oldest_seconds from commonlore.queue_numbers() n;

-- name: worker_numbers
-- Workers that report, and seconds since the last report of any.
select n.workers, n.silent_seconds from commonlore.worker_numbers() n;
