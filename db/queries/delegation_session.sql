-- Events of sessions, to be read for the relationships that they state.

-- name: session_page
-- The windows of each call to ingest_session that has a text that counts now, after a place, in the order of the calls.
-- Index: `submission_of_session`, then the unique key of `evidence` by submission.
select s.submission_id, w.window_no, t.windows, t.session, t.first_sequence, t.last_sequence
from commonlore.submission s
cross join lateral (
    select min(e.session) as session, min(e.sequence) as first_sequence, max(e.sequence) as last_sequence,
           1 + greatest(0, ceil((max(length(e.content)) - %(shown)s::int) / %(step)s::numeric)::int) as windows
    from commonlore.evidence e
    where e.submission_id = s.submission_id
      and not exists (
          select from commonlore.evidence_exclusion x
          where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
            and x.team_id = %(team_id)s::uuid -- tenant
            and x.space_epoch = %(space_epoch)s::bigint -- tenant
      )
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
) t
cross join lateral generate_series(0, t.windows - 1) as w (window_no)
where s.submission_kind = 'ingest_session' and s.submission_id >= %(after)s::uuid
  and (s.submission_id, w.window_no) > (%(after)s::uuid, %(after_window)s::int)
  and t.session is not null
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.submission_id, w.window_no
limit %(most)s::int;

-- name: session_texts
-- The texts of one call that count now, in the order of the session, each with the piece that is asked for; empty where it has ended before.
select e.evidence_id, substr(e.content, %(start)s::int + 1, %(chars)s::int) as content, %(start)s::int as start, length(e.content) as length,
       e.speaker, e.occurred_at, e.session, e.sequence
from commonlore.submission s
join commonlore.evidence e on e.submission_id = s.submission_id
where s.submission_id = %(submission_id)s::uuid and s.submission_kind = 'ingest_session'
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.sequence, e.evidence_id;
