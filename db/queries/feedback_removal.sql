-- Feedback that goes: by retention, and with what is erased. Run by a worker. The team is set; no space is open.

-- name: old_recalls
-- The oldest kept recalls of before an instant. Index: feedback_recall_by_time.
select r.recall_id from commonlore.feedback_recall r
where r.known_from < %(before)s::timestamptz
  and r.team_id = %(team_id)s::uuid -- tenant
order by r.known_from
limit %(batch)s::integer;

-- name: recalls_of
-- Kept recalls of members or credentials; in any order.
select r.recall_id from commonlore.feedback_recall r
where (r.profile_id = any(%(profile_ids)s::uuid[]) or r.credential_id = any(%(credential_ids)s::uuid[]))
  and r.team_id = %(team_id)s::uuid -- tenant
limit %(batch)s::integer;

-- name: remove_marks
delete from commonlore.feedback_mark m
where m.recall_id = any(%(recall_ids)s::uuid[])
  and m.team_id = %(team_id)s::uuid -- tenant
;

-- name: remove_results
delete from commonlore.feedback_result r
where r.recall_id = any(%(recall_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: remove_feedback
delete from commonlore.recall_feedback f
where f.recall_id = any(%(recall_ids)s::uuid[])
  and f.team_id = %(team_id)s::uuid -- tenant
;

-- name: remove_recalls
delete from commonlore.feedback_recall r
where r.recall_id = any(%(recall_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
;
