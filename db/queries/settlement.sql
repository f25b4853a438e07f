-- What a withdrawal or its end changes in relationships. Counts follow from events and exclusions, as in `recount`.

-- name: relationships_of
-- The relationships that the evidence has support paths to, by id.
select distinct s.relationship_id from commonlore.relationship_support s
where s.evidence_id = any(%(evidence_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.relationship_id;

-- name: lock_touched
-- Locked in the order of their ids, before their state is read.
select r.relationship_id from commonlore.relationship r
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
for update of r;

-- name: read_touched
-- Each relationship as it stands, what its events say of its supports, and whether another one holds its current place; by id.
select r.relationship_id, r.owner_profile_id, r.subject_entity_id, r.predicate_key, r.polarity, r.valid_from, r.scope_key,
       r.current_cardinality, r.status, r.version, r.valid_to, r.known_to, r.support_count, r.source_group_count,
       r.identity_alias_of is not null as is_alias, c.effective, c.effective_groups, c.stated_at,
       r.current_cardinality = 'one' and exists (
           select from commonlore.relationship o
           where o.owner_profile_id = r.owner_profile_id and o.subject_entity_id = r.subject_entity_id
             and o.predicate_key = r.predicate_key and o.polarity = r.polarity
             and o.valid_from is not distinct from r.valid_from and o.scope_key is not distinct from r.scope_key
             and o.status = 'active' and o.support_count > 0 and o.current_cardinality = 'one' and o.identity_alias_of is null
             and o.relationship_id <> all(%(relationship_ids)s::uuid[])
             and o.team_id = %(team_id)s::uuid -- tenant
             and o.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as has_current_sibling
from commonlore.relationship r
cross join lateral (
    select count(*)::int as effective, count(distinct s.source_group_key)::int as effective_groups, max(s.known_from) as stated_at
    from commonlore.relationship_support s
    where s.relationship_id = r.relationship_id
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
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
) c
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;

-- name: evidence_of
-- Which of the evidence has a support path to which of the relationships.
select distinct s.evidence_id, s.relationship_id from commonlore.relationship_support s
where s.evidence_id = any(%(evidence_ids)s::uuid[]) and s.relationship_id = any(%(relationship_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: revoke_supports
-- A decision against every granted support of the evidence; by support id, each with the id given at its place.
with granted as (
    select s.support_id, row_number() over (order by s.support_id) as place
    from commonlore.relationship_support s
    where s.evidence_id = any(%(evidence_ids)s::uuid[])
      and (select d.decision from commonlore.support_decision_event d
           where d.support_id = s.support_id
             and d.team_id = %(team_id)s::uuid -- tenant
             and d.space_epoch = %(space_epoch)s::bigint -- tenant
           order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
)
insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, i.event_id, g.support_id, 'revoke', %(reason)s::text, %(actor_profile_id)s::uuid,
       %(now)s::timestamptz
from granted g
join unnest(%(event_ids)s::uuid[]) with ordinality as i (event_id, place) on i.place = g.place;

-- name: count_supports
select count(*) as supports from commonlore.relationship_support s
where s.evidence_id = any(%(evidence_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;
