-- Feedback on recalls. The team is set; no space is open, and no statement of a recall reads any of these tables.

-- name: add_recall
-- A recall and what it showed.
with kept as (
    insert into commonlore.feedback_recall (team_id, recall_id, profile_id, credential_id, ranking, known_from)
    values (%(team_id)s::uuid, %(recall_id)s::uuid, %(profile_id)s::uuid, %(credential_id)s::uuid, %(ranking)s::text, %(now)s::timestamptz)
    returning team_id, recall_id
)
insert into commonlore.feedback_result (team_id, recall_id, kind, result_id, rank, nested)
select k.team_id, k.recall_id, r.kind, r.result_id, r.rank, r.nested
from kept k, unnest(%(kinds)s::text[], %(result_ids)s::uuid[], %(ranks)s::integer[], %(nested)s::boolean[]) as r (kind, result_id, rank, nested);

-- name: find_recall
-- Whether the credential has this recall. Index: the primary key.
select r.recall_id from commonlore.feedback_recall r
where r.recall_id = %(recall_id)s::uuid and r.credential_id = %(credential_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_results
-- What it showed; in any order.
select r.kind, r.result_id from commonlore.feedback_result r
where r.recall_id = %(recall_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
;

-- name: add_feedback
-- One row where nothing was said of the recall yet; what was said first stays.
with said as (
    insert into commonlore.recall_feedback
        (team_id, recall_id, used, answer_supported, quality, missing_context, irrelevant, has_comment, known_from)
    values (%(team_id)s::uuid, %(recall_id)s::uuid, %(used)s::boolean, %(answer_supported)s::boolean, %(quality)s::text,
            %(missing_context)s::boolean, %(irrelevant)s::boolean, %(has_comment)s::boolean, %(now)s::timestamptz)
    on conflict do nothing
    returning team_id, recall_id
), marked as (
    insert into commonlore.feedback_mark (team_id, recall_id, kind, result_id, irrelevant, used, quality, contradicted)
    select s.team_id, s.recall_id, m.kind, m.result_id, m.irrelevant, m.used, m.quality, m.contradicted
    from said s, unnest(%(kinds)s::text[], %(result_ids)s::uuid[], %(marked_irrelevant)s::boolean[], %(marked_used)s::boolean[],
                        %(qualities)s::text[], %(contradicted)s::boolean[])
        as m (kind, result_id, irrelevant, used, quality, contradicted)
)
select recall_id from said;

-- name: set_enabled
update commonlore.team t set recall_feedback = %(enabled)s::boolean
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
returning t.recall_feedback;

-- name: read_enabled
select t.recall_feedback from commonlore.team t
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: report_recalls
-- By ranking: recalls that were kept, and what was said of them.
select r.ranking, count(*) as recalls, count(f.recall_id) as answered, count(*) filter (where f.used) as used,
       count(*) filter (where f.answer_supported) as supported, count(*) filter (where f.quality = 'high') as high,
       count(*) filter (where f.quality = 'medium') as medium, count(*) filter (where f.quality = 'low') as low,
       count(*) filter (where f.missing_context) as missing_context, count(*) filter (where f.irrelevant) as irrelevant
from commonlore.feedback_recall r
left join commonlore.recall_feedback f using (team_id, recall_id)
where coalesce(r.known_from >= %(since)s::timestamptz, true) and coalesce(r.known_from < %(until)s::timestamptz, true)
  and r.team_id = %(team_id)s::uuid -- tenant
group by r.ranking
order by r.ranking;

-- name: report_lanes
-- By ranking and lane: results of recalls of which something was said, and what was said of them.
select r.ranking, case when s.nested then 'community_relationship' else s.kind end as lane, count(*) as shown,
       count(*) filter (where m.irrelevant) as irrelevant, count(*) filter (where m.irrelevant and s.rank = 1) as irrelevant_first,
       coalesce(sum(s.rank) filter (where m.irrelevant), 0)::bigint as irrelevant_ranks, count(*) filter (where m.used) as used,
       count(*) filter (where m.contradicted) as contradicted
from commonlore.feedback_recall r
join commonlore.recall_feedback f using (team_id, recall_id)
join commonlore.feedback_result s using (team_id, recall_id)
left join commonlore.feedback_mark m using (team_id, recall_id, kind, result_id)
where coalesce(r.known_from >= %(since)s::timestamptz, true) and coalesce(r.known_from < %(until)s::timestamptz, true)
  and r.team_id = %(team_id)s::uuid -- tenant
group by r.ranking, lane
order by r.ranking, lane;
