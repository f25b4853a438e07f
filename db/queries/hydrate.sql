-- Authoritative rows for candidate ids in the present, read under the same snapshot and the same two locks. A view of another time: history.sql.

-- name: relationship_eligible
-- The one condition under which a relationship `r` counts now, put in place of {eligible} (dense-mem 22.2); history.sql has it for another time.
r.identity_alias_of is null and r.status = 'active' and r.support_count > 0

-- name: hydrate_evidence
-- One row an id that exists in the space, unordered: the row, the parts asked for, what withdrew it, its granted paths,
-- and the other eligible evidence of the same text, newest first.
select e.evidence_id, e.owner_profile_id, e.content_sha256, e.part_count, e.source, e.source_type, e.authority, e.speaker, e.session, e.occurred_at, e.known_from,
       o.retired_at is null as owner_active,
       true as known_in_view,
       (select jsonb_agg(jsonb_build_array(p.part_no, coalesce(p.text, e.content)))
        from commonlore.evidence_part p
        join unnest(%(wanted_ids)s::uuid[], %(wanted_parts)s::int[]) as w (evidence_id, part_no)
          on w.evidence_id = p.evidence_id and w.part_no = p.part_no
        where p.evidence_id = e.evidence_id
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as parts,
       (select min(x.reason) from commonlore.evidence_exclusion x
        where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
          and x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as withdrawn,
       (select jsonb_agg(jsonb_build_array(r.relationship_id, r.semantic_group_key, {eligible} and q.retired_at is null))
        from commonlore.relationship_support s
        join commonlore.relationship r on r.relationship_id = s.relationship_id
        join commonlore.profile q on q.team_id = r.team_id and q.profile_id = r.owner_profile_id
        where s.evidence_id = e.evidence_id
          and (select d.decision from commonlore.support_decision_event d
               where d.support_id = s.support_id
                 and d.team_id = %(team_id)s::uuid -- tenant
                 and d.space_epoch = %(space_epoch)s::bigint -- tenant
               order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as paths,
       array(select q.evidence_id from commonlore.evidence q
             join commonlore.profile w on w.team_id = q.team_id and w.profile_id = q.owner_profile_id and w.retired_at is null
             where q.content_sha256 = e.content_sha256 and q.evidence_id <> e.evidence_id
               and not exists (
                   select from commonlore.evidence_exclusion x
                   where x.evidence_id = q.evidence_id
                     and x.team_id = %(team_id)s::uuid -- tenant
                     and x.space_epoch = %(space_epoch)s::bigint -- tenant
               )
               and (not %(withheld)s::bool or exists (
                   select from commonlore.relationship_support s
                   where s.evidence_id = q.evidence_id
                     and (select d.decision from commonlore.support_decision_event d
                          where d.support_id = s.support_id
                            and d.team_id = %(team_id)s::uuid -- tenant
                            and d.space_epoch = %(space_epoch)s::bigint -- tenant
                          order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
                     and s.team_id = %(team_id)s::uuid -- tenant
                     and s.space_epoch = %(space_epoch)s::bigint -- tenant
               ))
               and q.team_id = %(team_id)s::uuid -- tenant
               and q.space_epoch = %(space_epoch)s::bigint -- tenant
             order by q.known_from desc, q.evidence_id desc
             limit %(equivalents)s::int
       ) as equivalents
from commonlore.evidence e
join commonlore.profile o on o.team_id = e.team_id and o.profile_id = e.owner_profile_id
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_known
-- Semantic groups that the caller knows already: of visible evidence through active paths, and of visible relationships.
select r.semantic_group_key
from commonlore.relationship_support s
join commonlore.relationship r on r.relationship_id = s.relationship_id
where s.evidence_id = any(%(evidence_ids)s::uuid[]) and {eligible}
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
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
union
select r.semantic_group_key from commonlore.relationship r
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: hydrate_groups
-- Every eligible member of the groups: by group, then earliest creation, then id.
select r.relationship_id, r.semantic_group_key, r.known_from, r.predicate_key, r.polarity, r.scope_key, r.valid_from, r.valid_to,
       r.subject_entity_id, subject.display_name as subject_name,
       r.object_entity_id, target.display_name as object_name,
       r.object_value_id, value.value_type, value.canonical_value, value.display, value.unit,
       coalesce(document.search_state, 'pending') as search_state,
       (select array_agg(distinct s.evidence_id)
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
       ) as evidence_ids
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
left join commonlore.relationship_document document
  on document.team_id = r.team_id and document.space_epoch = r.space_epoch and document.relationship_id = r.relationship_id
     and document.generation = %(generation)s::int
where r.semantic_group_key = any(%(groups)s::text[]) and {eligible}
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.semantic_group_key, r.known_from, r.relationship_id;
