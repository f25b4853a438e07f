-- Cases of a space: what a write reads and adds. The caller holds the ledger lock of the space.

-- name: contested_scopes
-- The scopes of the relationships that have an open case, or where two authors hold two objects at present.
select w.subject_entity_id, w.predicate_key, w.polarity, w.scope_key
from (
    select distinct r.subject_entity_id, r.predicate_key, r.polarity, r.scope_key
    from commonlore.relationship r
    where r.relationship_id = any(%(relationship_ids)s::uuid[]) and r.current_cardinality = 'one' and r.relationship_kind = 'state'
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
) w
where exists (
      select from commonlore.conflict_case c
      where c.subject_entity_id = w.subject_entity_id and c.predicate_key = w.predicate_key and c.polarity = w.polarity
        and c.scope_key is not distinct from w.scope_key and c.status in ('open', 'overdue')
        and c.team_id = %(team_id)s::uuid -- tenant
        and c.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  or (
      select count(distinct r.owner_profile_id) > 1 and count(distinct coalesce(r.object_entity_id, r.object_value_id)) > 1
      from commonlore.relationship r
      where r.subject_entity_id = w.subject_entity_id and r.predicate_key = w.predicate_key and r.polarity = w.polarity
        and r.scope_key is not distinct from w.scope_key and r.current_cardinality = 'one' and r.relationship_kind = 'state'
        and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
  )
order by w.subject_entity_id, w.predicate_key, w.polarity, w.scope_key nulls first;

-- name: standing
-- Every effective support of the statements that count at present in the scopes, by acceptance, then id.
select r.subject_entity_id, r.predicate_key, r.polarity, r.scope_key, r.relationship_id, r.owner_profile_id, r.object_entity_id, r.object_value_id,
       r.predicate_version, r.valid_from, r.valid_to, s.support_id, s.verification_event_id, s.evidence_id, s.source_group_key, s.authority,
       s.known_from as accepted_at
from unnest(%(subjects)s::uuid[], %(predicates)s::text[], %(polarities)s::text[], %(scope_keys)s::text[])
    as w (subject_entity_id, predicate_key, polarity, scope_key)
join commonlore.relationship r
  on r.subject_entity_id = w.subject_entity_id and r.predicate_key = w.predicate_key and r.polarity = w.polarity
     and r.scope_key is not distinct from w.scope_key
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
join commonlore.relationship_support s on s.team_id = r.team_id and s.space_epoch = r.space_epoch and s.relationship_id = r.relationship_id
where r.current_cardinality = 'one' and r.relationship_kind = 'state' and r.status = 'active' and r.support_count > 0
  and r.identity_alias_of is null
  and (select d.decision from commonlore.support_decision_event d
       where d.support_id = s.support_id
         and d.team_id = %(team_id)s::uuid -- tenant
         and d.space_epoch = %(space_epoch)s::bigint -- tenant
       order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
  and not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = s.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.known_from, s.support_id;

-- name: open_cases
-- The open or overdue case of each scope, by its key: positions, and the supports that stand now by the last event of each.
select c.conflict_id, c.case_key, c.version, c.last_ordinal, c.positions_truncated,
       (select max(e.known_from) from commonlore.conflict_event e
        where e.conflict_id = c.conflict_id
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as last_known_from,
       (select jsonb_agg(jsonb_build_array(p.position_id, coalesce(p.object_entity_id, p.object_value_id), p.object_entity_id is not null))
        from commonlore.conflict_position p
        where p.conflict_id = c.conflict_id
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as positions,
       array(select l.support_id from (
                 select distinct on (e.support_id) e.support_id, e.action from commonlore.conflict_event e
                 where e.conflict_id = c.conflict_id and e.support_id is not null
                   and e.team_id = %(team_id)s::uuid -- tenant
                   and e.space_epoch = %(space_epoch)s::bigint -- tenant
                 order by e.support_id, e.ordinal desc) l
             where l.action = 'member_added') as members
from commonlore.conflict_case c
where c.case_key = any(%(case_keys)s::text[]) and c.kind = 'cross_profile_current_state' and c.status in ('open', 'overdue')
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: settled_cases
-- The objects of each case of the scopes that a person dismissed.
select c.case_key, jsonb_agg(jsonb_build_array(coalesce(p.object_entity_id, p.object_value_id), p.object_entity_id is not null)) as targets
from commonlore.conflict_case c
join commonlore.conflict_position p on p.team_id = c.team_id and p.space_epoch = c.space_epoch and p.conflict_id = c.conflict_id
where c.case_key = any(%(case_keys)s::text[]) and c.kind = 'cross_profile_current_state' and c.status = 'dismissed' and c.closed_by = 'person'
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
group by c.case_key, c.conflict_id;

-- name: subject_names
-- The present names of entities, by id.
select n.entity_id, n.display_name from commonlore.entity_name n
where n.entity_id = any(%(entity_ids)s::uuid[]) and n.name_kind = 'canonical' and n.known_to is null
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: review_rules
select t.conflict_review_days, t.conflict_quorum, t.conflict_automatic, t.conflict_last_write_wins
from commonlore.team t
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_review_rules
-- What is null stays as it is.
update commonlore.team t
set conflict_review_days = coalesce(%(review_days)s::int, t.conflict_review_days),
    conflict_quorum = coalesce(%(quorum)s::int, t.conflict_quorum),
    conflict_automatic = coalesce(%(automatic)s::bool, t.conflict_automatic),
    conflict_last_write_wins = coalesce(%(last_write_wins)s::bool, t.conflict_last_write_wins)
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: insert_case
insert into commonlore.conflict_case
    (team_id, space_epoch, conflict_id, kind, case_key, status, question, version, last_ordinal, positions_truncated, subject_entity_id, predicate_key,
     predicate_version, polarity, scope_key, policy_version, review_days, review_due_at, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(conflict_id)s::uuid, %(kind)s::text, %(case_key)s::text, 'open', %(question)s::text, 1,
        %(last_ordinal)s::int, %(positions_truncated)s::bool, %(subject_entity_id)s::uuid, %(predicate_key)s::text, %(predicate_version)s::int,
        %(polarity)s::text, %(scope_key)s::text, %(policy_version)s::text, %(review_days)s::int, %(review_due_at)s::timestamptz,
        %(now)s::timestamptz);

-- name: change_case
-- The next version of an open case.
update commonlore.conflict_case c
set version = %(version)s::int, last_ordinal = %(last_ordinal)s::int, positions_truncated = %(positions_truncated)s::bool
where c.conflict_id = %(conflict_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: close_case
update commonlore.conflict_case c
set version = %(version)s::int, last_ordinal = %(last_ordinal)s::int, status = %(status)s::text, closed_by = %(closed_by)s::text,
    closed_at = %(now)s::timestamptz, preferred_position_id = %(preferred_position_id)s::uuid, effective_at = %(effective_at)s::timestamptz,
    effective_time_basis = %(effective_time_basis)s::text
where c.conflict_id = %(conflict_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: insert_positions
insert into commonlore.conflict_position (team_id, space_epoch, position_id, conflict_id, position_no, object_entity_id, object_value_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.position_id, %(conflict_id)s::uuid, r.position_no, r.object_entity_id, r.object_value_id,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (position_id uuid, position_no int, object_entity_id uuid, object_value_id uuid);

-- name: insert_members
-- A support that left and comes back has its row already.
insert into commonlore.conflict_member
    (team_id, space_epoch, conflict_id, support_id, position_id, relationship_id, owner_profile_id, verification_event_id, evidence_id,
     source_group_key, authority, effective_at, effective_time_basis, accepted_at, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(conflict_id)s::uuid, r.support_id, r.position_id, r.relationship_id, r.owner_profile_id,
       r.verification_event_id, r.evidence_id, r.source_group_key, r.authority, r.effective_at, r.effective_time_basis, r.accepted_at,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (support_id uuid, position_id uuid, relationship_id uuid, owner_profile_id uuid, verification_event_id uuid, evidence_id uuid,
          source_group_key text, authority text, effective_at timestamptz, effective_time_basis text, accepted_at timestamptz)
on conflict do nothing;

-- name: insert_quotes
insert into commonlore.conflict_quote
    (team_id, space_epoch, position_id, conflict_id, position_no, evidence_id, owner_profile_id, span_start, span_end, quote, authority, submitted,
     known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.position_id, %(conflict_id)s::uuid, r.position_no, r.evidence_id, r.owner_profile_id,
       r.span_start, r.span_end, r.quote, r.authority, r.submitted, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (position_id uuid, position_no int, evidence_id uuid, owner_profile_id uuid, span_start int, span_end int, quote text, authority text,
          submitted bool);

-- name: insert_events
insert into commonlore.conflict_event
    (team_id, space_epoch, conflict_id, ordinal, version, action, position_id, support_id, evidence_id, effective_at, effective_time_basis,
     actor_profile_id, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(conflict_id)s::uuid, r.ordinal, %(version)s::int, r.action, r.position_id, r.support_id,
       r.evidence_id, r.effective_at, r.effective_time_basis, %(profile_id)s::uuid, r.reason, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (ordinal int, action text, position_id uuid, support_id uuid, evidence_id uuid, effective_at timestamptz, effective_time_basis text,
          reason text);

-- name: lock_case
-- One case of the space as it stands, locked; none when it is not here.
select c.conflict_id, c.kind, c.case_key, c.status, c.version, c.last_ordinal, c.positions_truncated, c.subject_entity_id, c.predicate_key, c.polarity,
       c.scope_key,
       (select max(e.known_from) from commonlore.conflict_event e
        where e.conflict_id = c.conflict_id
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as last_known_from
from commonlore.conflict_case c
where c.conflict_id = %(conflict_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
for update;

-- name: sides
-- Of one case: each position with the relationships that stand for it now and when it begins to hold by them.
select p.position_id, m.relationship_id, m.effective_at, m.effective_time_basis
from (
    select o.position_id from commonlore.conflict_position o
    where o.conflict_id = %(conflict_id)s::uuid
      and o.team_id = %(team_id)s::uuid -- tenant
      and o.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select q.position_id from commonlore.conflict_quote q
    where q.conflict_id = %(conflict_id)s::uuid
      and q.team_id = %(team_id)s::uuid -- tenant
      and q.space_epoch = %(space_epoch)s::bigint -- tenant
) p
left join commonlore.conflict_member m
  on m.position_id = p.position_id and m.conflict_id = %(conflict_id)s::uuid
     and m.team_id = %(team_id)s::uuid -- tenant
     and m.space_epoch = %(space_epoch)s::bigint -- tenant
     and (select e.action from commonlore.conflict_event e
          where e.conflict_id = %(conflict_id)s::uuid and e.support_id = m.support_id
            and e.team_id = %(team_id)s::uuid -- tenant
            and e.space_epoch = %(space_epoch)s::bigint -- tenant
          order by e.ordinal desc limit 1) = 'member_added'
order by p.position_id, m.effective_at, m.relationship_id;

-- name: suppress
-- The losing statements end now and count no longer from `effective_at` on; one transition each. Returns what changed.
with losing as (
    update commonlore.relationship r
    set status = 'superseded', version = r.version + 1, known_to = greatest(%(now)s::timestamptz, r.known_from),
        suppressed_from = %(effective_at)s::timestamptz
    where r.relationship_id = any(%(relationship_ids)s::uuid[]) and r.status = 'active'
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    returning r.relationship_id, r.version, r.valid_to
), transition as (
    insert into commonlore.relationship_transition_event
        (team_id, space_epoch, event_id, relationship_id, from_status, to_status, version, reason, valid_to, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, e.event_id, l.relationship_id, 'active', 'superseded', l.version, 'conflict_resolved',
           l.valid_to, %(now)s::timestamptz
    from losing l
    join unnest(%(relationship_ids)s::uuid[], %(event_ids)s::uuid[]) as e (relationship_id, event_id) on e.relationship_id = l.relationship_id
)
select l.relationship_id, l.version from losing l order by l.relationship_id;

-- name: quoted_evidence
-- The places in texts of this space, by their order in the request; a text that is withdrawn is not among them.
select w.place::int as place, e.evidence_id, e.owner_profile_id, e.authority, length(e.content) as length,
       substr(e.content, w.span_start + 1, w.span_end - w.span_start) as quote
from unnest(%(evidence_ids)s::uuid[], %(starts)s::int[], %(ends)s::int[]) with ordinality as w (evidence_id, span_start, span_end, place)
join commonlore.evidence e on e.evidence_id = w.evidence_id
where not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by w.place;

-- name: quotes
-- The places that a case is about.
select q.evidence_id, q.span_start, q.span_end from commonlore.conflict_quote q
where q.conflict_id = %(conflict_id)s::uuid
  and q.team_id = %(team_id)s::uuid -- tenant
  and q.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: find_evidence_case
-- The case of texts with this key, locked.
select c.conflict_id, c.status, c.version, c.last_ordinal,
       (select max(e.known_from) from commonlore.conflict_event e
        where e.conflict_id = c.conflict_id
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as last_known_from
from commonlore.conflict_case c
where c.case_key = %(case_key)s::text and c.kind = 'evidence_conflict'
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
for update;
