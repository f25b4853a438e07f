-- What a trace says of relationships that matched and do not count: which there are, and everything that happened to them.

-- name: matching
-- Ids of relationships that share terms with the query or lie near its vector, whatever became of them: by words the most terms first,
-- by meaning the nearest first, each at most `most`.
(
    select p.relationship_id
    from (
        select 1 as sign, unnest(b.relationship_ids) as relationship_id
        from commonlore.relationship_posting b
        where b.term = any(%(terms)s::text[]) and b.generation = %(generation)s::int
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select d.sign, d.relationship_ids[1 + (h.hit & 63)]
        from commonlore.relationship_posting_difference d
        cross join unnest(%(terms)s::text[]) as q (term)
        cross join unnest((d.words ->> q.term)::bigint[]) as h (hit)
        where d.generation = %(generation)s::int
          and d.team_id = %(team_id)s::uuid -- tenant
          and d.space_epoch = %(space_epoch)s::bigint -- tenant
    ) p
    group by p.relationship_id
    having sum(p.sign) > 0
    order by sum(p.sign) desc, p.relationship_id
    limit %(most)s::int
)
union
(
    select v.relationship_id
    from commonlore.relationship_vector_1 v
    where v.generation = %(generation)s::int and %(vector)s::halfvec is not null
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec, v.relationship_id
    limit %(most)s::int
);

-- name: histories
-- The rows with their events and those of their supports, in the order in which they count; by id. See `RelationshipHistory`.
select r.relationship_id, r.semantic_group_key, r.owner_profile_id, o.retired_at is null as owner_active, r.known_from, r.valid_from, r.valid_to, r.status,
       r.support_count, r.identity_alias_of is not null as is_alias, r.corrected_by is not null as is_corrected, r.suppressed_from,
       (select jsonb_agg(jsonb_build_object('version', t.version, 'known_from', t.known_from, 'to_status', t.to_status, 'reason', t.reason, 'valid_to', t.valid_to) order by t.version)
        from commonlore.relationship_transition_event t
        where t.relationship_id = r.relationship_id
          and t.team_id = %(team_id)s::uuid -- tenant
          and t.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as transitions,
       (select coalesce(jsonb_agg(jsonb_build_object('known_from', s.known_from, 'decisions', (
                   select jsonb_agg(jsonb_build_object('known_from', d.known_from, 'what', d.decision) order by d.known_from, d.event_id)
                   from commonlore.support_decision_event d
                   where d.support_id = s.support_id
                     and d.team_id = %(team_id)s::uuid -- tenant
                     and d.space_epoch = %(space_epoch)s::bigint -- tenant
               ), 'evidence', jsonb_build_object('evidence_id', e.evidence_id, 'known_from', e.known_from, 'is_erased', exists (
                   select from commonlore.evidence_exclusion x
                   where x.evidence_id = e.evidence_id and x.reason = 'erased'
                     and x.team_id = %(team_id)s::uuid -- tenant
                     and x.space_epoch = %(space_epoch)s::bigint -- tenant
               ) or exists (
                   select from commonlore.evidence_lifecycle_event l
                   where l.evidence_id = e.evidence_id and l.action = 'erase'
                     and l.team_id = %(team_id)s::uuid -- tenant
                     and l.space_epoch = %(space_epoch)s::bigint -- tenant
               ), 'ended', (
                   select coalesce(jsonb_agg(jsonb_build_object('known_from', l.known_from, 'what', l.action) order by l.known_from, l.event_id), '[]')
                   from commonlore.evidence_lifecycle_event l
                   where l.evidence_id = e.evidence_id and l.action <> 'erase'
                     and l.team_id = %(team_id)s::uuid -- tenant
                     and l.space_epoch = %(space_epoch)s::bigint -- tenant
               ), 'security', (
                   select coalesce(jsonb_agg(jsonb_build_object('known_from', q.known_from, 'what', q.decision) order by q.known_from, q.event_id), '[]')
                   from commonlore.evidence_security_event q
                   where q.evidence_id = e.evidence_id and q.decision <> 'guarded'
                     and q.team_id = %(team_id)s::uuid -- tenant
                     and q.space_epoch = %(space_epoch)s::bigint -- tenant
               ), 'revised_from', (
                   select min(n.known_from) from commonlore.evidence_source_revision n
                   where n.source_id = e.source_id and n.previous_revision_id = e.revision_id
                     and n.team_id = %(team_id)s::uuid -- tenant
                     and n.space_epoch = %(space_epoch)s::bigint -- tenant
               ))) order by s.support_id), '[]')
        from commonlore.relationship_support s
        join commonlore.evidence e on e.evidence_id = s.evidence_id
        where s.relationship_id = r.relationship_id
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as supports
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and (cardinality(%(entity_ids)s::uuid[]) = 0 or r.subject_entity_id = any(%(entity_ids)s::uuid[]) or r.object_entity_id = any(%(entity_ids)s::uuid[]))
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;
