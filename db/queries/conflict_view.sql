-- Cases as they are shown: now, or as they stood in a view. Events known by then say the state; the row of a case says what never changes.

-- name: touched
-- Cases that quote one of the texts or have it as a support, by id; one more than a recall shows is enough to know that there are more.
select c.conflict_id
from commonlore.conflict_case c
where c.conflict_id in (
      select m.conflict_id from commonlore.conflict_member m
      where m.evidence_id = any(%(evidence_ids)s::uuid[])
        and m.team_id = %(team_id)s::uuid -- tenant
        and m.space_epoch = %(space_epoch)s::bigint -- tenant
      union all
      select q.conflict_id from commonlore.conflict_quote q
      where q.evidence_id = any(%(evidence_ids)s::uuid[])
        and q.team_id = %(team_id)s::uuid -- tenant
        and q.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and coalesce(c.known_from <= %(known_at)s::timestamptz, true)
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.status in ('open', 'overdue') desc, c.conflict_id desc
limit %(most)s::int;

-- name: of_relationship
-- Cases that the relationship ever was a member of, in the order in which they were opened.
select c.conflict_id
from commonlore.conflict_case c
where c.conflict_id in (
      select m.conflict_id from commonlore.conflict_member m
      where m.relationship_id = %(relationship_id)s::uuid
        and m.team_id = %(team_id)s::uuid -- tenant
        and m.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.conflict_id
limit %(most)s::int;

-- name: page
-- Cases after an id, in the order in which they were opened.
select c.conflict_id
from commonlore.conflict_case c
where c.conflict_id > %(after)s::uuid and coalesce(c.status = %(status)s::text, true)
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.conflict_id
limit %(most)s::int;

-- name: cases
-- One row a case: what never changes, the events of its state, its positions and who stood for them by the time of the view.
-- By valid time alone a case that was known then stands as it stood then, save that a decision counts from the time that it states.
-- The words of a quote are left out where its text is withdrawn.
select c.conflict_id, c.kind, c.question, c.review_due_at, c.known_from, c.policy_version, c.review_days,
       (select max(e.version) from commonlore.conflict_event e
        where e.conflict_id = c.conflict_id and (e.known_from <= h.horizon or %(known_at)s::timestamptz is null and e.action = 'resolved')
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as version,
       (select jsonb_agg(jsonb_build_object('action', e.action, 'version', e.version, 'position_id', e.position_id, 'effective_at', e.effective_at,
                             'effective_time_basis', e.effective_time_basis, 'actor_profile_id', e.actor_profile_id, 'evidence_id', e.evidence_id,
                             'reason', e.reason, 'known_from', e.known_from) order by e.ordinal)
        from commonlore.conflict_event e
        where e.conflict_id = c.conflict_id and e.support_id is null
          and (e.known_from <= h.horizon or %(known_at)s::timestamptz is null and e.action = 'resolved')
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as events,
       (select jsonb_agg(jsonb_build_object('position_id', p.position_id, 'entity_id', p.object_entity_id, 'name', n.display_name,
                             'value_id', p.object_value_id, 'type', v.value_type, 'value', v.canonical_value, 'display', v.display, 'unit', v.unit)
                         order by p.position_no)
        from commonlore.conflict_position p
        left join lateral (
            select n.display_name from commonlore.entity_name n
            where n.entity_id = p.object_entity_id and n.name_kind in ('canonical', 'former')
              and n.team_id = %(team_id)s::uuid -- tenant
              and n.space_epoch = %(space_epoch)s::bigint -- tenant
            order by coalesce(n.known_from <= coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz)
                              and coalesce(n.known_to > coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz), true), false) desc,
                     n.known_to is null desc, n.entity_name_id
            limit 1
        ) n on true
        left join commonlore.value_record v on v.team_id = p.team_id and v.space_epoch = p.space_epoch and v.value_id = p.object_value_id
        where p.conflict_id = c.conflict_id and p.known_from <= h.horizon
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as positions,
       (select jsonb_agg(jsonb_build_object('position_id', m.position_id, 'relationship_id', m.relationship_id, 'profile_id', m.owner_profile_id,
                             'profile_name', o.name, 'evidence_id', m.evidence_id, 'authority', m.authority, 'accepted_at', m.accepted_at,
                             'effective_at', m.effective_at)
                         order by m.accepted_at, m.support_id)
        from commonlore.conflict_member m
        join commonlore.profile o on o.team_id = m.team_id and o.profile_id = m.owner_profile_id
        join commonlore.relationship r on r.team_id = m.team_id and r.space_epoch = m.space_epoch and r.relationship_id = m.relationship_id
        where m.conflict_id = c.conflict_id
          and (select e.action from commonlore.conflict_event e
               where e.conflict_id = c.conflict_id and e.support_id = m.support_id and e.known_from <= h.horizon
                 and e.team_id = %(team_id)s::uuid -- tenant
                 and e.space_epoch = %(space_epoch)s::bigint -- tenant
               order by e.ordinal desc limit 1) = 'member_added'
          and (%(valid_at)s::timestamptz is null
               or coalesce(r.valid_from <= %(valid_at)s::timestamptz, true) and coalesce(
                   case when %(known_at)s::timestamptz is null then r.valid_to else (
                       select z.valid_to from commonlore.relationship_transition_event z
                       where z.relationship_id = r.relationship_id and z.known_from <= %(known_at)s::timestamptz
                         and z.team_id = %(team_id)s::uuid -- tenant
                         and z.space_epoch = %(space_epoch)s::bigint -- tenant
                       order by z.version desc limit 1) end > %(valid_at)s::timestamptz, true))
          and m.team_id = %(team_id)s::uuid -- tenant
          and m.space_epoch = %(space_epoch)s::bigint -- tenant
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as supports,
       (select jsonb_agg(jsonb_build_object('position_id', q.position_id, 'evidence_id', q.evidence_id, 'owner_profile_id', q.owner_profile_id,
                             'quote', case when exists (
                                 select from commonlore.evidence_exclusion x
                                 where x.evidence_id = q.evidence_id
                                   and (x.reason in ('erased', 'quarantined') or (%(present)s::bool and x.reason <> 'unsupported'))
                                   and x.team_id = %(team_id)s::uuid -- tenant
                                   and x.space_epoch = %(space_epoch)s::bigint -- tenant
                             ) then null else q.quote end, 'span_start', q.span_start, 'span_end', q.span_end, 'authority', q.authority,
                             'submitted', q.submitted) order by q.position_no)
        from commonlore.conflict_quote q
        where q.conflict_id = c.conflict_id
          and q.team_id = %(team_id)s::uuid -- tenant
          and q.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as quotes
from commonlore.conflict_case c
cross join lateral (
    select coalesce(%(known_at)s::timestamptz, case when c.known_from <= %(valid_at)s::timestamptz then %(valid_at)s::timestamptz end, 'infinity') as horizon
) h
where c.conflict_id = any(%(conflict_ids)s::uuid[]) and coalesce(c.known_from <= %(known_at)s::timestamptz, true)
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.conflict_id;
