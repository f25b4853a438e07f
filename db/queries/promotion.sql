-- Promotions. The texts are read in the private space; the records of what was promoted are the team's.

-- name: texts
-- Texts of the open space with all that is copied of them, by id. Index: the primary key.
select e.evidence_id, e.owner_profile_id, e.content, e.source_type, e.authority, e.source, e.source_group, e.labels, e.metadata, e.occurred_at,
       e.speaker, e.session, e.sequence,
       (select min(x.reason) from commonlore.evidence_exclusion x
        where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
          and x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as withdrawn
from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: statements
-- What an owner states now from some of the texts, with the texts that carry it, by id; at most `most`.
select r.relationship_id, r.predicate_key, r.polarity, r.scope_key, r.valid_from, r.valid_to, s.evidence_ids,
       subject.display_name as subject_name, subject.entity_kind as subject_kind,
       target.display_name as object_name, target.entity_kind as object_kind,
       value.value_type, value.canonical_value, value.display, value.unit
from (
    select s.relationship_id, array_agg(distinct s.evidence_id) as evidence_ids
    from commonlore.relationship_support s
    where s.evidence_id = any(%(evidence_ids)s::uuid[])
      and (select d.decision from commonlore.support_decision_event d
           where d.support_id = s.support_id
             and d.team_id = %(team_id)s::uuid -- tenant
             and d.space_epoch = %(space_epoch)s::bigint -- tenant
           order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    group by s.relationship_id
) s
join commonlore.relationship r on r.relationship_id = s.relationship_id
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
where r.owner_profile_id = %(owner_profile_id)s::uuid and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
limit %(most)s::integer;

-- name: standing
-- What stands of some texts in a target space: a copy, or a request for one. A request that has run out stands until it is ended.
select i.source_evidence_id, i.promotion_id, i.evidence_id, p.state, p.expires_at
from commonlore.promotion_item i
join commonlore.promotion p on p.promotion_id = i.promotion_id
where i.target_space_id = %(target_space_id)s::uuid and i.source_evidence_id = any(%(evidence_ids)s::uuid[]) and i.ended_at is null
  and i.team_id = %(team_id)s::uuid -- tenant
  and p.team_id = %(team_id)s::uuid -- tenant
order by i.source_evidence_id;

-- name: add_promotion
insert into commonlore.promotion
    (team_id, promotion_id, state, owner_profile_id, source_space_id, target_space_id, with_relationships, reason, known_from, expires_at, submission_id)
values (%(team_id)s::uuid, %(promotion_id)s::uuid, %(state)s::text, %(owner_profile_id)s::uuid, %(source_space_id)s::uuid,
        %(target_space_id)s::uuid, %(with_relationships)s::boolean, %(reason)s::text, %(now)s::timestamptz, %(expires_at)s::timestamptz,
        %(submission_id)s::uuid);

-- name: add_items
insert into commonlore.promotion_item (team_id, promotion_id, ordinal, target_space_id, source_evidence_id, evidence_id)
select %(team_id)s::uuid, %(promotion_id)s::uuid, n.ordinal - 1, %(target_space_id)s::uuid, n.source_id, n.copy_id
from unnest(%(source_ids)s::uuid[], %(copy_ids)s::uuid[]) with ordinality as n (source_id, copy_id, ordinal);

-- name: end_items
update commonlore.promotion_item i set ended_at = %(now)s::timestamptz
where i.promotion_id = %(promotion_id)s::uuid and i.ended_at is null
  and i.team_id = %(team_id)s::uuid -- tenant
;

-- name: end_expired_items
-- Requests of these texts that nobody decided in time make room for others.
update commonlore.promotion_item i set ended_at = %(now)s::timestamptz
from commonlore.promotion p
where p.promotion_id = i.promotion_id and p.state = 'requested' and p.expires_at <= %(now)s::timestamptz
  and i.target_space_id = %(target_space_id)s::uuid and i.source_evidence_id = any(%(evidence_ids)s::uuid[]) and i.ended_at is null
  and i.team_id = %(team_id)s::uuid -- tenant
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: lock_promotion
select from commonlore.promotion p
where p.promotion_id = %(promotion_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
for update;

-- name: promotion
select p.promotion_id, p.state, p.owner_profile_id, p.source_space_id, p.target_space_id, p.with_relationships, p.expires_at,
       o.retired_at is not null as owner_retired
from commonlore.promotion p
join commonlore.profile o on o.team_id = p.team_id and o.profile_id = p.owner_profile_id
where p.promotion_id = %(promotion_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
;

-- name: items
-- Of some promotions, each in the order of its request.
select i.promotion_id, i.source_evidence_id, i.evidence_id from commonlore.promotion_item i
where i.promotion_id = any(%(promotion_ids)s::uuid[])
  and i.team_id = %(team_id)s::uuid -- tenant
order by i.promotion_id, i.ordinal;

-- name: decide
update commonlore.promotion p set
    state = %(state)s::text, decided_by_profile_id = %(actor_profile_id)s::uuid, decided_at = %(now)s::timestamptz,
    decision_reason = %(reason)s::text, submission_id = %(submission_id)s::uuid
where p.promotion_id = %(promotion_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: note_copies
update commonlore.promotion_item i set evidence_id = n.copy_id
from unnest(%(source_ids)s::uuid[], %(copy_ids)s::uuid[]) as n (source_id, copy_id)
where i.promotion_id = %(promotion_id)s::uuid and i.source_evidence_id = n.source_id
  and i.team_id = %(team_id)s::uuid -- tenant
;

-- name: revoke
update commonlore.promotion p set
    state = 'revoked', revoked_by_profile_id = %(actor_profile_id)s::uuid, revoked_at = %(now)s::timestamptz, revocation_reason = %(reason)s::text
where p.promotion_id = %(promotion_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: page_promotions
-- Those of one member, and those into some spaces, the newest first.
select p.promotion_id, p.state, p.owner_profile_id, o.name as owner_name, p.source_space_id, p.target_space_id, p.reason, p.known_from, p.expires_at,
       p.decided_by_profile_id, p.decided_at, p.decision_reason, p.revoked_by_profile_id, p.revoked_at, p.revocation_reason
from commonlore.promotion p
join commonlore.profile o on o.team_id = p.team_id and o.profile_id = p.owner_profile_id
where (p.owner_profile_id = %(profile_id)s::uuid or p.target_space_id = any(%(space_ids)s::uuid[]))
  and (%(before)s::uuid is null or p.promotion_id < %(before)s::uuid)
  and (%(state)s::text is null or %(state)s::text = case when p.state = 'requested' and p.expires_at <= %(now)s::timestamptz then 'expired' else p.state end)
  and p.team_id = %(team_id)s::uuid -- tenant
order by p.promotion_id desc
limit %(limit)s::integer;

-- name: source_epoch
-- The space that a request is about, for whoever decides it.
select s.space_id, s.space_epoch from commonlore.space s
where s.space_id = %(space_id)s::uuid and s.lifecycle_state = 'active'
  and s.team_id = %(team_id)s::uuid -- tenant
;
