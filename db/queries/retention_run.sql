-- What retention removes. Run by a worker. The team is set.

-- name: is_due
-- Whether a day has passed since the last run and anything may have to go.
select coalesce((select r.last_run_at < %(now)s::timestamptz - interval '1 day' from commonlore.retention_rule r
                 where true
                   and r.team_id = %(team_id)s::uuid -- tenant
                ), true)
   and (exists (select from commonlore.retention_rule r
                where (r.audit_days is not null or r.answer_days is not null)
                  and r.team_id = %(team_id)s::uuid -- tenant
               )
        or exists (select from commonlore.feedback_recall k
                   where k.known_from < %(now)s::timestamptz - coalesce((select r.feedback_days from commonlore.retention_rule r
                                                                         where true
                                                                           and r.team_id = %(team_id)s::uuid -- tenant
                                                                        ), 30) * interval '1 day'
                     and k.team_id = %(team_id)s::uuid -- tenant
                  )) as is_due;

-- name: remove_audit
-- How many entries went. The function takes the team of the transaction.
select commonlore.remove_audit(%(most_seals)s::integer) as removed;

-- name: forget_answers
-- What the oldest repeated calls would be answered with; one that comes now is a new call. In the open space.
update commonlore.submission s set idempotency_key = null, result = null
where s.submission_id in (
    select o.submission_id from commonlore.submission o
    where o.idempotency_key is not null and o.known_from < %(before)s::timestamptz
      and o.team_id = %(team_id)s::uuid -- tenant
      and o.space_epoch = %(space_epoch)s::bigint -- tenant
    order by o.known_from
    limit %(batch)s::integer
)
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: note_run
insert into commonlore.retention_rule (team_id, last_run_at) values (%(team_id)s::uuid, %(now)s::timestamptz)
on conflict (team_id) do update set last_run_at = excluded.last_run_at;
