-- Eligibility and rows in a view of another time: `known_at`, `valid_at` or both. The present has its own, cheaper statements in hydrate.sql.
-- With `known_at`, all counts as it was known then. With `valid_at` alone, what was known at that time counts as it stood then,
-- and what became known only later counts as it stands now: its events up to infinity are read.
-- An event counts from its own instant on. domain/recall/eligibility.py says the same of rows that are read; a test compares the two.

-- name: evidence_gone
-- Why the evidence `e` does not count in the view, or null; put in place of gone. What is erased never comes back.
coalesce(
    (select 'erased' from commonlore.evidence_exclusion x
     where x.evidence_id = e.evidence_id and x.reason = 'erased'
       and x.team_id = %(team_id)s::uuid -- tenant
       and x.space_epoch = %(space_epoch)s::bigint -- tenant
    ),
    (select 'erased' from commonlore.evidence_lifecycle_event l
     where l.evidence_id = e.evidence_id and l.action = 'erase'
       and l.team_id = %(team_id)s::uuid -- tenant
       and l.space_epoch = %(space_epoch)s::bigint -- tenant
     limit 1),
    (select case l.action when 'supersede' then 'superseded' else 'retracted' end
     from commonlore.evidence_lifecycle_event l
     where l.evidence_id = e.evidence_id
       and l.known_from <= coalesce(%(known_at)s::timestamptz, case when e.known_from <= %(valid_at)s::timestamptz then %(valid_at)s::timestamptz end, 'infinity')
       and l.team_id = %(team_id)s::uuid -- tenant
       and l.space_epoch = %(space_epoch)s::bigint -- tenant
     order by l.known_from desc, l.event_id desc limit 1),
    (select case s.decision when 'quarantine' then 'quarantined' end
     from commonlore.evidence_security_event s
     where s.evidence_id = e.evidence_id and s.decision <> 'guarded'
       and s.known_from <= coalesce(%(known_at)s::timestamptz, case when e.known_from <= %(valid_at)s::timestamptz then %(valid_at)s::timestamptz end, 'infinity')
       and s.team_id = %(team_id)s::uuid -- tenant
       and s.space_epoch = %(space_epoch)s::bigint -- tenant
     order by s.known_from desc, s.event_id desc limit 1),
    (select 'source_revised'
     from commonlore.evidence_source_revision n
     where n.source_id = e.source_id and n.previous_revision_id = e.revision_id
       and n.known_from <= coalesce(%(known_at)s::timestamptz, case when e.known_from <= %(valid_at)s::timestamptz then %(valid_at)s::timestamptz end, 'infinity')
       and n.team_id = %(team_id)s::uuid -- tenant
       and n.space_epoch = %(space_epoch)s::bigint -- tenant
     limit 1)
)

-- name: support_granted
-- Whether the support `s` was known in the view and granted by its last decision; put in place of granted.
(%(known_at)s::timestamptz is null or s.known_from <= %(known_at)s::timestamptz)
  and (select d.decision from commonlore.support_decision_event d
       where d.support_id = s.support_id
         and d.known_from <= coalesce(%(known_at)s::timestamptz, case when s.known_from <= %(valid_at)s::timestamptz then %(valid_at)s::timestamptz end, 'infinity')
         and d.team_id = %(team_id)s::uuid -- tenant
         and d.space_epoch = %(space_epoch)s::bigint -- tenant
       order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')

-- name: support_effective
-- Whether the support `s` of the evidence `e` counts in the view; put in place of effective (dense-mem 22.3).
{granted}
  and (%(known_at)s::timestamptz is null or e.known_from <= %(known_at)s::timestamptz)
  and {gone} is null

-- name: relationship_past
-- The condition under which a relationship `r` counts in the view, put in place of past (dense-mem 22.2): its status then is active, or
-- it was replaced and its own end is known, or a decided conflict suppresses it from a later moment on; and a support of it is effective.
-- By valid time alone, a correction and the time from which a decision counts reach back, since both say what held; what was never active
-- by then is known since it became so. What a merge put in another's place is known under its own id only before the merge.
(r.identity_alias_of is null or %(known_at)s::timestamptz is not null)
  and (%(known_at)s::timestamptz is null or r.known_from <= %(known_at)s::timestamptz)
  and (%(valid_at)s::timestamptz is null or (coalesce(r.valid_from <= %(valid_at)s::timestamptz, true) and coalesce({end} > %(valid_at)s::timestamptz, true)))
  and (%(known_at)s::timestamptz is not null or r.status <> 'superseded' or (r.corrected_by is null
       and (coalesce(r.suppressed_from > %(valid_at)s::timestamptz, true)
            or (select t.reason from commonlore.relationship_transition_event t
                where t.relationship_id = r.relationship_id
                  and t.team_id = %(team_id)s::uuid -- tenant
                  and t.space_epoch = %(space_epoch)s::bigint -- tenant
                order by t.version desc limit 1) <> 'conflict_resolved')))
  and (select t.to_status = 'active' or (%(valid_at)s::timestamptz is not null and t.to_status = 'superseded'
              and case when t.reason = 'conflict_resolved' then coalesce(%(valid_at)s::timestamptz < r.suppressed_from, false)
                       when t.reason in ('corrected', 'identity_moved') then false
                       else {end} is not null and r.identity_alias_of is null end)
       from commonlore.relationship_transition_event t
       where t.relationship_id = r.relationship_id
         and t.known_from <= coalesce(%(known_at)s::timestamptz, case when exists (
             select from commonlore.relationship_transition_event a
             where a.relationship_id = r.relationship_id and a.to_status = 'active' and a.known_from <= %(valid_at)s::timestamptz
               and a.team_id = %(team_id)s::uuid -- tenant
               and a.space_epoch = %(space_epoch)s::bigint -- tenant
         ) then %(valid_at)s::timestamptz end, 'infinity')
         and t.team_id = %(team_id)s::uuid -- tenant
         and t.space_epoch = %(space_epoch)s::bigint -- tenant
       order by t.version desc limit 1)
  and exists (
      select from commonlore.relationship_support s
      join commonlore.evidence e on e.evidence_id = s.evidence_id
      where s.relationship_id = r.relationship_id and {effective}
        and s.team_id = %(team_id)s::uuid -- tenant
        and s.space_epoch = %(space_epoch)s::bigint -- tenant
        and e.team_id = %(team_id)s::uuid -- tenant
        and e.space_epoch = %(space_epoch)s::bigint -- tenant
  )

-- name: relationship_end
-- The end of the validity of `r` as the view knows it, put in place of {end}: that of its last change by the known time.
case when %(known_at)s::timestamptz is null then r.valid_to else (
    select z.valid_to from commonlore.relationship_transition_event z
    where z.relationship_id = r.relationship_id and z.known_from <= %(known_at)s::timestamptz
      and z.team_id = %(team_id)s::uuid -- tenant
      and z.space_epoch = %(space_epoch)s::bigint -- tenant
    order by z.version desc limit 1) end

-- name: hydrate_evidence
-- As in hydrate.sql, in the view: equivalents too are what counted then.
select e.evidence_id, e.owner_profile_id, e.content_sha256, e.part_count, e.source, e.source_type, e.authority, e.speaker, e.session, e.occurred_at, e.known_from,
       o.retired_at is null as owner_active,
       (%(known_at)s::timestamptz is null or e.known_from <= %(known_at)s::timestamptz) as known_in_view,
       (select jsonb_agg(jsonb_build_array(p.part_no, coalesce(p.text, e.content)))
        from commonlore.evidence_part p
        join unnest(%(wanted_ids)s::uuid[], %(wanted_parts)s::int[]) as w (evidence_id, part_no)
          on w.evidence_id = p.evidence_id and w.part_no = p.part_no
        where p.evidence_id = e.evidence_id
          and p.team_id = %(team_id)s::uuid -- tenant
          and p.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as parts,
       {gone} as withdrawn,
       (select jsonb_agg(jsonb_build_array(r.relationship_id, r.semantic_group_key, {past} and q.retired_at is null))
        from commonlore.relationship_support s
        join commonlore.relationship r on r.relationship_id = s.relationship_id
        join commonlore.profile q on q.team_id = r.team_id and q.profile_id = r.owner_profile_id
        where s.evidence_id = e.evidence_id and {granted}
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as paths,
       array(select c.evidence_id from commonlore.evidence c
             join commonlore.profile w on w.team_id = c.team_id and w.profile_id = c.owner_profile_id and w.retired_at is null
             where c.content_sha256 = e.content_sha256 and c.evidence_id <> e.evidence_id
               and (%(known_at)s::timestamptz is null or c.known_from <= %(known_at)s::timestamptz)
               and (select {gone} is null and coalesce(
                        (select bool_or({past} and q.retired_at is null)
                         from commonlore.relationship_support s
                         join commonlore.relationship r on r.relationship_id = s.relationship_id
                         join commonlore.profile q on q.team_id = r.team_id and q.profile_id = r.owner_profile_id
                         where s.evidence_id = e.evidence_id and {granted}
                           and s.team_id = %(team_id)s::uuid -- tenant
                           and s.space_epoch = %(space_epoch)s::bigint -- tenant
                           and r.team_id = %(team_id)s::uuid -- tenant
                           and r.space_epoch = %(space_epoch)s::bigint -- tenant
                        ), not %(withheld)s::bool)
                    from commonlore.evidence e
                    where e.evidence_id = c.evidence_id
                      and e.team_id = %(team_id)s::uuid -- tenant
                      and e.space_epoch = %(space_epoch)s::bigint -- tenant
               )
               and c.team_id = %(team_id)s::uuid -- tenant
               and c.space_epoch = %(space_epoch)s::bigint -- tenant
             order by c.known_from desc, c.evidence_id desc
             limit %(equivalents)s::int
       ) as equivalents
from commonlore.evidence e
join commonlore.profile o on o.team_id = e.team_id and o.profile_id = e.owner_profile_id
where e.evidence_id = any(%(evidence_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_known
-- As in hydrate.sql, in the view.
select r.semantic_group_key
from commonlore.relationship_support s
join commonlore.evidence e on e.evidence_id = s.evidence_id
join commonlore.relationship r on r.relationship_id = s.relationship_id
where s.evidence_id = any(%(evidence_ids)s::uuid[]) and {effective} and {past}
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
union
select r.semantic_group_key from commonlore.relationship r
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: hydrate_groups
-- As in hydrate.sql, in the view, with the names that the entities had then.
select r.relationship_id, r.semantic_group_key, r.known_from, r.predicate_key, r.polarity, r.scope_key, r.valid_from, {end} as valid_to,
       r.subject_entity_id, subject.display_name as subject_name,
       r.object_entity_id, target.display_name as object_name,
       r.object_value_id, value.value_type, value.canonical_value, value.display, value.unit,
       coalesce(document.search_state, 'pending') as search_state,
       (select array_agg(distinct s.evidence_id)
        from commonlore.relationship_support s
        join commonlore.evidence e on e.evidence_id = s.evidence_id
        where s.relationship_id = r.relationship_id and {effective}
          and s.team_id = %(team_id)s::uuid -- tenant
          and s.space_epoch = %(space_epoch)s::bigint -- tenant
          and e.team_id = %(team_id)s::uuid -- tenant
          and e.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as evidence_ids
from commonlore.relationship r
join commonlore.profile o on o.team_id = r.team_id and o.profile_id = r.owner_profile_id and o.retired_at is null
cross join lateral (
    select min(n.display_name) as display_name from commonlore.entity_name n
    where n.entity_name_id = (
        select b.entity_name_id from commonlore.entity_name b
        where b.entity_id = r.subject_entity_id and b.name_kind in ('canonical', 'former')
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
        order by b.known_from <= coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz) and coalesce(b.known_to > coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz), true) desc,
                 b.known_to is null desc, b.entity_name_id
        limit 1)
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
) subject
cross join lateral (
    select min(n.display_name) as display_name from commonlore.entity_name n
    where n.entity_name_id = (
        select b.entity_name_id from commonlore.entity_name b
        where b.entity_id = r.object_entity_id and b.name_kind in ('canonical', 'former')
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
        order by b.known_from <= coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz) and coalesce(b.known_to > coalesce(%(known_at)s::timestamptz, %(valid_at)s::timestamptz), true) desc,
                 b.known_to is null desc, b.entity_name_id
        limit 1)
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
) target
left join commonlore.value_record value
  on value.team_id = r.team_id and value.space_epoch = r.space_epoch and value.value_id = r.object_value_id
left join commonlore.relationship_document document
  on document.team_id = r.team_id and document.space_epoch = r.space_epoch and document.relationship_id = r.relationship_id
     and document.generation = %(generation)s::int
where r.semantic_group_key = any(%(groups)s::text[]) and {past}
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.semantic_group_key, r.known_from, r.relationship_id;
