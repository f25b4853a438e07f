-- Briefs that were claimed or decided, and what happened to each.

-- name: brief_states
-- Those of the named briefs that were ever claimed.
select b.brief_key, b.state, b.expires_at
from commonlore.delegated_brief b
where b.brief_key = any(%(brief_keys)s::text[])
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: lock_brief
-- The row of a brief as it stands; nobody else changes it until the transaction ends.
select b.state, b.claim_id, b.credential_id, b.profile_id, b.expires_at, b.last_ordinal
from commonlore.delegated_brief b
where b.brief_key = %(brief_key)s::text
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
for update;

-- name: insert_brief
-- One row where nobody claimed it before; of two at once the second waits for the first and gets none.
insert into commonlore.delegated_brief
    (team_id, space_epoch, brief_key, kind, state, claim_id, credential_id, profile_id, expires_at, last_ordinal, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(brief_key)s::text, %(kind)s::text, 'claimed', %(claim_id)s::uuid, %(credential_id)s::uuid,
        %(profile_id)s::uuid, %(expires_at)s::timestamptz, 1, %(now)s::timestamptz)
on conflict do nothing
returning last_ordinal;

-- name: change_brief
update commonlore.delegated_brief b
set state = %(state)s::text, claim_id = %(claim_id)s::uuid, credential_id = %(credential_id)s::uuid, profile_id = %(profile_id)s::uuid,
    expires_at = %(expires_at)s::timestamptz, last_ordinal = %(last_ordinal)s::int, decided_at = %(decided_at)s::timestamptz
where b.brief_key = %(brief_key)s::text
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: insert_events
insert into commonlore.delegated_brief_event
    (team_id, space_epoch, brief_key, ordinal, action, claim_id, profile_id, credential_id, detail, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(brief_key)s::text, r.ordinal, r.action, r.claim_id, r.profile_id, r.credential_id, r.detail,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (ordinal int, action text, claim_id uuid, profile_id uuid, credential_id uuid, detail jsonb);

-- name: events
-- What happened to a brief, in order. The claim itself is its holder's secret.
select e.action, e.profile_id, p.name as profile_name, e.detail, e.known_from
from commonlore.delegated_brief_event e
join commonlore.profile p on p.team_id = e.team_id and p.profile_id = e.profile_id
where e.brief_key = %(brief_key)s::text
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.ordinal
limit %(most)s::int;

-- name: insert_summary
insert into commonlore.delegated_summary
    (team_id, space_epoch, community_id, brief_key, summary, evidence_ids, span_starts, span_ends, profile_id, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(community_id)s::uuid, %(brief_key)s::text, %(summary)s::text, %(evidence_ids)s::uuid[],
        %(starts)s::int[], %(ends)s::int[], %(profile_id)s::uuid, %(now)s::timestamptz);

-- name: summary
-- The summary of a community with its quotes, or none where one of their texts may not be shown now.
select s.summary,
       (select jsonb_agg(jsonb_build_object('evidence_id', q.evidence_id, 'start', q.span_start, 'end', q.span_end,
                             'quote', substr(e.content, q.span_start + 1, q.span_end - q.span_start)) order by q.place)
        from unnest(s.evidence_ids, s.span_starts, s.span_ends) with ordinality as q (evidence_id, span_start, span_end, place)
        join commonlore.evidence e on e.evidence_id = q.evidence_id
        where e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as quotes
from commonlore.delegated_summary s
where s.community_id = %(community_id)s::uuid
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = any(s.evidence_ids)
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;
