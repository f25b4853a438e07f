-- Authoritative rows of one relationship. Each list is by known time, then id, after a given place, one row more than a page.

-- name: relationship
-- One row, or none when the relationship is not in this space. `lineage_cycle`: what it was corrected to leads round in a circle, which
-- no write makes; the walk visits each once and found none that was not corrected itself.
with recursive corrected (relationship_id, corrected_by) as (
    select c.relationship_id, c.corrected_by
    from commonlore.relationship c
    where c.relationship_id = %(relationship_id)s::uuid
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    union
    select n.relationship_id, n.corrected_by
    from corrected w
    join commonlore.relationship n on n.relationship_id = w.corrected_by
    where n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
)
select r.relationship_id, r.owner_profile_id, o.name as owner_name, r.semantic_group_key, r.predicate_key, r.predicate_version,
       r.relationship_kind, r.current_cardinality, r.polarity, r.scope_key, r.status, r.version, r.valid_from, r.valid_to,
       r.support_count, r.source_group_count, r.known_from, r.known_to, r.corrected_by, r.identity_alias_of,
       r.subject_entity_id, subject.display_name as subject_name, subject.entity_kind as subject_kind,
       r.object_entity_id, target.display_name as object_name, target.entity_kind as object_kind,
       r.object_value_id, value.value_type, value.canonical_value, value.display, value.unit,
       not exists (select from corrected w where w.corrected_by is null) as lineage_cycle
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
where r.relationship_id = %(relationship_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: observations
select b.observation_id as id, b.known_from, b.submission_id, b.ref, b.proposal
from commonlore.relationship_observation b
where b.relationship_id = %(relationship_id)s::uuid
  and (b.known_from, b.observation_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
order by b.known_from, b.observation_id
limit %(page)s::int;

-- name: evidence_supports
select s.support_id as id, s.known_from, s.observation_id, s.verification_event_id, s.evidence_id, s.source_group_key, s.span_start,
       s.span_end, s.quote, s.authority
from commonlore.relationship_support s
where s.relationship_id = %(relationship_id)s::uuid
  and (s.known_from, s.support_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.known_from, s.support_id
limit %(page)s::int;

-- name: evidence_support_decision_events
select d.event_id as id, d.known_from, d.support_id, d.decision, d.reason, d.actor_profile_id
from commonlore.support_decision_event d
join commonlore.relationship_support s on s.support_id = d.support_id
where s.relationship_id = %(relationship_id)s::uuid
  and (d.known_from, d.event_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.known_from, d.event_id
limit %(page)s::int;

-- name: verification_events
select v.event_id as id, v.known_from, v.observation_id, v.evidence_verdict as verdict, v.verifier, v.confidence, v.rationale
from commonlore.verification_event v
join commonlore.relationship_observation b on b.observation_id = v.observation_id
where b.relationship_id = %(relationship_id)s::uuid
  and (v.known_from, v.event_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
order by v.known_from, v.event_id
limit %(page)s::int;

-- name: transitions
select t.event_id as id, t.known_from, t.from_status, t.to_status, t.version, t.reason, t.verification_event_id, t.decision_event_id
from commonlore.relationship_transition_event t
where t.relationship_id = %(relationship_id)s::uuid
  and (t.known_from, t.event_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
order by t.known_from, t.event_id
limit %(page)s::int;

-- name: evidence_lifecycle_events
select l.event_id as id, l.known_from, l.evidence_id, l.action, l.replacement_evidence_id, l.reason, l.actor_profile_id
from commonlore.evidence_lifecycle_event l
where l.evidence_id in (
      select s.evidence_id from commonlore.relationship_support s
      where s.relationship_id = %(relationship_id)s::uuid
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and (l.known_from, l.event_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and l.team_id = %(team_id)s::uuid -- tenant
  and l.space_epoch = %(space_epoch)s::bigint -- tenant
order by l.known_from, l.event_id
limit %(page)s::int;

-- name: cross_profile_references
-- The other authors' rows of the same meaning.
select r.relationship_id as id, r.known_from, r.owner_profile_id, o.name as owner_name, r.status, r.version
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id
where r.semantic_group_key = %(semantic_group_key)s::text and r.relationship_id <> %(relationship_id)s::uuid
  and (r.known_from, r.relationship_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.known_from, r.relationship_id
limit %(page)s::int;

-- name: supersession_lineage
-- What the same author held for the same one-current scope, and what this one was corrected to or from or stands for, however many
-- steps away: itself and what it replaced or was replaced by. Empty where it is alone.
with recursive chain (relationship_id) as (
    select %(relationship_id)s::uuid
    union
    select n.relationship_id
    from chain c
    cross join lateral (
        select x.target_relationship_id as relationship_id from commonlore.relationship_cross_reference x
        where x.kind = 'corrects' and x.source_relationship_id = c.relationship_id
          and x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select x.source_relationship_id from commonlore.relationship_cross_reference x
        where x.kind = 'corrects' and x.target_relationship_id = c.relationship_id
          and x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select i.target_id from commonlore.entity_correction_item i
        where i.relationship_id = c.relationship_id and i.target_id is not null
          and i.team_id = %(team_id)s::uuid -- tenant
          and i.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select i.relationship_id from commonlore.entity_correction_item i
        where i.target_id = c.relationship_id
          and i.team_id = %(team_id)s::uuid -- tenant
          and i.space_epoch = %(space_epoch)s::bigint -- tenant
    ) n
), held (relationship_id) as (
    select c.relationship_id from chain c where (select count(*) from chain) > 1
    union
    select r.relationship_id
    from commonlore.relationship r
    join commonlore.relationship x on x.relationship_id = %(relationship_id)s::uuid
    where x.current_cardinality = 'one' and r.owner_profile_id = x.owner_profile_id and r.subject_entity_id = x.subject_entity_id
      and r.predicate_key = x.predicate_key and r.polarity = x.polarity
      and r.valid_from is not distinct from x.valid_from and r.scope_key is not distinct from x.scope_key
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
      and x.team_id = %(team_id)s::uuid -- tenant
      and x.space_epoch = %(space_epoch)s::bigint -- tenant
)
select r.relationship_id as id, r.known_from, r.known_to, r.status, r.version, r.object_entity_id, r.object_value_id, r.corrected_by,
       r.identity_alias_of
from held h
join commonlore.relationship r on r.relationship_id = h.relationship_id
where (r.known_from, r.relationship_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.known_from, r.relationship_id
limit %(page)s::int;

-- name: cross_references
-- What this relationship says of others and others of it.
select x.reference_id as id, x.known_from, x.kind, x.source_relationship_id, x.source_version, x.target_relationship_id, x.target_version,
       x.author_profile_id, x.verification_event_id
from commonlore.relationship_cross_reference x
where x.reference_id in (
      select s.reference_id from commonlore.relationship_cross_reference s
      where s.source_relationship_id = %(relationship_id)s::uuid
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
      union all
      select t.reference_id from commonlore.relationship_cross_reference t
      where t.target_relationship_id = %(relationship_id)s::uuid
        and t.team_id = %(team_id)s::uuid -- tenant
        and t.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and (x.known_from, x.reference_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and x.team_id = %(team_id)s::uuid -- tenant
  and x.space_epoch = %(space_epoch)s::bigint -- tenant
order by x.known_from, x.reference_id
limit %(page)s::int;

-- name: identity_corrections
-- Merges, splits, reversals and new names of the entities at both ends, with what each did to this relationship.
select c.correction_id as id, c.known_from, c.action, c.from_entity_id, c.to_entity_id, c.reverses_id, c.reason, c.actor_profile_id,
       i.effect, i.relationship_id, i.target_id
from commonlore.relationship r
join commonlore.entity_correction c
  on c.from_entity_id in (r.subject_entity_id, r.object_entity_id) or c.to_entity_id in (r.subject_entity_id, r.object_entity_id)
left join commonlore.entity_correction_item i
  on i.team_id = c.team_id and i.space_epoch = c.space_epoch and i.correction_id = c.correction_id
     and r.relationship_id in (i.relationship_id, i.target_id)
where r.relationship_id = %(relationship_id)s::uuid
  and (c.known_from, c.correction_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.known_from, c.correction_id
limit %(page)s::int;

-- name: evidence
-- The cited texts, by id: the first 999 characters, the hash and where each comes from.
select e.evidence_id, left(e.content, 999) as content, length(e.content) > 999 as content_truncated, e.content_sha256, e.source_type,
       e.authority, e.source, e.source_group, e.speaker, e.session, e.sequence, e.occurred_at, e.known_from, e.labels, e.metadata,
       e.owner_profile_id,
       (select count(*) from commonlore.evidence_occurrence c
        where c.evidence_id = e.evidence_id
          and c.team_id = %(team_id)s::uuid -- tenant
          and c.space_epoch = %(space_epoch)s::bigint -- tenant
       ) + 1 as occurrences,
       (select array_agg(x.reason order by x.reason) from commonlore.evidence_exclusion x
        where x.evidence_id = e.evidence_id
          and x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as exclusions
from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: search_documents
select d.generation, d.source_version, d.search_state, d.document_text
from commonlore.relationship_document d
where d.relationship_id = %(relationship_id)s::uuid
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.generation;

-- name: neighbours
-- Eligible relationships that touch one of the entities and were not seen yet, newest first, then id.
select r.relationship_id, r.predicate_key, r.polarity, r.subject_entity_id, subject.display_name as subject_name, subject.entity_kind as subject_kind,
       r.object_entity_id, target.display_name as object_name, target.entity_kind as object_kind,
       r.object_value_id, value.display as value_display, r.known_from
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and (r.subject_entity_id = any(%(entity_ids)s::uuid[]) or r.object_entity_id = any(%(entity_ids)s::uuid[]))
  and r.relationship_id <> all(%(seen_ids)s::uuid[])
  and (cardinality(%(predicate_keys)s::text[]) = 0 or r.predicate_key = any(%(predicate_keys)s::text[]))
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.known_from desc, r.relationship_id
limit %(depth)s::int;
