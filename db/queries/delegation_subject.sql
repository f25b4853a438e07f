-- What briefs are about, as it stands now, and the texts to read.

-- name: pending_page
-- Relationships that wait for evidence, after an id. Index: `relationship_pending`.
select r.relationship_id, r.version, r.predicate_key, r.polarity, subject.display_name as subject_name,
       coalesce(target.display_name, value.display) as object_name
from commonlore.relationship r
join commonlore.entity_name subject
  on subject.team_id = r.team_id and subject.space_epoch = r.space_epoch and subject.entity_id = r.subject_entity_id
     and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = r.team_id and target.space_epoch = r.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
where r.status = 'pending_evidence' and r.identity_alias_of is null and r.relationship_id > %(after)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id
limit %(most)s::int;

-- name: lock_pending
-- The relationship under the ledger lock, so that it stays as it is read.
select r.relationship_id, r.identity_alias_of,
       (select o.observation_id from commonlore.relationship_observation o
        where o.relationship_id = r.relationship_id
          and o.team_id = %(team_id)s::uuid -- tenant
          and o.space_epoch = %(space_epoch)s::bigint -- tenant
        order by o.known_from desc, o.observation_id desc limit 1) as observation_id
from commonlore.relationship r
where r.relationship_id = %(relationship_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
for update of r;

-- name: cited_texts
-- The texts that the observations of a relationship cited, by their first sighting or a later one, the latest observation first.
select distinct on (c.evidence_id) c.evidence_id, o.known_from
from commonlore.relationship_observation o
cross join lateral (
    select e.evidence_id from commonlore.evidence e
    where e.submission_id = o.submission_id
      and (o.proposal -> 'evidence_indices' @> to_jsonb(e.evidence_index)
           or o.proposal -> 'supports' @> jsonb_build_array(jsonb_build_object('evidence_index', e.evidence_index)))
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select s.evidence_id from commonlore.evidence_occurrence s
    where s.submission_id = o.submission_id
      and (o.proposal -> 'evidence_indices' @> to_jsonb(s.evidence_index)
           or o.proposal -> 'supports' @> jsonb_build_array(jsonb_build_object('evidence_index', s.evidence_index)))
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select k.id::uuid from jsonb_array_elements_text(o.proposal -> 'known_evidence_ids') as k (id)
) c
where o.relationship_id = %(relationship_id)s::uuid
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.evidence_id, o.known_from desc
limit %(most)s::int;

-- name: naming_texts
-- Texts that carry every one of the terms, the latest first, each with where its first part with one of them begins.
select p.evidence_id, min(t.span_start) as start
from (
    select b.term, unnest(b.evidence_ids) as evidence_id, unnest(b.codes) >> 32 as part_no
    from commonlore.evidence_posting b
    where b.term = any(%(terms)s::text[])
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select q.term, d.evidence_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] >> 32
    from commonlore.evidence_posting_difference d
    cross join unnest(%(terms)s::text[]) as q (term)
    cross join unnest((d.words ->> q.term)::bigint[]) as h (hit)
    where d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
) p
join commonlore.evidence_part t on t.evidence_id = p.evidence_id and t.part_no = p.part_no::int
where t.team_id = %(team_id)s::uuid -- tenant
  and t.space_epoch = %(space_epoch)s::bigint -- tenant
group by p.evidence_id
having count(distinct p.term) = cardinality(%(terms)s::text[])
order by p.evidence_id desc
limit %(most)s::int;

-- name: texts
-- Texts that may be cited now, each the piece from its own place on, in the order in which they were asked for.
select e.evidence_id, substr(e.content, q.start + 1, %(chars)s::int) as content, q.start, length(e.content) as length, e.speaker, e.occurred_at
from unnest(%(evidence_ids)s::uuid[], %(starts)s::int[]) with ordinality as q (evidence_id, start, place)
join commonlore.evidence e on e.evidence_id = q.evidence_id
where not exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = e.evidence_id and x.reason <> 'unsupported'
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by q.place;

-- name: open_cases
-- Cases that nobody decided, after an id, in the order in which they were opened.
select c.conflict_id, c.version, c.question
from commonlore.conflict_case c
where c.status in ('open', 'overdue') and c.conflict_id > %(after)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.conflict_id
limit %(most)s::int;

-- name: entity_texts
-- Places of the latest texts that support something said of an entity now.
select s.evidence_id, min(s.span_start) as start
from commonlore.relationship r
join commonlore.relationship_support s on s.relationship_id = r.relationship_id
where (r.subject_entity_id = %(entity_id)s::uuid or r.object_entity_id = %(entity_id)s::uuid) and r.status = 'active'
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
group by s.evidence_id
order by s.evidence_id desc
limit %(most)s::int;

-- name: community_page
-- Communities of the published snapshot, after a number.
select c.community_id, c.community_no, c.top_predicates,
       (select string_agg(n.display_name, ', ' order by e.place)
        from unnest(c.top_entity_ids) with ordinality as e (entity_id, place)
        join commonlore.entity_name n on n.entity_id = e.entity_id and n.name_kind = 'canonical' and n.known_to is null
        where n.team_id = %(team_id)s::uuid -- tenant
          and n.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as entities
from commonlore.community c
join commonlore.community_gate g on g.team_id = c.team_id and g.space_epoch = c.space_epoch and g.snapshot_id = c.snapshot_id
where g.enabled and c.community_no > %(after)s::int and coalesce(c.community_id = %(community_id)s::uuid, true)
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.community_no
limit %(most)s::int;

-- name: community_statements
-- The members of a community that count now, the most central first, one relationship a group, with its texts.
select r.predicate_key, r.polarity, subject.display_name as subject_name, coalesce(target.display_name, value.display) as object_name,
       p.evidence_id, p.span_start as start
from commonlore.community c
join commonlore.community_gate g on g.team_id = c.team_id and g.space_epoch = c.space_epoch and g.snapshot_id = c.snapshot_id
join commonlore.community_member m on m.team_id = c.team_id and m.space_epoch = c.space_epoch and m.snapshot_id = c.snapshot_id
     and m.community_no = c.community_no
cross join lateral (
    select o.relationship_id, o.predicate_key, o.polarity, o.subject_entity_id, o.object_entity_id, o.object_value_id
    from commonlore.relationship o
    where o.semantic_group_key = m.semantic_group_key and o.status = 'active' and o.support_count > 0 and o.identity_alias_of is null
      and o.team_id = %(team_id)s::uuid -- tenant
      and o.space_epoch = %(space_epoch)s::bigint -- tenant
    order by o.relationship_id limit 1
) r
cross join lateral (
    select s.evidence_id, s.span_start from commonlore.relationship_support s
    where s.relationship_id = r.relationship_id
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    order by s.support_id limit 1
) p
join commonlore.entity_name subject on subject.entity_id = r.subject_entity_id and subject.name_kind = 'canonical' and subject.known_to is null
left join commonlore.entity_name target
  on target.team_id = c.team_id and target.space_epoch = c.space_epoch and target.entity_id = r.object_entity_id
     and target.name_kind = 'canonical' and target.known_to is null
left join commonlore.value_record value
  on value.team_id = c.team_id and value.space_epoch = c.space_epoch and value.value_id = r.object_value_id
where c.community_id = %(community_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
  and subject.team_id = %(team_id)s::uuid -- tenant
  and subject.space_epoch = %(space_epoch)s::bigint -- tenant
order by m.place
limit %(most)s::int;

-- name: community_evidence
-- Those of the texts that support a member of a community that counts now.
select distinct s.evidence_id
from commonlore.relationship_support s
join commonlore.relationship r on r.relationship_id = s.relationship_id and r.status = 'active' and r.support_count > 0
join commonlore.community_member m on m.semantic_group_key = r.semantic_group_key
join commonlore.community c on c.snapshot_id = m.snapshot_id and c.community_no = m.community_no
join commonlore.community_gate g on g.snapshot_id = c.snapshot_id
where s.evidence_id = any(%(evidence_ids)s::uuid[]) and c.community_id = %(community_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and m.team_id = %(team_id)s::uuid -- tenant
  and m.space_epoch = %(space_epoch)s::bigint -- tenant
  and c.team_id = %(team_id)s::uuid -- tenant
  and c.space_epoch = %(space_epoch)s::bigint -- tenant
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.evidence_id;

-- name: hypothesis_page
-- Hypotheses that nobody ended, after an id.
select h.hypothesis_id, h.version, h.predicate_key, s.display_name as subject_name, o.display_name as object_name
from commonlore.hypothesis h
join commonlore.entity_name s
  on s.team_id = h.team_id and s.space_epoch = h.space_epoch and s.entity_id = h.subject_entity_id and s.name_kind = 'canonical' and s.known_to is null
join commonlore.entity_name o
  on o.team_id = h.team_id and o.space_epoch = h.space_epoch and o.entity_id = h.object_entity_id and o.name_kind = 'canonical' and o.known_to is null
where h.status in ('proposed', 'reinforced') and h.hypothesis_id > %(after)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
order by h.hypothesis_id
limit %(most)s::int;
