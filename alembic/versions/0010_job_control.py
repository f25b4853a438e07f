"""Jobs: what a team may see of its own, progress, dead letters and their reasons; turns between teams; the review of conflicts."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_QUEUE)
    op.execute(_FUNCTIONS)
    op.execute(_NUMBERS)
    op.execute(_REVIEW)


_TABLES = """
-- A job of a team as its administrators see it. Made with the job's entry in the queue and changed in the same transactions as that entry.
-- Times are the database's own: a queue has one clock, whatever machine a worker runs on.
create table commonlore.job (
    team_id uuid not null references commonlore.team (team_id),
    job_id uuid not null,
    -- The entry in the queue.
    queue_number bigint not null,
    kind text not null check (kind ~ '^[a-z][a-z_]{0,63}$'),
    queue text not null check (queue ~ '^[a-z][a-z_]{0,63}$'),
    priority integer not null,
    space_id uuid,
    -- Jobs of one key do the same work: one of them waits and one runs at most.
    job_key text not null check (length(job_key) between 1 and 256),
    state text not null check (state in ('queued', 'running', 'succeeded', 'dead', 'cancelled', 'merged')),
    attempts integer not null default 0 check (attempts >= 0),
    -- A code of the closed list: why the last try failed, or why the job ended.
    reason text check (reason ~ '^[a-z][a-z_]{0,63}$'),
    cancel_requested boolean not null default false,
    stage text check (stage ~ '^[a-z][a-z_]{0,63}$'),
    done bigint not null default 0 check (done >= 0),
    total bigint check (total >= 0),
    -- Things done in a thousand seconds of work.
    rate bigint check (rate >= 0),
    queued_at timestamptz not null,
    run_after timestamptz,
    started_at timestamptz,
    reported_at timestamptz,
    finished_at timestamptz,
    primary key (team_id, job_id),
    unique (team_id, queue_number),
    check ((state in ('queued', 'running')) = (finished_at is null)),
    check (state <> 'dead' or reason is not null)
);
create index job_by_state on commonlore.job (team_id, state, job_id);
create index job_by_key on commonlore.job (team_id, job_key) where state = 'dead';
create index job_finished on commonlore.job (team_id, finished_at) where finished_at is not null;
select commonlore.isolate('commonlore.job', 'team', 'none', 'remove');
"""

_QUEUE = """
-- When a team had its last turn; '' is the installation's own jobs. Outside row security like the queue: ids only.
create table procrastinate.job_turn (
    team text primary key,
    started_at timestamptz not null
);
grant select, insert, update on procrastinate.job_turn to commonlore_worker;
-- The first job of each team is found without a look at the others that wait.
create index job_waiting_by_team on procrastinate.procrastinate_jobs ((coalesce(args ->> 'team_id', '')), priority desc, id) where status = 'todo';
create index job_running_by_team on procrastinate.procrastinate_jobs ((coalesce(args ->> 'team_id', ''))) where status = 'doing';
"""

_FUNCTIONS = """
drop function commonlore.enqueue(text, text, integer, text, jsonb);

-- Asks for a job of the transaction's team. Null where one of the same key waits already. Arguments are ids only: the queue stands outside row security.
create function commonlore.enqueue(job_id uuid, kind text, queue text, priority integer, job_key text, space_id uuid, args jsonb) returns uuid
language sql security definer set search_path = procrastinate, pg_temp as $body$
    with team as (
        select nullif(current_setting('commonlore.team_id', true), '')::uuid as team_id
    ), queued as (
        insert into procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
        select enqueue.queue, enqueue.kind, enqueue.priority, enqueue.job_key, enqueue.job_key,
               enqueue.args || jsonb_build_object('team_id', t.team_id, 'space_id', enqueue.space_id, 'job_id', enqueue.job_id)
        from team t
        on conflict do nothing
        returning id
    )
    insert into commonlore.job (team_id, job_id, queue_number, kind, queue, priority, space_id, job_key, state, queued_at)
    select t.team_id, enqueue.job_id, q.id, enqueue.kind, enqueue.queue, enqueue.priority, enqueue.space_id, enqueue.job_key, 'queued', now()
    from team t, queued q
    returning job_id
$body$;
revoke execute on function commonlore.enqueue(uuid, text, text, integer, text, uuid, jsonb) from public;
grant execute on function commonlore.enqueue(uuid, text, text, integer, text, uuid, jsonb) to commonlore_app, commonlore_worker;

-- Ends a job of the transaction's team that waits, and asks the worker of one that runs to end it. Null where the team has no such job.
create function commonlore.cancel_job(wanted uuid) returns text
language plpgsql security definer set search_path = procrastinate, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    number bigint := (select j.queue_number from commonlore.job j where j.team_id = team and j.job_id = wanted);
    entry procrastinate_jobs;
begin
    select q.* into entry from procrastinate_jobs q where q.id = number for update;
    if entry.status = 'todo' then
        update procrastinate_jobs q set status = 'cancelled' where q.id = number;
        update commonlore.job j set state = 'cancelled', reason = 'cancelled', cancel_requested = true, run_after = null, finished_at = now()
        where j.team_id = team and j.job_id = wanted;
    elsif entry.status = 'doing' then
        update procrastinate_jobs q set abort_requested = true where q.id = number;
        update commonlore.job j set cancel_requested = true where j.team_id = team and j.job_id = wanted;
    end if;
    return (select j.state from commonlore.job j where j.team_id = team and j.job_id = wanted);
end
$body$;

-- Queues a dead or cancelled job of the transaction's team anew; where one of its key waits already, that one does its work.
create function commonlore.retry_job(wanted uuid) returns text
language plpgsql security definer set search_path = procrastinate, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    number bigint := (select j.queue_number from commonlore.job j where j.team_id = team and j.job_id = wanted);
    entry procrastinate_jobs;
begin
    select q.* into entry from procrastinate_jobs q where q.id = number for update;
    if entry.status in ('failed', 'cancelled') then
        begin
            update procrastinate_jobs q set status = 'todo', attempts = 0, scheduled_at = null, abort_requested = false, worker_id = null
            where q.id = number;
            update commonlore.job j set state = 'queued', attempts = 0, reason = null, cancel_requested = false, finished_at = null, run_after = null
            where j.team_id = team and j.job_id = wanted;
            perform pg_notify('procrastinate_any_queue_v1', json_build_object('type', 'job_inserted', 'job_id', number)::text);
        exception when unique_violation then
            delete from procrastinate_jobs q where q.id = number;
            update commonlore.job j set state = 'merged', reason = null where j.team_id = team and j.job_id = wanted;
        end;
    end if;
    return (select j.state from commonlore.job j where j.team_id = team and j.job_id = wanted);
end
$body$;
revoke execute on function commonlore.cancel_job(uuid), commonlore.retry_job(uuid) from public;
grant execute on function commonlore.cancel_job(uuid), commonlore.retry_job(uuid) to commonlore_app;
"""

_NUMBERS = """
-- The queue in numbers over all teams, for the metrics: by queue, and how long the oldest job that is due waits.
create function commonlore.queue_numbers() returns table (queue text, waiting bigint, running bigint, dead bigint, oldest_seconds bigint)
language sql stable security definer set search_path = procrastinate, pg_temp as $body$
    select j.queue_name::text, count(*) filter (where j.status = 'todo'), count(*) filter (where j.status = 'doing'),
           count(*) filter (where j.status = 'failed'),
           coalesce(extract(epoch from now() - min(coalesce(j.scheduled_at, e.at)) filter (
               where j.status = 'todo' and coalesce(j.scheduled_at <= now(), true))), 0)::bigint
    from procrastinate_jobs j
    left join lateral (select min(d.at) as at from procrastinate_events d where d.job_id = j.id and d.type = 'deferred') e on j.status = 'todo'
    group by j.queue_name
    order by j.queue_name
$body$;

-- Workers that report, and seconds since the last report of any; null where none is known.
create function commonlore.worker_numbers() returns table (workers bigint, silent_seconds bigint)
language sql stable security definer set search_path = procrastinate, pg_temp as $body$
    select count(*) filter (where w.last_heartbeat > now() - interval '60 seconds'), extract(epoch from now() - max(w.last_heartbeat))::bigint
    from procrastinate_workers w
$body$;
revoke execute on function commonlore.queue_numbers(), commonlore.worker_numbers() from public;
grant execute on function commonlore.queue_numbers(), commonlore.worker_numbers() to commonlore_app, commonlore_worker;
"""

_REVIEW = """
-- When the review looked at a case last and at which version: a case is looked at again when it changed, or after a while.
alter table commonlore.conflict_case
    add column reviewed_version integer,
    add column next_review_at timestamptz;
-- What the review of conflicts decides by a team's own rules, and nothing else of the ledger. Events are appended as by everyone.
grant update (version, last_ordinal, status, closed_by, closed_at, preferred_position_id, effective_at, effective_time_basis, positions_truncated,
              reviewed_version, next_review_at) on commonlore.conflict_case to commonlore_worker;
grant insert on commonlore.conflict_case, commonlore.conflict_position, commonlore.conflict_member, commonlore.conflict_event,
                commonlore.relationship_transition_event, commonlore.evidence_exclusion to commonlore_worker;
grant update (status, version, known_to, suppressed_from) on commonlore.relationship to commonlore_worker;
grant delete on commonlore.evidence_exclusion to commonlore_worker;
grant insert, update on commonlore.ledger_instant to commonlore_worker;
"""
