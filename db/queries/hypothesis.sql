-- Hypotheses as a recall, a write, an agent and an administrator see them.

-- name: lane
-- Hypotheses that the answer touches, the nearest first; at most `most`. Class 0: a premise is said in the answer, by the
-- place of its group. Class 1: an end is in the answer, by the place of the entity. Class 2: the query has words of the name
-- of an end, the most words first. Then the likeliest, the newest, the id: total.
-- Left out is whatever does not count at this moment: a premise that changed, and what somebody has said since.
with hit as (
    select f.hypothesis_id, 0 as class, min(g.place)::int as place
    from (
        select i.semantic_group_key, i.place from unnest(%(group_keys)s::text[]) with ordinality as i (semantic_group_key, place)
        union all
        select r.semantic_group_key, cardinality(%(group_keys)s::text[]) + i.place
        from unnest(%(relationship_ids)s::uuid[]) with ordinality as i (relationship_id, place)
        join commonlore.relationship r on r.relationship_id = i.relationship_id
        where r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
    ) g
    join commonlore.hypothesis_source f on f.semantic_group_key = g.semantic_group_key
    where f.team_id = %(team_id)s::uuid -- tenant
      and f.space_epoch = %(space_epoch)s::bigint -- tenant
    group by f.hypothesis_id
    union all
    select e.hypothesis_id, 1, min(e.place)::int
    from (
        select a.hypothesis_id, i.place
        from unnest(%(entity_ids)s::uuid[]) with ordinality as i (entity_id, place)
        join commonlore.hypothesis a on a.subject_entity_id = i.entity_id and a.status in ('proposed', 'reinforced')
        where a.team_id = %(team_id)s::uuid -- tenant
          and a.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select b.hypothesis_id, i.place
        from unnest(%(entity_ids)s::uuid[]) with ordinality as i (entity_id, place)
        join commonlore.hypothesis b on b.object_entity_id = i.entity_id and b.status in ('proposed', 'reinforced')
        where b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
    ) e
    group by e.hypothesis_id
    union all
    select t.hypothesis_id, 2, (-count(*))::int
    from commonlore.hypothesis_term t
    where t.term = any(%(terms)s::text[])
      and t.team_id = %(team_id)s::uuid -- tenant
      and t.space_epoch = %(space_epoch)s::bigint -- tenant
    group by t.hypothesis_id
)
select c.best[1] as class, c.best[2] as place, h.hypothesis_id, h.subject_entity_id, h.predicate_key, h.object_entity_id, h.scope_key, h.status,
       h.likelihood, h.confidence, h.generator_version, h.known_from, h.updated_at, s.display_name as subject_name, o.display_name as object_name,
       p.sources
from (select k.hypothesis_id, min(array[k.class, k.place]) as best from hit k group by k.hypothesis_id) c
join commonlore.hypothesis h on h.hypothesis_id = c.hypothesis_id and h.status in ('proposed', 'reinforced')
cross join lateral (
    select n.display_name from commonlore.entity_name n
    where n.entity_id = h.subject_entity_id and n.name_kind = 'canonical' and n.known_to is null
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
) s
cross join lateral (
    select n.display_name from commonlore.entity_name n
    where n.entity_id = h.object_entity_id and n.name_kind = 'canonical' and n.known_to is null
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
) o
cross join lateral (
    select count(*) as current, jsonb_agg(jsonb_build_array(f.relationship_id, q.evidence_id) order by f.premise_position) as sources
    from commonlore.hypothesis_source f
    join commonlore.relationship_support q on q.support_id = f.support_id
    join commonlore.relationship r on r.relationship_id = f.relationship_id and r.version = f.relationship_version
    join commonlore.profile w on w.profile_id = r.owner_profile_id and w.retired_at is null
    where f.hypothesis_id = h.hypothesis_id and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
      and f.team_id = %(team_id)s::uuid -- tenant
      and f.space_epoch = %(space_epoch)s::bigint -- tenant
      and q.team_id = %(team_id)s::uuid -- tenant
      and q.space_epoch = %(space_epoch)s::bigint -- tenant
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
      and w.team_id = %(team_id)s::uuid -- tenant
) p
where p.current = 2
  and not exists (
      select from commonlore.relationship r
      join commonlore.profile w on w.profile_id = r.owner_profile_id and w.retired_at is null
      where r.subject_entity_id = h.subject_entity_id and r.predicate_key = h.predicate_key
        and (r.object_entity_id = h.object_entity_id or h.is_single)
        and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
        and w.team_id = %(team_id)s::uuid -- tenant
  )
  and not exists (
      select from commonlore.relationship r
      join commonlore.profile w on w.profile_id = r.owner_profile_id and w.retired_at is null
      where r.subject_entity_id = h.object_entity_id and r.predicate_key = h.inverse_key and r.object_entity_id = h.subject_entity_id
        and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
        and r.team_id = %(team_id)s::uuid -- tenant
        and r.space_epoch = %(space_epoch)s::bigint -- tenant
        and w.team_id = %(team_id)s::uuid -- tenant
  )
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
order by c.best, h.likelihood desc, h.updated_at desc, h.hypothesis_id
limit %(most)s::int;

-- name: note_changed
-- Present hypotheses that a write of the relationships ended: a premise is no longer what it was, or somebody says what was
-- only supposed. The writer holds the ledger lock, and so does whoever proposes: no change falls between a proposal and its end.
with changed as (
    select f.hypothesis_id, 'source_changed' as reason
    from commonlore.hypothesis_source f
    where f.relationship_id = any(%(relationship_ids)s::uuid[])
      and not exists (
          select from commonlore.relationship r
          join commonlore.profile w on w.profile_id = r.owner_profile_id and w.retired_at is null
          where r.relationship_id = f.relationship_id and r.version = f.relationship_version
            and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
            and r.team_id = %(team_id)s::uuid -- tenant
            and r.space_epoch = %(space_epoch)s::bigint -- tenant
            and w.team_id = %(team_id)s::uuid -- tenant
      )
      and f.team_id = %(team_id)s::uuid -- tenant
      and f.space_epoch = %(space_epoch)s::bigint -- tenant
    union all
    select h.hypothesis_id, 'already_known'
    from commonlore.relationship r
    join commonlore.hypothesis h
      on h.status in ('proposed', 'reinforced')
         and (h.subject_entity_id = r.subject_entity_id and h.predicate_key = r.predicate_key and (h.object_entity_id = r.object_entity_id or h.is_single)
              or h.object_entity_id = r.subject_entity_id and h.inverse_key = r.predicate_key and h.subject_entity_id = r.object_entity_id)
    where r.relationship_id = any(%(relationship_ids)s::uuid[])
      and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
      and h.team_id = %(team_id)s::uuid -- tenant
      and h.space_epoch = %(space_epoch)s::bigint -- tenant
), ended as (
    update commonlore.hypothesis h
    set status = 'stale', invalidated_reason = c.reason, version = h.version + 1, updated_at = %(now)s::timestamptz
    from (select k.hypothesis_id, max(k.reason) as reason from changed k group by k.hypothesis_id) c
    where h.hypothesis_id = c.hypothesis_id and h.status in ('proposed', 'reinforced')
      and h.team_id = %(team_id)s::uuid -- tenant
      and h.space_epoch = %(space_epoch)s::bigint -- tenant
    returning h.hypothesis_id, h.version, h.invalidated_reason
)
insert into commonlore.hypothesis_event (team_id, space_epoch, hypothesis_id, version, status, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, e.hypothesis_id, e.version, 'stale', e.invalidated_reason, %(now)s::timestamptz
from ended e;

-- name: page
-- Hypotheses before an id, the newest first; with `status`, those that stand so.
select h.hypothesis_id, h.subject_entity_id, h.predicate_key, h.object_entity_id, h.scope_key, h.status, h.likelihood, h.confidence,
       h.generator_version, h.known_from, h.updated_at, s.display_name as subject_name, o.display_name as object_name,
       (select jsonb_agg(jsonb_build_array(f.relationship_id, q.evidence_id) order by f.premise_position)
        from commonlore.hypothesis_source f
        join commonlore.relationship_support q on q.support_id = f.support_id
        where f.hypothesis_id = h.hypothesis_id
          and f.team_id = %(team_id)s::uuid -- tenant
          and f.space_epoch = %(space_epoch)s::bigint -- tenant
          and q.team_id = %(team_id)s::uuid -- tenant
          and q.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as sources
from commonlore.hypothesis h
join commonlore.entity_name s on s.entity_id = h.subject_entity_id and s.name_kind = 'canonical' and s.known_to is null
join commonlore.entity_name o on o.entity_id = h.object_entity_id and o.name_kind = 'canonical' and o.known_to is null
where (%(before)s::uuid is null or h.hypothesis_id < %(before)s::uuid)
  and (%(status)s::text is null or h.status = %(status)s::text)
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by h.hypothesis_id desc
limit %(most)s::int;

-- name: detail
-- One hypothesis; its rule and numbers, and what ended it.
select h.hypothesis_id, h.subject_entity_id, h.predicate_key, h.object_entity_id, h.scope_key, h.status, h.likelihood, h.confidence,
       h.generator_version, h.known_from, h.updated_at, s.display_name as subject_name, o.display_name as object_name,
       h.rule_kind, h.first_key, h.second_key, h.record, h.strength, h.tested, h.closed, h.version, h.invalidated_reason, h.submission_id
from commonlore.hypothesis h
join commonlore.entity_name s on s.entity_id = h.subject_entity_id and s.name_kind = 'canonical' and s.known_to is null
join commonlore.entity_name o on o.entity_id = h.object_entity_id and o.name_kind = 'canonical' and o.known_to is null
where h.hypothesis_id = %(hypothesis_id)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: derivations
-- Its premises by position, as they stand now. The quote is null where the text that it was read in does not count.
select f.premise_position, f.relationship_id, f.relationship_version, q.evidence_id, q.source_group_key, q.authority, r.owner_profile_id,
       s.display_name as subject_name, r.predicate_key, o.display_name as object_name, r.scope_key,
       r.version = f.relationship_version and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
           and w.retired_at is null as is_current,
       case when (select d.decision from commonlore.support_decision_event d
                  where d.support_id = f.support_id
                    and d.team_id = %(team_id)s::uuid -- tenant
                    and d.space_epoch = %(space_epoch)s::bigint -- tenant
                  order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
                 and not exists (
                     select from commonlore.evidence_exclusion x
                     where x.evidence_id = q.evidence_id
                       and x.team_id = %(team_id)s::uuid -- tenant
                       and x.space_epoch = %(space_epoch)s::bigint -- tenant
                 )
            then q.quote end as quote
from commonlore.hypothesis_source f
join commonlore.relationship_support q on q.support_id = f.support_id
join commonlore.relationship r on r.relationship_id = f.relationship_id
join commonlore.profile w on w.profile_id = r.owner_profile_id
join commonlore.entity_name s on s.entity_id = r.subject_entity_id and s.name_kind = 'canonical' and s.known_to is null
join commonlore.entity_name o on o.entity_id = r.object_entity_id and o.name_kind = 'canonical' and o.known_to is null
where f.hypothesis_id = %(hypothesis_id)s::uuid
  and f.team_id = %(team_id)s::uuid -- tenant
  and f.space_epoch = %(space_epoch)s::bigint -- tenant
  and q.team_id = %(team_id)s::uuid -- tenant
  and q.space_epoch = %(space_epoch)s::bigint -- tenant
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and w.team_id = %(team_id)s::uuid -- tenant
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
  and o.space_epoch = %(space_epoch)s::bigint -- tenant
order by f.premise_position;

-- name: events
-- What became of it, the first thing first.
select e.version, e.status, e.decision, e.reason, e.actor_profile_id, e.submission_id, e.known_from
from commonlore.hypothesis_event e
where e.hypothesis_id = %(hypothesis_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.version;

-- name: lock_standing
-- A hypothesis as a decision finds it, held until the decision is made.
select h.hypothesis_id, h.subject_entity_id, h.predicate_key, h.object_entity_id, h.scope_key, h.status, h.version
from commonlore.hypothesis h
where h.hypothesis_id = %(hypothesis_id)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
for update;

-- name: read_standing
select h.hypothesis_id, h.subject_entity_id, h.predicate_key, h.object_entity_id, h.scope_key, h.status, h.version
from commonlore.hypothesis h
where h.hypothesis_id = %(hypothesis_id)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: decide
-- Its new state and the event that says who decided.
with decided as (
    update commonlore.hypothesis h
    set status = %(status)s::text, invalidated_reason = case when %(status)s::text = 'stale' then 'feedback' end, version = h.version + 1,
        submission_id = %(submission_id)s::uuid, updated_at = %(now)s::timestamptz
    where h.hypothesis_id = %(hypothesis_id)s::uuid
      and h.team_id = %(team_id)s::uuid -- tenant
      and h.space_epoch = %(space_epoch)s::bigint -- tenant
    returning h.hypothesis_id, h.version
)
insert into commonlore.hypothesis_event
    (team_id, space_epoch, hypothesis_id, version, status, decision, reason, actor_profile_id, submission_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, d.hypothesis_id, d.version, %(status)s::text, %(decision)s::text, %(reason)s::text,
       %(actor_profile_id)s::uuid, %(submission_id)s::uuid, %(now)s::timestamptz
from decided d
returning version;

-- name: hold
-- While its confirmation is written, the write itself does not end it: `submitted` until it is decided, back to `status` if not.
update commonlore.hypothesis h set status = %(status)s::text
where h.hypothesis_id = %(hypothesis_id)s::uuid
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: is_said
-- Whether the member says, with the polarity, what the hypothesis says.
select exists (
    select from commonlore.hypothesis h
    join commonlore.relationship r
      on h.subject_entity_id = r.subject_entity_id and h.predicate_key = r.predicate_key and h.object_entity_id = r.object_entity_id
         or h.object_entity_id = r.subject_entity_id and h.inverse_key = r.predicate_key and h.subject_entity_id = r.object_entity_id
    where h.hypothesis_id = %(hypothesis_id)s::uuid and r.polarity = %(polarity)s::text and r.owner_profile_id = %(profile_id)s::uuid
      and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
      and h.team_id = %(team_id)s::uuid -- tenant
      and h.space_epoch = %(space_epoch)s::bigint -- tenant
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
) as is_said;

-- name: read_gate
-- The gate of the open space, the time of its team, and how many hypotheses stand how; one row, with nulls where they were never on.
select g.enabled, g.outputs, t.community_time_zone, t.community_start_minute,
       (select jsonb_object_agg(n.status, n.hypotheses) from (
            select h.status, count(*) as hypotheses from commonlore.hypothesis h
            where h.team_id = %(team_id)s::uuid -- tenant
              and h.space_epoch = %(space_epoch)s::bigint -- tenant
            group by h.status) n) as counts
from commonlore.team t
left join commonlore.hypothesis_gate g
  on g.team_id = t.team_id
     and g.space_epoch = %(space_epoch)s::bigint -- tenant
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: switch_gate
-- What is null stays; what was proposed is kept, and shown again when hypotheses are switched on again.
insert into commonlore.hypothesis_gate (team_id, space_epoch, enabled, outputs, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, coalesce(%(enabled)s::bool, false), coalesce(%(outputs)s::int, 20), %(now)s::timestamptz)
on conflict (team_id, space_epoch) do update
set enabled = coalesce(%(enabled)s::bool, hypothesis_gate.enabled), outputs = coalesce(%(outputs)s::int, hypothesis_gate.outputs);

-- name: read_rules
-- What the space changes of the rules. Unordered.
select r.rule_kind, r.first_key, r.second_key, r.conclusion_key, r.enabled
from commonlore.hypothesis_rule r
where r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: set_rule
insert into commonlore.hypothesis_rule
    (team_id, space_epoch, rule_kind, first_key, second_key, conclusion_key, enabled, actor_profile_id, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(rule_kind)s::text, %(first_key)s::text, %(second_key)s::text, %(conclusion_key)s::text,
        %(enabled)s::bool, %(actor_profile_id)s::uuid, %(now)s::timestamptz)
on conflict (team_id, space_epoch, rule_kind, first_key, second_key, conclusion_key) do update
set enabled = excluded.enabled, actor_profile_id = excluded.actor_profile_id, known_from = excluded.known_from;

-- name: latest_runs
-- Newest first.
select r.run_id, r.reason, r.status, r.relationship_count, r.path_count, r.known_count, r.assessed_count, r.candidate_count, r.proposed_count,
       r.error_code, r.known_from, r.ended_at
from commonlore.hypothesis_run r
where r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.known_from desc, r.run_id desc
limit %(most)s::int;
