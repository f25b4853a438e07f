-- Merges and splits of entities, their names, and what takes them back.

-- name: read_entity
-- An entity with its canonical name, locked.
select e.entity_id, e.entity_kind, e.status, e.version, e.merged_into, n.display_name as name, n.name_key, n.entity_name_id
from commonlore.entity e
join commonlore.entity_name n
  on n.team_id = e.team_id and n.space_epoch = e.space_epoch and n.entity_id = e.entity_id
     and n.name_kind = 'canonical' and n.known_to is null
where e.entity_id = %(entity_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
for update of e;

-- name: namesakes
-- Other active entities that carry a name now, by id, the first hundred. Index: `entity_name_lookup`.
select distinct n.entity_id
from commonlore.entity_name n
join commonlore.entity e on e.entity_id = n.entity_id
where n.name_key = %(name_key)s::text and n.known_to is null and n.name_kind <> 'former'
  and e.status = 'active' and n.entity_id <> %(entity_id)s::uuid
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_id
limit 100;

-- name: current_names
-- Every name that an active entity carries now, by entity.
select n.entity_name_id, n.entity_id, n.entity_kind, n.display_name as name, n.name_key, n.name_kind, n.correction_id
from commonlore.entity_name n
join commonlore.entity e on e.entity_id = n.entity_id
where e.status = 'active' and n.known_to is null and n.name_kind <> 'former'
  and (%(entity_id)s::uuid is null or n.entity_id = %(entity_id)s::uuid)
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_id, n.name_key, n.entity_name_id
limit %(most)s::int;

-- name: related_ids
-- Canonical relationships that name the entity at either end, by id.
select r.relationship_id from commonlore.relationship r
where r.subject_entity_id = %(entity_id)s::uuid and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
union
select r.relationship_id from commonlore.relationship r
where r.object_entity_id = %(entity_id)s::uuid and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by relationship_id;

-- name: meeting_ids
-- Canonical relationships of an entity that may meet one of the others: of the same author and predicate; by id.
select r.relationship_id from commonlore.relationship r
where (r.subject_entity_id = %(entity_id)s::uuid or r.object_entity_id = %(entity_id)s::uuid) and r.identity_alias_of is null
  and r.relationship_id <> all(%(relationship_ids)s::uuid[])
  and (r.owner_profile_id, r.predicate_key) in (
      select m.owner_profile_id, m.predicate_key from commonlore.relationship m
      where m.relationship_id = any(%(relationship_ids)s::uuid[])
        and m.team_id = %(team_id)s::uuid -- tenant
        and m.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;

-- name: read_held
-- Relationships as they stand, with every support: its place, whether its latest decision grants and whether its evidence counts; by id.
select r.relationship_id, r.owner_profile_id, r.subject_entity_id, r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id,
       r.polarity, r.scope_key, r.valid_from, r.valid_to, r.status, r.version, r.known_from, r.known_to, r.relationship_kind,
       r.current_cardinality, r.identity_alias_of, subject.display_name as subject_name, target.display_name as object_name,
       value.display, value.unit,
       (select coalesce(jsonb_agg(jsonb_build_array(s.support_id, s.evidence_id, s.span_start, s.span_end, s.copied_from, d.decision,
                                                    x.evidence_id is not null, d.known_from) order by s.known_from, s.support_id), '[]')
        from commonlore.relationship_support s
        cross join lateral (
            select e.decision, e.known_from from commonlore.support_decision_event e
            where e.support_id = s.support_id
              and e.team_id = %(team_id)s::uuid -- tenant
              and e.space_epoch = %(space_epoch)s::bigint -- tenant
            order by e.known_from desc, e.event_id desc limit 1
        ) d
        left join lateral (
            select e.evidence_id from commonlore.evidence_exclusion e
            where e.evidence_id = s.evidence_id and e.reason <> 'unsupported'
              and e.team_id = %(team_id)s::uuid -- tenant
              and e.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1
        ) x on true
        where s.relationship_id = r.relationship_id
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
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
for update of r;

-- name: add_correction
insert into commonlore.entity_correction
    (team_id, space_epoch, correction_id, action, from_entity_id, to_entity_id, reverses_id, reason, actor_profile_id, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(correction_id)s::uuid, %(action)s::text, %(from_entity_id)s::uuid, %(to_entity_id)s::uuid,
        %(reverses_id)s::uuid, %(reason)s::text, %(actor_profile_id)s::uuid, %(now)s::timestamptz);

-- name: add_items
insert into commonlore.entity_correction_item
    (team_id, space_epoch, correction_id, relationship_id, effect, target_id, status_before, known_to_before, target_status_before,
     target_known_to_before, target_valid_to_before, target_status_after)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(correction_id)s::uuid, r.relationship_id, r.effect, r.target_id, r.status_before,
       r.known_to_before, r.target_status_before, r.target_known_to_before, r.target_valid_to_before, r.target_status_after
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, effect text, target_id uuid, status_before text, known_to_before timestamptz, target_status_before text,
          target_known_to_before timestamptz, target_valid_to_before timestamptz, target_status_after text);

-- name: add_relationships
-- As `relationships` of a remember, each with an owner of its own. Whatever ended before stays ended before.
insert into commonlore.relationship
    (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key, predicate_version,
     object_entity_id, object_value_id, relationship_kind, current_cardinality, status, polarity, scope_key, valid_from, valid_to,
     support_count, source_group_count, version, known_from, known_to)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.relationship_id, r.owner_profile_id, r.semantic_group_key, r.subject_entity_id,
       r.predicate_key, r.predicate_version, r.object_entity_id, r.object_value_id, r.relationship_kind, r.current_cardinality, r.status,
       r.polarity, r.scope_key, r.valid_from, r.valid_to, r.support_count, 0, 1, %(now)s::timestamptz,
       case when r.known_to is not null then greatest(r.known_to, %(now)s::timestamptz) end
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, owner_profile_id uuid, semantic_group_key text, subject_entity_id uuid, predicate_key text,
          predicate_version int, object_entity_id uuid, object_value_id uuid, relationship_kind text, current_cardinality text, status text,
          polarity text, scope_key text, valid_from timestamptz, valid_to timestamptz, support_count int, known_to timestamptz);

-- name: stand
-- Status, version, validity and alias of relationships that are there already.
update commonlore.relationship t
set status = r.status, version = r.version, valid_to = r.valid_to, identity_alias_of = r.alias_of,
    known_to = case when r.known_to is not null then greatest(r.known_to, t.known_from) end
from jsonb_to_recordset(%(rows)s::text::jsonb)
    as r (relationship_id uuid, status text, version int, valid_to timestamptz, known_to timestamptz, alias_of uuid)
where t.relationship_id = r.relationship_id
  and t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: copy_supports
-- New supports with the place, the quote and the verdict of those they are copied from, granted by the author of the relationship.
with copied as (
    insert into commonlore.relationship_support
        (team_id, space_epoch, support_id, relationship_id, observation_id, verification_event_id, evidence_id, source_group_key,
         span_start, span_end, quote, authority, copied_from, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, c.support_id, c.relationship_id, s.observation_id, s.verification_event_id,
           s.evidence_id, s.source_group_key, s.span_start, s.span_end, s.quote, s.authority, s.support_id, %(now)s::timestamptz
    from jsonb_to_recordset(%(rows)s::text::jsonb) as c (support_id uuid, relationship_id uuid, copied_from uuid)
    join commonlore.relationship_support s on s.support_id = c.copied_from
    where s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
)
insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, c.event_id, c.support_id, 'grant', 'copied', c.owner_profile_id, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as c (event_id uuid, support_id uuid, owner_profile_id uuid);

-- name: decide_supports
insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, r.event_id, r.support_id, r.decision, r.reason, r.owner_profile_id, %(now)s::timestamptz
from jsonb_to_recordset(%(rows)s::text::jsonb) as r (event_id uuid, support_id uuid, decision text, reason text, owner_profile_id uuid);

-- name: set_entity
update commonlore.entity e
set status = %(status)s::text, merged_into = %(merged_into)s::uuid, version = e.version + 1
where e.entity_id = %(entity_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: add_entity
insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(entity_id)s::uuid, %(entity_kind)s::text, 'active', 1, %(now)s::timestamptz);

-- name: add_name
insert into commonlore.entity_name
    (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, correction_id, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(entity_name_id)s::uuid, %(entity_id)s::uuid, %(entity_kind)s::text,
        %(display_name)s::text, %(name_key)s::text, %(name_kind)s::text, %(correction_id)s::uuid, %(now)s::timestamptz);

-- name: end_name
-- A name that is no longer carried; one that was canonical becomes a former name.
update commonlore.entity_name n
set known_to = greatest(%(now)s::timestamptz, n.known_from), name_kind = case n.name_kind when 'canonical' then 'former' else n.name_kind end
where n.entity_name_id = any(%(entity_name_ids)s::uuid[])
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: names_of_correction
-- Names that a correction gave and that are still carried.
select n.entity_name_id from commonlore.entity_name n
where n.correction_id = %(correction_id)s::uuid and n.entity_id = %(entity_id)s::uuid and n.known_to is null
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
order by n.entity_name_id;

-- name: read_correction
-- A correction and whether it was taken back.
select c.correction_id, c.action, c.from_entity_id, c.to_entity_id, c.known_from,
       exists (select from commonlore.entity_correction b
               where b.reverses_id = c.correction_id
                 and b.team_id = %(team_id)s::uuid -- tenant
                 and b.space_epoch = %(space_epoch)s::bigint -- tenant
              ) as is_reversed
from commonlore.entity_correction c
where c.correction_id = %(correction_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_items
select i.relationship_id, i.effect, i.target_id, i.status_before, i.known_to_before, i.target_status_before, i.target_known_to_before,
       i.target_valid_to_before, i.target_status_after
from commonlore.entity_correction_item i
where i.correction_id = %(correction_id)s::uuid
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
order by i.relationship_id;

-- name: canonical_twins
-- Canonical rows outside the correction that state what one of the rows to restore states, or hold its current place.
select r.relationship_id as restored_id, o.relationship_id, o.owner_profile_id, o.subject_entity_id, o.predicate_key, o.polarity, o.valid_from,
       o.scope_key, o.status = 'active' and o.support_count > 0 and o.current_cardinality = 'one' as is_current,
       o.object_entity_id is not distinct from r.object_entity_id and o.object_value_id is not distinct from r.object_value_id as is_twin
from commonlore.relationship r
join commonlore.relationship o
  on o.owner_profile_id = r.owner_profile_id and o.subject_entity_id = r.subject_entity_id and o.predicate_key = r.predicate_key
     and o.polarity = r.polarity and o.valid_from is not distinct from r.valid_from and o.scope_key is not distinct from r.scope_key
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and o.identity_alias_of is null and o.relationship_id <> all(%(touched_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id, o.relationship_id;

-- name: waiting_wordings
-- The next relationships of an entity in the order of their ids, with what their documents should say and do say.
select r.relationship_id, r.version, r.predicate_key, r.polarity, r.scope_key, r.valid_from, r.valid_to,
       subject.display_name as subject_name, target.display_name as object_name, value.display, value.unit, d.generation, d.document_text
from commonlore.relationship r
join commonlore.relationship_document d
  on d.team_id = r.team_id and d.space_epoch = r.space_epoch and d.relationship_id = r.relationship_id
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and d.generation = any(%(generations)s::int[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id, d.generation;
