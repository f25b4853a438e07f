-- How long a team keeps what nothing needs for ever, as its administrators see and set it.

-- name: read_rule
-- One row, or none where the team has the defaults.
select r.audit_days, r.feedback_days, r.answer_days, r.job_days, r.audit_removed_to, r.last_run_at from commonlore.retention_rule r
where true
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_rule
insert into commonlore.retention_rule (team_id, audit_days, feedback_days, answer_days, job_days)
values (%(team_id)s::uuid, %(audit_days)s::integer, %(feedback_days)s::integer, %(answer_days)s::integer, %(job_days)s::integer)
on conflict (team_id) do update
set audit_days = excluded.audit_days, feedback_days = excluded.feedback_days, answer_days = excluded.answer_days, job_days = excluded.job_days;

-- name: count_audit
-- Entries of the seals after the last one that went, as long as they are older; the first younger seal ends it.
select coalesce(sum(cardinality(s.entry_ids)), 0)::bigint as rows
from commonlore.audit_seal s
where s.ordinal > %(removed_to)s::bigint and s.last_known_from < %(before)s::timestamptz
  and not exists (
      select from commonlore.audit_seal y
      where y.ordinal > %(removed_to)s::bigint and y.ordinal < s.ordinal and y.last_known_from >= %(before)s::timestamptz
        and y.team_id = %(team_id)s::uuid -- tenant
  )
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: count_recalls
select count(*) as rows from commonlore.feedback_recall r
where r.known_from < %(before)s::timestamptz
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: count_answers
-- In the open space. Index: submission_answered.
select count(*) as rows from commonlore.submission s
where s.idempotency_key is not null and s.known_from < %(before)s::timestamptz
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: count_jobs
-- By the database's clock, as jobs are kept.
select count(*) as rows from commonlore.job j
where j.finished_at < now() - case when j.state in ('dead', 'cancelled') then %(days)s::integer else least(%(days)s::integer, 7) end * interval '1 day'
  and j.team_id = %(team_id)s::uuid -- tenant
;
