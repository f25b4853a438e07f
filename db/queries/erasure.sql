-- Erasure inside the request: what is meant, what hangs on it, and what is taken out of the way of later writes. Hidden rows are invisible to these
-- statements as to every other, so what they see after a step is what is left.

-- name: begin_erasure
insert into commonlore.erasure
    (team_id, erasure_id, target_kind, target_id, target_sha256, reason, actor_profile_id, actor_credential_id, state, known_from, purge_at)
values (%(team_id)s::uuid, %(erasure_id)s::uuid, %(target_kind)s::text, %(target_id)s::uuid, %(target_sha256)s::bytea, %(reason)s::text,
        %(actor_profile_id)s::uuid, %(actor_credential_id)s::uuid, %(state)s::text, %(now)s::timestamptz, %(purge_at)s::timestamptz);

-- name: add_scope
insert into commonlore.erasure_scope (team_id, erasure_id, space_epoch, space_id, extent)
values (%(team_id)s::uuid, %(erasure_id)s::uuid, %(epoch)s::bigint, %(space_id)s::uuid, %(extent)s::text)
on conflict do nothing;

-- name: add_items
insert into commonlore.erasure_item (team_id, space_epoch, erasure_id, item_id, item_kind)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(erasure_id)s::uuid, i.item_id, %(item_kind)s::text
from unnest(%(item_ids)s::uuid[]) as i (item_id)
on conflict do nothing;

-- name: add_samples
insert into commonlore.erasure_sample (team_id, space_epoch, erasure_id, sample_kind, sample)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(erasure_id)s::uuid, %(sample_kind)s::text, s.sample
from unnest(%(samples)s::text[]) as s (sample)
on conflict do nothing;

-- name: hide_rows
select commonlore.hide_rows(%(table_name)s::text, %(key_column)s::text, %(erasure_id)s::uuid, %(keys)s::uuid[]) as row_count;

-- name: evidence_by_id
select e.evidence_id from commonlore.evidence e
where e.evidence_id = %(target_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: evidence_of_source
select e.evidence_id from commonlore.evidence e
where e.source_id = %(target_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: evidence_of_profile
select e.evidence_id from commonlore.evidence e
where e.owner_profile_id = %(target_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: occurrences_of_profile
-- Later sightings of a member in texts that others stored first.
select o.occurrence_id from commonlore.submission b
join commonlore.evidence_occurrence o on o.submission_id = b.submission_id
where b.profile_id = %(target_id)s::uuid
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by o.occurrence_id;

-- name: relationships_of_profile
select r.relationship_id from commonlore.relationship r
where r.owner_profile_id = %(target_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;

-- name: relationships_of_subject
-- Every relationship that has the entity at an end.
select r.relationship_id from commonlore.relationship r
where (r.subject_entity_id = %(target_id)s::uuid or r.object_entity_id = %(target_id)s::uuid)
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;

-- name: evidence_of_relationships
select distinct s.evidence_id from commonlore.relationship_support s
where s.relationship_id = any(%(relationship_ids)s::uuid[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.evidence_id;

-- name: entity_names
-- Every name that the entity has or had in the space; none where it is not there.
select n.display_name from commonlore.entity_name n
where n.entity_id = %(target_id)s::uuid
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.display_name;

-- name: evidence_that_names
-- Texts in which one of the names stands, in any case of its letters. Every text of the space is read.
select e.evidence_id from commonlore.evidence e
where exists (select from unnest(%(names)s::text[]) as n (name) where position(lower(n.name) in lower(e.content)) > 0)
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id;

-- name: read_texts
-- Samples of what goes, a fixed choice by id: the text and its hash. All of the open epoch where no ids are given.
select e.content, encode(e.content_sha256, 'hex') as digest from commonlore.evidence e
where (%(evidence_ids)s::uuid[] is null or e.evidence_id = any(%(evidence_ids)s::uuid[]))
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id
limit %(limit)s::int;

-- name: submissions_of
-- The calls that brought the texts, saw them again, or took them back.
select e.submission_id from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
union
select o.submission_id from commonlore.evidence_occurrence o
where (o.evidence_id = any(%(evidence_ids)s::uuid[]) or o.occurrence_id = any(%(occurrence_ids)s::uuid[]))
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
union
select l.submission_id from commonlore.evidence_lifecycle_event l
where (l.evidence_id = any(%(evidence_ids)s::uuid[]) or l.replacement_evidence_id = any(%(evidence_ids)s::uuid[])) and l.submission_id is not null
  and l.team_id = %(team_id)s::uuid -- tenant
  and l.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: strike_answers
-- The stored answer, the key and the hash of the request go; a repetition is another call.
update commonlore.submission b
set result = null, idempotency_key = null, request_sha256 = decode(repeat('00', 32), 'hex')
where b.submission_id = any(%(submission_ids)s::uuid[])
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: strike_promotions
-- What was said as the reason of promotions of the texts or of their copies, of a member, or into or out of spaces that go whole. Ids and times stay.
update commonlore.promotion p set reason = null, decision_reason = null, revocation_reason = null
where (p.owner_profile_id = %(profile_id)s::uuid
       or p.source_space_id = any(%(space_ids)s::uuid[]) or p.target_space_id = any(%(space_ids)s::uuid[])
       or exists (
           select from commonlore.promotion_item i
           where i.promotion_id = p.promotion_id
             and (i.source_evidence_id = any(%(evidence_ids)s::uuid[]) or i.evidence_id = any(%(evidence_ids)s::uuid[]))
             and i.team_id = %(team_id)s::uuid -- tenant
       ))
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: supports_of
select s.support_id, s.relationship_id, s.observation_id from commonlore.relationship_support s
where (s.evidence_id = any(%(evidence_ids)s::uuid[]) or s.relationship_id = any(%(relationship_ids)s::uuid[]))
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.support_id;

-- name: bare_observations
-- Proposals that no support is left of: those whose supports went, and those that rest on texts which go and on no other of their call.
select o.observation_id, o.relationship_id, o.submission_id from commonlore.relationship_observation o
where (o.observation_id = any(%(observation_ids)s::uuid[])
       or o.relationship_id = any(%(relationship_ids)s::uuid[])
       or o.submission_id = any(%(submission_ids)s::uuid[]) and not exists (
           select from commonlore.evidence e
           where e.submission_id = o.submission_id and e.evidence_id <> all(%(evidence_ids)s::uuid[])
             and (jsonb_typeof(o.proposal -> 'evidence_indices') is distinct from 'array' or o.proposal -> 'evidence_indices' @> to_jsonb(e.evidence_index))
             and e.team_id = %(team_id)s::uuid -- tenant
             and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ))
  and not exists (
      select from commonlore.relationship_support s
      where s.observation_id = o.observation_id
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by o.observation_id;

-- name: bare_relationships
-- Of the relationships, those of which neither a support nor a proposal is left; and those that stood for one of the given ones that go for good.
select r.relationship_id, r.subject_entity_id, r.object_entity_id, r.object_value_id from commonlore.relationship r
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and not exists (
      select from commonlore.relationship_support s
      where s.relationship_id = r.relationship_id
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and not exists (
      select from commonlore.relationship_observation o
      where o.relationship_id = r.relationship_id
        and o.team_id = %(team_id)s::uuid -- tenant
        and o.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;

-- name: free_identities
-- A hidden row holds no place that a later statement of the same may want.
update commonlore.relationship r set identity_alias_of = r.relationship_id
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: free_texts
update commonlore.evidence e set duplicate_sha256 = null
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: free_values
update commonlore.value_record v set canonical_value = 'erased:' || v.value_id
where v.value_id = any(%(value_ids)s::uuid[])
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: free_cases
update commonlore.conflict_case c set case_key = 'erased:' || c.conflict_id
where c.conflict_id = any(%(conflict_ids)s::uuid[])
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: references_of
select f.reference_id from commonlore.relationship_cross_reference f
where (f.source_relationship_id = any(%(relationship_ids)s::uuid[]) or f.target_relationship_id = any(%(relationship_ids)s::uuid[]))
  and f.team_id = %(team_id)s::uuid -- tenant
  and f.space_epoch = %(space_epoch)s::bigint -- tenant
order by f.reference_id;

-- name: corrections_of
select c.submission_id from commonlore.relationship_correction c
where (c.relationship_id = any(%(relationship_ids)s::uuid[]) or c.successor_id = any(%(relationship_ids)s::uuid[]))
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.submission_id;

-- name: learned_names
-- Names that only the texts gave to entities which stay; the one that an entity is shown by stays with it.
select n.entity_name_id from commonlore.entity_name n
where n.evidence_id = any(%(evidence_ids)s::uuid[]) and n.name_kind <> 'canonical'
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_name_id;

-- name: forget_places
-- Names that stay forget the text that gave them.
update commonlore.entity_name n set evidence_id = null, span_start = null, span_end = null
where n.evidence_id = any(%(evidence_ids)s::uuid[])
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: names_of
select n.entity_name_id from commonlore.entity_name n
where n.entity_id = any(%(entity_ids)s::uuid[])
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_name_id;

-- name: resolved_by
-- Entities that calls of which nothing is left have made, and what was noted of it.
select v.event_id, v.entity_id from commonlore.entity_resolution_event v
where v.submission_id = any(%(submission_ids)s::uuid[])
  and not exists (
      select from commonlore.evidence e
      where e.submission_id = v.submission_id
        and e.team_id = %(team_id)s::uuid -- tenant
        and e.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by v.event_id;

-- name: bare_entities
-- Of the entities, those that no relationship and no conflict is left of.
select n.entity_id from commonlore.entity n
where n.entity_id = any(%(entity_ids)s::uuid[])
  and not exists (
      select from commonlore.relationship r
      where (r.subject_entity_id = n.entity_id or r.object_entity_id = n.entity_id)
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and not exists (
      select from commonlore.conflict_position p
      where p.object_entity_id = n.entity_id
        and p.team_id = %(team_id)s::uuid -- tenant
        and p.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_id;

-- name: bare_values
select v.value_id from commonlore.value_record v
where v.value_id = any(%(value_ids)s::uuid[])
  and not exists (
      select from commonlore.relationship r
      where r.object_value_id = v.value_id
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and not exists (
      select from commonlore.conflict_position p
      where p.object_value_id = v.value_id
        and p.team_id = %(team_id)s::uuid -- tenant
        and p.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
order by v.value_id;

-- name: cases_of
-- Cases that the texts or relationships have a part in.
select m.conflict_id from commonlore.conflict_member m
where (m.evidence_id = any(%(evidence_ids)s::uuid[]) or m.relationship_id = any(%(relationship_ids)s::uuid[]))
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
union
select q.conflict_id from commonlore.conflict_quote q
where q.evidence_id = any(%(evidence_ids)s::uuid[])
  and q.team_id = %(team_id)s::uuid -- tenant
  and q.space_epoch = %(space_epoch)s::bigint -- tenant
order by 1;

-- name: members_of
select m.support_id from commonlore.conflict_member m
where (m.evidence_id = any(%(evidence_ids)s::uuid[]) or m.relationship_id = any(%(relationship_ids)s::uuid[]))
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
order by m.support_id;

-- name: quotes_of
-- The sides of cases that quote the texts.
select q.position_id from commonlore.conflict_quote q
where q.evidence_id = any(%(evidence_ids)s::uuid[])
  and q.team_id = %(team_id)s::uuid -- tenant
  and q.space_epoch = %(space_epoch)s::bigint -- tenant
order by q.position_id;

-- name: bare_positions
-- Positions of the cases that no member is left of.
select p.position_id from commonlore.conflict_position p
where p.conflict_id = any(%(conflict_ids)s::uuid[])
  and not exists (
      select from commonlore.conflict_member m
      where m.position_id = p.position_id
        and m.team_id = %(team_id)s::uuid -- tenant
        and m.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
order by p.position_id;

-- name: bare_cases
-- Of the cases, those that fewer than two sides are left of, and those that preferred a side which went.
select c.conflict_id from commonlore.conflict_case c
where c.conflict_id = any(%(conflict_ids)s::uuid[])
  and ((select count(*) from commonlore.conflict_position p
        where p.conflict_id = c.conflict_id
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) + (select count(*) from commonlore.conflict_quote q
        where q.conflict_id = c.conflict_id
          and q.team_id = %(team_id)s::uuid -- tenant
          and q.space_epoch = %(space_epoch)s::bigint -- tenant
       ) < 2
       or c.preferred_position_id is not null and not exists (
           select from commonlore.conflict_position p
           where p.position_id = c.preferred_position_id
             and p.team_id = %(team_id)s::uuid -- tenant
             and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) and not exists (
           select from commonlore.conflict_quote q
           where q.position_id = c.preferred_position_id
             and q.team_id = %(team_id)s::uuid -- tenant
             and q.space_epoch = %(space_epoch)s::bigint -- tenant
       ))
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.conflict_id;

-- name: hypotheses_of
select h.hypothesis_id from commonlore.hypothesis_source h
where (h.relationship_id = any(%(relationship_ids)s::uuid[]) or h.support_id = any(%(support_ids)s::uuid[]))
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
union
select h.hypothesis_id from commonlore.hypothesis h
where (h.subject_entity_id = any(%(entity_ids)s::uuid[]) or h.object_entity_id = any(%(entity_ids)s::uuid[]))
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
order by 1;

-- name: summaries_of
-- Composed sentences that quote the texts.
select d.community_id from commonlore.delegated_summary d
where d.evidence_ids && %(evidence_ids)s::uuid[]
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.community_id;

-- name: unpublish_communities
-- The published snapshot, where the relationships are members of it: the next run finds what belongs together without them.
update commonlore.community_gate g set snapshot_id = null, published_at = null, stale_from = null
where g.snapshot_id is not null
  and exists (
      select from commonlore.relationship r
      join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
      where r.relationship_id = any(%(relationship_ids)s::uuid[]) and m.snapshot_id = g.snapshot_id
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
        and m.team_id = %(team_id)s::uuid -- tenant
        and m.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
returning g.enabled;

-- name: sources_of
-- Sources that no text is left of, once the texts are hidden.
select s.source_id from commonlore.evidence_source s
where s.source_id = any(%(source_ids)s::uuid[])
  and not exists (
      select from commonlore.evidence e
      where e.source_id = s.source_id
        and e.team_id = %(team_id)s::uuid -- tenant
        and e.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.source_id;

-- name: source_ids_of
select distinct e.source_id from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[]) and e.source_id is not null
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.source_id;

-- name: predicates_of
-- Predicates that the calls brought in by using them.
select distinct p.predicate_key from commonlore.predicate_registration_event p
where p.submission_id = any(%(submission_ids)s::uuid[]) and p.policy = 'open_vocabulary_v1'
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
order by p.predicate_key;

-- name: exclude_erased
insert into commonlore.evidence_exclusion (team_id, space_epoch, evidence_id, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, x.evidence_id, 'erased', %(now)s::timestamptz
from unnest(%(evidence_ids)s::uuid[]) as x (evidence_id)
on conflict do nothing;

-- name: note_erased
insert into commonlore.evidence_lifecycle_event
    (team_id, space_epoch, event_id, evidence_id, action, replacement_evidence_id, reason, actor_profile_id, submission_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, l.event_id, l.evidence_id, 'erase', null, 'erased', %(actor_profile_id)s::uuid, null,
       %(now)s::timestamptz
from unnest(%(event_ids)s::uuid[], %(evidence_ids)s::uuid[]) as l (event_id, evidence_id);
