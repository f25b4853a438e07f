-- A run that looks for hypotheses, by the worker: read one state of the space, propose. Each with the team set and one space open.

-- name: lock_run
-- One run of a space at a time, to the end of the transaction; false while another one goes on.
select pg_try_advisory_xact_lock(hashtextextended('commonlore.hypothesis ' || %(space_epoch)s::bigint::text, 0)) as is_ours;

-- name: last_begun
-- When the last run of the open space began, and the time of its team, if hypotheses are on; no row where they are off.
select g.outputs, t.community_time_zone, t.community_start_minute,
       (select max(r.known_from) from commonlore.hypothesis_run r
        where r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
       ) as begun
from commonlore.hypothesis_gate g
join commonlore.team t on t.team_id = g.team_id
where g.enabled
  and g.team_id = %(team_id)s::uuid -- tenant
  and g.space_epoch = %(space_epoch)s::bigint -- tenant
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: end_abandoned
-- Runs whose worker is gone: the lock of the space is ours, so nobody goes on with them.
update commonlore.hypothesis_run r set status = 'failed', error_code = 'worker_lost', ended_at = %(now)s::timestamptz
where r.status = 'running'
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: begin_run
insert into commonlore.hypothesis_run (team_id, space_epoch, run_id, reason, status, generator_version, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(run_id)s::uuid, %(reason)s::text, 'running', %(generator_version)s::text,
        %(now)s::timestamptz);

-- name: end_run
update commonlore.hypothesis_run r
set status = %(status)s::text, error_code = %(error_code)s::text, ended_at = %(now)s::timestamptz, relationship_count = %(relationships)s::int,
    path_count = %(paths)s::int, known_count = %(known)s::int, assessed_count = %(assessed)s::int, candidate_count = %(candidates)s::int,
    proposed_count = %(proposed)s::int
where r.run_id = %(run_id)s::uuid and r.status = 'running'
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_rules
-- What the space changes of the rules. Unordered.
select r.rule_kind, r.first_key, r.second_key, r.conclusion_key, r.enabled
from commonlore.hypothesis_rule r
where r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: definitions
-- The newest version of each predicate. Unordered.
select distinct on (d.predicate_key) d.predicate_key, d.version, d.aliases, d.subject_kinds, d.object_kinds, d.relationship_kind,
       d.current_cardinality, d.lifecycle_state
from commonlore.predicate_definition d
where d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
order by d.predicate_key, d.version desc;

-- name: premises
-- The relationships of the predicates that count now; at most `most`, unordered.
select r.relationship_id, r.version, r.semantic_group_key, r.subject_entity_id, r.predicate_key, r.object_entity_id, r.polarity, r.scope_key,
       greatest(r.source_group_count, 1), r.valid_to is null and coalesce(r.valid_from <= %(now)s::timestamptz, true)
from commonlore.relationship r
join commonlore.profile o on o.profile_id = r.owner_profile_id and o.retired_at is null
where r.predicate_key = any(%(predicate_keys)s::text[]) and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
  and o.team_id = %(team_id)s::uuid -- tenant
limit %(most)s::int;

-- name: kinds
-- The kinds of entities. Unordered.
select e.entity_id, e.entity_kind from commonlore.entity e
where e.entity_id = any(%(entity_ids)s::uuid[])
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: assessed
-- What no hypothesis may be again: targets of those that are not stale, and contents of those that are. Unordered.
select case when h.status = 'stale' then h.content_sha256 else h.target_sha256 end as assessed
from commonlore.hypothesis h
where h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: covered
-- The ends of present hypotheses. Unordered.
select h.subject_entity_id, h.object_entity_id from commonlore.hypothesis h
where h.status in ('proposed', 'reinforced')
  and h.team_id = %(team_id)s::uuid -- tenant
  and h.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: names
-- The names that entities have now. Unordered.
select n.entity_id, n.display_name from commonlore.entity_name n
where n.entity_id = any(%(entity_ids)s::uuid[]) and n.name_kind = 'canonical' and n.known_to is null
  and n.team_id = %(team_id)s::uuid -- tenant
  and n.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: propose
-- One hypothesis with its two premises, if both still stand at their versions and nobody says or denies it; a row if it was made.
-- The ledger lock of the space is held, so that what was true here is true until the write commits.
with premise as (
    select w.position, r.relationship_id, r.version, r.semantic_group_key, s.support_id
    from unnest(%(relationship_ids)s::uuid[], %(relationship_versions)s::int[]) with ordinality as w (relationship_id, version, position)
    join commonlore.relationship r on r.relationship_id = w.relationship_id and r.version = w.version
    join commonlore.profile o on o.profile_id = r.owner_profile_id and o.retired_at is null
    cross join lateral (
        select q.support_id from commonlore.relationship_support q
        where q.relationship_id = r.relationship_id
          and (select d.decision from commonlore.support_decision_event d
               where d.support_id = q.support_id
                 and d.team_id = %(team_id)s::uuid -- tenant
                 and d.space_epoch = %(space_epoch)s::bigint -- tenant
               order by d.known_from desc, d.event_id desc limit 1) in ('grant', 'reinstate')
          and not exists (
              select from commonlore.evidence_exclusion x
              where x.evidence_id = q.evidence_id
                and x.team_id = %(team_id)s::uuid -- tenant
                and x.space_epoch = %(space_epoch)s::bigint -- tenant
          )
          and q.team_id = %(team_id)s::uuid -- tenant
          and q.space_epoch = %(space_epoch)s::bigint -- tenant
        order by q.known_from, q.support_id
        limit 1
    ) s
    where r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
      and o.team_id = %(team_id)s::uuid -- tenant
), made as (
    insert into commonlore.hypothesis
        (team_id, space_epoch, hypothesis_id, run_id, rule_kind, first_key, second_key, subject_entity_id, predicate_key, predicate_version,
         object_entity_id, scope_key, inverse_key, is_single, likelihood, confidence, record, strength, tested, closed, target_sha256,
         content_sha256, generator_version, status, version, known_from, updated_at)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, %(hypothesis_id)s::uuid, %(run_id)s::uuid, %(rule_kind)s::text, %(first_key)s::text,
           %(second_key)s::text, %(subject_entity_id)s::uuid, %(predicate_key)s::text, %(predicate_version)s::int, %(object_entity_id)s::uuid,
           %(scope_key)s::text, %(inverse_key)s::text, %(is_single)s::bool, %(likelihood)s::smallint, %(confidence)s::smallint,
           %(record)s::smallint, %(strength)s::smallint, %(tested)s::int, %(closed)s::int, %(target_sha256)s::bytea, %(content_sha256)s::bytea,
           %(generator_version)s::text, 'proposed', 1, %(now)s::timestamptz, %(now)s::timestamptz
    where (select count(*) from premise) = 2
      and not exists (
          select from commonlore.relationship r
          join commonlore.profile o on o.profile_id = r.owner_profile_id and o.retired_at is null
          where (r.subject_entity_id = %(subject_entity_id)s::uuid and r.predicate_key = %(predicate_key)s::text
                 and (r.object_entity_id = %(object_entity_id)s::uuid or %(is_single)s::bool)
                 or r.subject_entity_id = %(object_entity_id)s::uuid and r.predicate_key = %(inverse_key)s::text
                 and r.object_entity_id = %(subject_entity_id)s::uuid)
            and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
            and r.team_id = %(team_id)s::uuid -- tenant
            and r.space_epoch = %(space_epoch)s::bigint -- tenant
            and o.team_id = %(team_id)s::uuid -- tenant
      )
    on conflict do nothing
    returning hypothesis_id
), sourced as (
    insert into commonlore.hypothesis_source
        (team_id, space_epoch, hypothesis_id, premise_position, relationship_id, relationship_version, semantic_group_key, support_id, known_from)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, m.hypothesis_id, p.position, p.relationship_id, p.version, p.semantic_group_key,
           p.support_id, %(now)s::timestamptz
    from made m cross join premise p
), termed as (
    insert into commonlore.hypothesis_term (team_id, space_epoch, term, hypothesis_id)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, t.term, m.hypothesis_id
    from made m cross join unnest(%(terms)s::text[]) as t (term)
)
insert into commonlore.hypothesis_event (team_id, space_epoch, hypothesis_id, version, status, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, m.hypothesis_id, 1, 'proposed', 'proposed by a run', %(now)s::timestamptz
from made m
returning hypothesis_id;

-- name: forget_runs
-- Runs beyond the last fifty that proposed nothing that is kept.
delete from commonlore.hypothesis_run r
where r.run_id in (
    select n.run_id from commonlore.hypothesis_run n
    where n.status <> 'running'
      and n.team_id = %(team_id)s::uuid -- tenant
      and n.space_epoch = %(space_epoch)s::bigint -- tenant
    order by n.known_from desc, n.run_id desc
    offset 50
)
  and not exists (
      select from commonlore.hypothesis h
      where h.run_id = r.run_id
        and h.team_id = %(team_id)s::uuid -- tenant
        and h.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;
