-- Evidence that stops counting, and quarantine that ends: events, and the exclusions that follow from them.

-- name: read_standing
-- Whose the evidence is and what takes it out of the present; by id. Unknown ids give no row.
select e.evidence_id, e.owner_profile_id, e.known_from,
       array(select x.reason from commonlore.evidence_exclusion x
             where x.evidence_id = e.evidence_id
               and x.team_id = %(team_id)s::uuid -- tenant
               and x.space_epoch = %(space_epoch)s::bigint -- tenant
             order by x.reason) as reasons,
       (select l.replacement_evidence_id from commonlore.evidence_lifecycle_event l
        where l.evidence_id = e.evidence_id and l.action = 'supersede'
          and l.team_id = %(team_id)s::uuid -- tenant
          and l.space_epoch = %(space_epoch)s::bigint -- tenant
        order by l.known_from desc, l.event_id desc limit 1) as replacement_evidence_id
from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: insert_lifecycle_events
insert into commonlore.evidence_lifecycle_event
    (team_id, space_epoch, event_id, evidence_id, action, replacement_evidence_id, reason, actor_profile_id, submission_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, l.event_id, l.evidence_id, %(action)s::text, l.replacement_evidence_id, %(reason)s::text,
       %(actor_profile_id)s::uuid, %(submission_id)s::uuid, %(now)s::timestamptz
from unnest(%(event_ids)s::uuid[], %(evidence_ids)s::uuid[], %(replacement_ids)s::uuid[])
    as l (event_id, evidence_id, replacement_evidence_id);

-- name: insert_exclusions
insert into commonlore.evidence_exclusion (team_id, space_epoch, evidence_id, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, x.evidence_id, %(reason)s::text, %(now)s::timestamptz
from unnest(%(evidence_ids)s::uuid[]) as x (evidence_id)
on conflict do nothing;

-- name: lift_quarantine
delete from commonlore.evidence_exclusion x
where x.evidence_id = any(%(evidence_ids)s::uuid[]) and x.reason = 'quarantined'
  and x.team_id = %(team_id)s::uuid -- tenant
  and x.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_quarantine_rule
select t.evidence_quarantine from commonlore.team t
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_quarantine_rule
update commonlore.team t set evidence_quarantine = %(evidence_quarantine)s::text
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
returning t.evidence_quarantine;

-- name: insert_security_events
insert into commonlore.evidence_security_event
    (team_id, space_epoch, event_id, evidence_id, event_kind, decision, rules_version, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.evidence_id, r.event_kind, r.decision, r.rules_version, r.reason,
       %(actor_profile_id)s::uuid, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (event_id uuid, evidence_id uuid, event_kind text, decision text, rules_version int, reason text);

-- name: insert_security_signals
insert into commonlore.evidence_security_signal
    (team_id, space_epoch, event_id, signal_no, signal_kind, severity, span_start, span_end, quote)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.signal_no, r.signal_kind, r.severity, r.span_start, r.span_end, r.quote
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (event_id uuid, signal_no int, signal_kind text, severity text, span_start int, span_end int, quote text);

-- name: list_quarantined
-- What is in quarantine now, the latest first: the last event that put it there and what was found.
select x.evidence_id, e.owner_profile_id, s.known_from, s.event_kind, s.reason,
       (select coalesce(jsonb_agg(jsonb_build_object('kind', g.signal_kind, 'severity', g.severity, 'span_start', g.span_start,
                                                     'span_end', g.span_end, 'quote', g.quote) order by g.signal_no), '[]')
        from commonlore.evidence_security_signal g
        where g.event_id = s.event_id
          and g.team_id = %(team_id)s::uuid -- tenant
          and g.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as signals
from commonlore.evidence_exclusion x
join commonlore.evidence e using (team_id, space_epoch, evidence_id)
join lateral (
    select s.event_id, s.known_from, s.event_kind, s.reason from commonlore.evidence_security_event s
    where s.evidence_id = x.evidence_id and s.decision = 'quarantine'
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    order by s.known_from desc, s.event_id desc limit 1
) s on true
where x.reason = 'quarantined'
  and x.team_id = %(team_id)s::uuid -- tenant
  and x.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.known_from desc, x.evidence_id
limit %(limit)s::int;
