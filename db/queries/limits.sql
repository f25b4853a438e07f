-- What teams and keys may use, and what they used. The settings are read with the key (session.sql).

-- name: make_uses
-- Uses that nobody told of before, with nothing used.
insert into commonlore.limit_use (team_id, subject_id, operation_class, full_at, day, day_calls, month, month_calls)
select %(team_id)s::uuid, s.subject_id, s.operation_class, now(), date_trunc('day', now(), 'UTC'), 0, date_trunc('month', now(), 'UTC'), 0
from unnest(%(subject_ids)s::uuid[], %(classes)s::text[]) as s (subject_id, operation_class)
on conflict do nothing;

-- name: tell_use
-- Adds calls as the meter says (domain/limits/meter.py) and returns where everybody together stands, in any order. Index: the primary key. Rows
-- are locked sorted, so that two processes never wait for each other.
with told as (
    select * from unnest(%(subject_ids)s::uuid[], %(classes)s::text[], %(calls)s::bigint[], %(intervals_us)s::bigint[], %(ages_us)s::bigint[],
                         %(debts_us)s::bigint[]) as s (subject_id, operation_class, calls, interval_us, age_us, debt_us)
), locked as materialized (
    select u.subject_id, u.operation_class from commonlore.limit_use u
    join told t on t.subject_id = u.subject_id and t.operation_class = u.operation_class
    where u.team_id = %(team_id)s::uuid -- tenant
    order by u.subject_id, u.operation_class
    for update of u
)
update commonlore.limit_use u set
    full_at = greatest(greatest(u.full_at, now() - t.age_us * interval '1 microsecond') + t.calls * t.interval_us * interval '1 microsecond',
                       now() + t.debt_us * interval '1 microsecond'),
    day = date_trunc('day', now(), 'UTC'),
    day_calls = case when u.day = date_trunc('day', now(), 'UTC') then u.day_calls else 0 end + t.calls,
    month = date_trunc('month', now(), 'UTC'),
    month_calls = case when u.month = date_trunc('month', now(), 'UTC') then u.month_calls else 0 end + t.calls
from told t
join locked l on l.subject_id = t.subject_id and l.operation_class = t.operation_class
where u.subject_id = t.subject_id and u.operation_class = t.operation_class
  and u.team_id = %(team_id)s::uuid -- tenant
returning u.subject_id, u.operation_class, (extract(epoch from greatest(u.full_at - now(), interval '0')) * 1000000)::bigint as debt_us,
          u.day_calls, u.month_calls, now() as store_now;

-- name: read_limits
-- The team's own numbers and its ceiling.
select t.limits::text as limits, t.limit_ceiling::text as ceiling from commonlore.team t
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_key_limits
-- One row for a key that is not revoked.
select c.limits::text as limits from commonlore.credential c
where c.credential_id = %(credential_id)s::uuid and c.revoked_at is null
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: lock_limits
-- Whoever changes numbers of the team or of one of its keys takes turns with others who do.
select t.team_id from commonlore.team t
where true
  and t.team_id = %(team_id)s::uuid -- tenant
for no key update;

-- name: set_limits
-- The same again writes nothing.
update commonlore.team t set limits = %(limits)s::text::jsonb
where t.retired_at is null and t.limits is distinct from %(limits)s::text::jsonb
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_key_limits
update commonlore.credential c set limits = %(limits)s::text::jsonb
where c.credential_id = %(credential_id)s::uuid and c.limits is distinct from %(limits)s::text::jsonb
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_use
-- Calls of this day and month as far as processes told them, by subject and class.
select u.subject_id, u.operation_class, u.day, u.day_calls, u.month, u.month_calls from commonlore.limit_use u
where u.subject_id = %(subject_id)s::uuid
  and u.team_id = %(team_id)s::uuid -- tenant
order by u.operation_class;

-- name: list_open_spaces
-- Every space of the team that holds anything, by id.
select s.space_id, s.space_epoch from commonlore.space s
where s.lifecycle_state = 'active' and s.content_from is not null
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_id;

-- name: count_texts
-- Texts of the open space and their bytes, withdrawn ones too; reads every row of it. Index: evidence (team_id, space_epoch, ...).
select count(*) as texts, coalesce(sum(octet_length(e.content)), 0)::bigint as bytes from commonlore.evidence e
where true
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;
