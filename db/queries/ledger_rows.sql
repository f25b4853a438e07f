-- Rows of one call, each kind as one JSON recordset whose fields are named as the columns.

-- name: entities
with entity as (
    insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, r.entity_id, r.entity_kind, 'active', 1, %(now)s::timestamptz
    from jsonb_to_recordset(%(rows)s::text::jsonb) as r (entity_id uuid, entity_kind text)
)
insert into commonlore.entity_name
    (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.entity_name_id, r.entity_id, r.entity_kind, r.display_name, r.name_key, 'canonical',
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (entity_name_id uuid, entity_id uuid, entity_kind text, display_name text, name_key text);

-- name: names
-- Aliases that a text taught.
insert into commonlore.entity_name
    (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, evidence_id, span_start, span_end, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.entity_name_id, r.entity_id, r.entity_kind, r.display_name, r.name_key, 'alias',
       r.evidence_id, r.span_start, r.span_end, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (entity_name_id uuid, entity_id uuid, entity_kind text, display_name text, name_key text, evidence_id uuid, span_start int, span_end int);

-- name: resolutions
insert into commonlore.entity_resolution_event
    (team_id, space_epoch, event_id, submission_id, mention_ref, name, entity_kind, action, entity_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, %(submission_id)s::uuid, r.mention_ref, r.name, r.entity_kind, r.action,
       r.entity_id, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (event_id uuid, mention_ref text, name text, entity_kind text, action text, entity_id uuid);

-- name: values
insert into commonlore.value_record
    (team_id, space_epoch, value_id, value_type, canonical_value, unit, display, normalization_version, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.value_id, r.value_type, r.canonical_value, r.unit, r.display, r.normalization_version,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (value_id uuid, value_type text, canonical_value text, unit text, display text, normalization_version int);

-- name: predicates
with definition as (
    insert into commonlore.predicate_definition
        (team_id, space_epoch, predicate_key, version, aliases, subject_kinds, object_kinds, relationship_kind, current_cardinality,
         lifecycle_state, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, r.predicate_key, r.version, r.aliases, r.subject_kinds, r.object_kinds,
           r.relationship_kind, r.current_cardinality, 'active', %(now)s::timestamptz
    from jsonb_to_recordset(%(rows)s::text::jsonb)
        as r (predicate_key text, version int, aliases text[], subject_kinds text[], object_kinds text[], relationship_kind text,
              current_cardinality text)
)
insert into commonlore.predicate_registration_event
    (team_id, space_epoch, event_id, predicate_key, version, policy, submission_id, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.predicate_key, r.version, r.policy, %(submission_id)s::uuid,
       %(profile_id)s::uuid, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (event_id uuid, predicate_key text, version int, policy text);

-- name: changed
-- Counts follow in `recount`. A writer that began earlier may end a row that was written after it began: no row ends before
-- it begins. Rows that end are given before rows that begin, so that the one-current rule holds at each step.
update commonlore.relationship t
set status = r.status, valid_to = r.valid_to, version = r.version,
    known_to = case when r.known_to is not null then greatest(r.known_to, t.known_from) end,
    corrected_by = case when r.status <> 'active' then t.corrected_by end
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, status text, valid_to timestamptz, version int, known_to timestamptz)
where t.relationship_id = r.relationship_id
  and t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: relationships
insert into commonlore.relationship
    (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key, predicate_version,
     object_entity_id, object_value_id, relationship_kind, current_cardinality, status, polarity, scope_key, valid_from, valid_to,
     support_count, source_group_count, version, known_from, known_to)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.relationship_id, %(profile_id)s::uuid, r.semantic_group_key, r.subject_entity_id,
       r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id, r.relationship_kind, r.current_cardinality, r.status,
       r.polarity, r.scope_key, r.valid_from, r.valid_to, r.support_count, r.source_group_count, r.version, %(now)s::timestamptz, r.known_to
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, semantic_group_key text, subject_entity_id uuid, predicate_key text, predicate_version int,
          object_entity_id uuid, object_value_id uuid, relationship_kind text, current_cardinality text, status text, polarity text,
          scope_key text, valid_from timestamptz, valid_to timestamptz, support_count int, source_group_count int, version int,
          known_to timestamptz);

-- name: observations
insert into commonlore.relationship_observation
    (team_id, space_epoch, observation_id, submission_id, relationship_id, ref, proposal, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.observation_id, %(submission_id)s::uuid, r.relationship_id, r.ref, r.proposal,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (observation_id uuid, relationship_id uuid, ref text, proposal jsonb);

-- name: verifications
insert into commonlore.verification_event
    (team_id, space_epoch, event_id, observation_id, evidence_verdict, verifier, confidence, rationale, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.observation_id, r.evidence_verdict, r.verifier, r.confidence, r.rationale,
       %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (event_id uuid, observation_id uuid, evidence_verdict text, verifier text, confidence real, rationale text);

-- name: supports
with support as (
    insert into commonlore.relationship_support
        (team_id, space_epoch, support_id, relationship_id, observation_id, verification_event_id, evidence_id, source_group_key,
         span_start, span_end, quote, authority, copied_from, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, r.support_id, r.relationship_id, r.observation_id, r.verification_event_id,
           r.evidence_id, r.source_group_key, r.span_start, r.span_end, r.quote, r.authority, r.copied_from, %(now)s::timestamptz
    from jsonb_to_recordset(%(rows)s::text::jsonb)
        as r (support_id uuid, relationship_id uuid, observation_id uuid, verification_event_id uuid, evidence_id uuid,
              source_group_key text, span_start int, span_end int, quote text, authority text, copied_from uuid)
)
insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.decision_event_id, r.support_id, 'grant',
       case when r.copied_from is null then 'verified' else 'copied' end, %(profile_id)s::uuid, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (decision_event_id uuid, support_id uuid, copied_from uuid);

-- name: decisions
insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.support_id, r.decision, r.reason, %(profile_id)s::uuid, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (event_id uuid, support_id uuid, decision text, reason text);

-- name: references
insert into commonlore.relationship_cross_reference
    (team_id, space_epoch, reference_id, author_profile_id, source_relationship_id, source_version, target_relationship_id, target_version,
     kind, verification_event_id, submission_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.reference_id, %(profile_id)s::uuid, r.source_relationship_id, r.source_version,
       r.target_relationship_id, r.target_version, r.kind, r.verification_event_id, %(submission_id)s::uuid, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (reference_id uuid, source_relationship_id uuid, source_version int, target_relationship_id uuid, target_version int, kind text,
          verification_event_id uuid);

-- name: corrected
-- What was corrected names what stands in its place: a view of valid time leaves it out, since it never held.
update commonlore.relationship t
set corrected_by = r.source_relationship_id
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (source_relationship_id uuid, target_relationship_id uuid)
where t.relationship_id = r.target_relationship_id
  and t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: transitions
insert into commonlore.relationship_transition_event
    (team_id, space_epoch, event_id, relationship_id, from_status, to_status, version, reason, verification_event_id, valid_to, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.relationship_id, r.from_status, r.to_status, r.version, r.reason,
       r.verification_event_id, t.valid_to, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (event_id uuid, relationship_id uuid, from_status text, to_status text, version int, reason text, verification_event_id uuid)
join commonlore.relationship t on t.relationship_id = r.relationship_id
where t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: recount
-- Counts of effective supports from the events: the latest decision grants, and the evidence is not withdrawn.
update commonlore.relationship t
set support_count = c.supports, source_group_count = c.source_groups
from (
    select r.relationship_id, count(s.support_id) as supports, count(distinct s.source_group_key) as source_groups
    from unnest(%(relationship_ids)s::uuid[]) as r (relationship_id)
    left join commonlore.relationship_support s
      on s.relationship_id = r.relationship_id
         and s.team_id = %(team_id)s::uuid -- tenant
         and s.space_epoch = %(space_epoch)s::bigint -- tenant
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
    group by r.relationship_id
) c
where t.relationship_id = c.relationship_id
  and t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: settle_eligibility
-- Evidence of the relationships that has granted paths and none active is not eligible (decisions.md 5); what has an active path again, or
-- no granted one left, is. A path is granted by its latest decision, and active with its relationship while the author is: as a recall
-- hydrates it. Each text is asked by itself, by the index of supports, and not all supports joined with all, as on a young table.
with touched as materialized (
    select e.evidence_id,
           (select bool_or(r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null and o.retired_at is null)
            from commonlore.relationship_support p
            join commonlore.relationship r using (team_id, space_epoch, relationship_id)
            join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id
            where p.evidence_id = e.evidence_id
              and (select d.decision from commonlore.support_decision_event d
                   where d.support_id = p.support_id
                     and d.team_id = %(team_id)s::uuid -- tenant
                     and d.space_epoch = %(space_epoch)s::bigint -- tenant
                   order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
              and p.team_id = %(team_id)s::uuid -- tenant
              and p.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_active
    from (
        select distinct s.evidence_id from commonlore.relationship_support s
        where s.relationship_id = any(%(relationship_ids)s::uuid[])
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
    ) e
), released as (
    delete from commonlore.evidence_exclusion x
    where x.reason = 'unsupported'
      and x.evidence_id = any(array(select t.evidence_id from touched t where t.has_active is distinct from false))
      and x.team_id = %(team_id)s::uuid -- tenant
      and x.space_epoch = %(space_epoch)s::bigint -- tenant
)
insert into commonlore.evidence_exclusion (team_id, space_epoch, evidence_id, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, t.evidence_id, 'unsupported', %(now)s::timestamptz
from touched t
where t.has_active = false
on conflict do nothing;

-- name: documents
-- New documents, and new texts of those that stand already; each waits for its vector until `document_vectors`.
insert into commonlore.relationship_document
    (team_id, space_epoch, generation, relationship_id, source_version, document_text, search_state)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, r.relationship_id, r.source_version, r.document_text, r.search_state
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, source_version int, document_text text, search_state text)
on conflict (team_id, space_epoch, generation, relationship_id) do update
set source_version = excluded.source_version, document_text = excluded.document_text, search_state = excluded.search_state,
    attempts = 0, error_code = null;

-- name: document_texts
-- What documents of a generation say now.
select d.relationship_id, d.document_text
from commonlore.relationship_document d
where d.generation = %(generation)s::int and d.relationship_id = any(%(relationship_ids)s::uuid[])
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_vectors
-- The vectors of documents whose text changed, removed before the new ones are written.
delete from commonlore.relationship_vector_1 v
where v.generation = %(generation)s::int and v.relationship_id = any(%(relationship_ids)s::uuid[])
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: document_statistics
insert into commonlore.relationship_statistic (team_id, space_epoch, generation, statistic_id, documents, length)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, %(statistic_id)s::uuid, %(documents)s::bigint, %(length)s::bigint);

-- name: document_vectors
insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, v.*
from unnest(%(relationship_ids)s::uuid[], %(embeddings)s::halfvec[]) as v;
