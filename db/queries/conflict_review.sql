-- The review of cases that are due, under the worker's role. The team is set and one space open.

-- name: is_due
-- Whether any case of the space wants a review. Index: conflict_case_due.
select exists (
    select from commonlore.conflict_case c
    where c.status in ('open', 'overdue') and c.review_due_at <= %(now)s::timestamptz
      and (c.reviewed_version is distinct from c.version or coalesce(c.next_review_at <= %(now)s::timestamptz, true))
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
) as is_due;

-- name: due
-- Cases that want a review: due, and changed since the last one or not looked at for a while. The longest due first, then by id.
select c.conflict_id from commonlore.conflict_case c
where c.status in ('open', 'overdue') and c.review_due_at <= %(now)s::timestamptz
  and (c.reviewed_version is distinct from c.version or coalesce(c.next_review_at <= %(now)s::timestamptz, true))
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.review_due_at, c.conflict_id
limit %(most)s::int;

-- name: mark_overdue
update commonlore.conflict_case c
set status = 'overdue', version = %(version)s::int, last_ordinal = %(last_ordinal)s::int
where c.conflict_id = %(conflict_id)s::uuid and c.status = 'open'
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: reviewed
-- The case was looked at as it stands now.
update commonlore.conflict_case c
set reviewed_version = c.version, next_review_at = %(next_review_at)s::timestamptz
where c.conflict_id = %(conflict_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;
