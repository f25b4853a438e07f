-- Corrections of relationships by their author.

-- name: has_relationship
select r.relationship_id from commonlore.relationship r
where r.relationship_id = %(relationship_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_source
-- One relationship with its ends, the newest definition of its predicate, its document and the supports whose latest decision
-- grants, each with whether its evidence is withdrawn: such a one does not count now.
select r.relationship_id, r.owner_profile_id, r.subject_entity_id, r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id,
       r.polarity, r.scope_key, r.valid_from, r.valid_to, r.status, r.version, r.relationship_kind, r.current_cardinality, r.known_to,
       subject.display_name as subject_name, subject.entity_kind as subject_kind,
       target.display_name as object_name, target.entity_kind as object_kind,
       value.value_type, value.canonical_value, value.display, value.unit,
       p.version as newest_version, p.aliases, p.subject_kinds, p.object_kinds, p.relationship_kind as newest_kind,
       p.current_cardinality as newest_cardinality, p.lifecycle_state,
       d.document_text,
       (select coalesce(jsonb_agg(jsonb_build_array(s.support_id, s.evidence_id, s.source_group_key, s.span_start, s.span_end, s.quote, s.authority,
                                                    exists (
                   select from commonlore.evidence_exclusion x
                   where x.evidence_id = s.evidence_id and x.reason <> 'unsupported'
                     and x.team_id = %(team_id)s::uuid -- tenant
                     and x.space_epoch = %(space_epoch)s::bigint -- tenant
               )) order by s.known_from, s.support_id), '[]')
        from commonlore.relationship_support s
        where s.relationship_id = r.relationship_id
          and (select e.decision from commonlore.support_decision_event e
               where e.support_id = s.support_id
                 and e.team_id = %(team_id)s::uuid -- tenant
                 and e.space_epoch = %(space_epoch)s::bigint -- tenant
               order by e.known_from desc, e.event_id desc limit 1) in ('grant', 'reinstate')
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as supports
from commonlore.relationship r
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
left join commonlore.relationship_document d
  on d.team_id = r.team_id and d.space_epoch = r.space_epoch and d.relationship_id = r.relationship_id
     and d.generation = %(generation)s::int
cross join lateral (
    select q.version, q.aliases, q.subject_kinds, q.object_kinds, q.relationship_kind, q.current_cardinality, q.lifecycle_state
    from commonlore.predicate_definition q
    where q.predicate_key = r.predicate_key
      and q.team_id = %(team_id)s::uuid -- tenant
      and q.space_epoch = %(space_epoch)s::bigint -- tenant
    order by q.version desc limit 1
) p
where r.relationship_id = %(relationship_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_targets
-- The author's own canonical relationships among the ids, locked, as `read_relationships` gives them.
select r.relationship_id, r.subject_entity_id, r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id, r.polarity,
       r.scope_key, r.valid_from, r.valid_to, r.status, r.version, r.relationship_kind, r.current_cardinality, r.known_to,
       d.document_text,
       (select coalesce(jsonb_agg(jsonb_build_array(s.support_id, s.evidence_id, s.span_start, s.span_end, s.source_group_key, (
                   select d.decision from commonlore.support_decision_event d
                   where d.support_id = s.support_id
                     and d.team_id = %(team_id)s::uuid -- tenant
                     and d.space_epoch = %(space_epoch)s::bigint -- tenant
                   order by d.known_from desc, d.event_id desc limit 1))), '[]')
        from commonlore.relationship_support s
        where s.relationship_id = r.relationship_id
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as supports
from commonlore.relationship r
left join commonlore.relationship_document d
  on d.team_id = r.team_id and d.space_epoch = r.space_epoch and d.relationship_id = r.relationship_id
     and d.generation = %(generation)s::int
where r.relationship_id = any(%(relationship_ids)s::uuid[]) and r.owner_profile_id = %(profile_id)s::uuid and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
for update of r;

-- name: read_revoked
-- Supports of a relationship whose latest decision is a revocation.
select s.support_id, s.evidence_id, s.span_start, s.span_end
from commonlore.relationship_support s
where s.relationship_id = %(relationship_id)s::uuid
  and (select e.decision from commonlore.support_decision_event e
       where e.support_id = s.support_id
         and e.team_id = %(team_id)s::uuid -- tenant
         and e.space_epoch = %(space_epoch)s::bigint -- tenant
       order by e.known_from desc, e.event_id desc limit 1) = 'revoke'
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.support_id;

-- name: find_correction
-- A correction of the author's own.
select c.relationship_id, c.expected_version, c.request, c.support_set_sha256, c.state, c.token_sha256, c.expires_at
from commonlore.relationship_correction c
where c.submission_id = %(submission_id)s::uuid and c.owner_profile_id = %(profile_id)s::uuid and c.token_sha256 is not null
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: keep_correction
insert into commonlore.relationship_correction
    (team_id, space_epoch, submission_id, owner_profile_id, relationship_id, expected_version, request, support_set_sha256, state, candidates,
     token_sha256, expires_at, successor_id, known_from, concluded_at)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(submission_id)s::uuid, %(profile_id)s::uuid, %(relationship_id)s::uuid,
        %(expected_version)s::int, %(request)s::text::jsonb, %(support_set_sha256)s::bytea, %(state)s::text, %(candidates)s::text::jsonb,
        %(token_sha256)s::bytea, %(expires_at)s::timestamptz, %(successor_id)s::uuid, %(now)s::timestamptz, %(concluded_at)s::timestamptz);

-- name: conclude_correction
update commonlore.relationship_correction c
set state = %(state)s::text, successor_id = %(successor_id)s::uuid, reason_code = %(reason_code)s::text, concluded_at = %(now)s::timestamptz
where c.submission_id = %(submission_id)s::uuid and c.state = 'awaiting_confirmation'
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: follow_merged
-- Where each of the retired entities lives on: the active entity at the end of its merges.
with recursive step (asked_id, entity_id, hops) as (
    select e.entity_id, e.merged_into, 1
    from commonlore.entity e
    where e.entity_id = any(%(entity_ids)s::uuid[]) and e.status = 'retired' and e.merged_into is not null
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select s.asked_id, e.merged_into, s.hops + 1
    from step s
    join commonlore.entity e on e.entity_id = s.entity_id
    where e.status = 'retired' and e.merged_into is not null and s.hops < 32
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
)
select s.asked_id, e.entity_id
from step s
join commonlore.entity e on e.entity_id = s.entity_id
where e.status = 'active'
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.asked_id;
