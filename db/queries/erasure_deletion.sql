-- Erasure by a worker: what is left to do, the deletions, the search at the end. The deletions themselves are functions of the owner, bound to the
-- team, the open epoch and an erasure that is being carried out.

-- name: read_erasure
select e.erasure_id, e.target_kind, e.target_id, e.target_sha256, e.reason, e.actor_profile_id, e.actor_credential_id, e.state, e.known_from,
       e.purge_at, e.finished_at, e.receipt
from commonlore.erasure e
where e.erasure_id = %(erasure_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
;

-- name: read_scopes
-- By epoch.
select s.space_epoch, s.space_id, s.extent, s.steps_done from commonlore.erasure_scope s
where s.erasure_id = %(erasure_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: note_step
-- One row where the step of the open epoch was not done before.
update commonlore.erasure_scope s set steps_done = s.steps_done || %(step)s::text
where s.erasure_id = %(erasure_id)s::uuid and s.space_epoch = %(space_epoch)s::bigint and %(step)s::text <> all(s.steps_done)
  and s.team_id = %(team_id)s::uuid -- tenant
returning s.space_id;

-- name: forget_step
update commonlore.erasure_scope s set steps_done = array_remove(s.steps_done, %(step)s::text)
where s.erasure_id = %(erasure_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: unfinished
-- Erasures that wait for a worker, and deletions whose time is over; by id.
select e.erasure_id from commonlore.erasure e
where (e.state in ('hidden', 'deleting', 'checking') or e.state = 'deleted' and e.purge_at <= %(now)s::timestamptz)
  and e.team_id = %(team_id)s::uuid -- tenant
order by e.erasure_id;

-- name: list_leaving_teams
-- Retired teams that are to be erased by now. Of one that is erased the time is struck out.
select t.team_id from commonlore.team t where t.purge_at <= %(now)s::timestamptz order by t.team_id;

-- name: set_state
update commonlore.erasure e set state = %(state)s::text
where e.erasure_id = %(erasure_id)s::uuid and e.state <> %(state)s::text
  and e.team_id = %(team_id)s::uuid -- tenant
;

-- name: tables
-- Every table of the schema with the names of its columns; by name.
select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p')
group by c.relname
order by c.relname;

-- name: references
-- Which table refers to which; one row a foreign key.
select distinct c.relname as name, f.relname as target
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_class f on f.oid = k.confrelid
where k.contype = 'f' and c.relnamespace = 'commonlore'::regnamespace
order by 1, 2;

-- name: collect_rows
select commonlore.collect_rows(%(table_name)s::text, %(id_column)s::text, %(key_column)s::text, %(erasure_id)s::uuid) as row_count;

-- name: unlink_rows
select commonlore.unlink_rows(%(table_name)s::text, %(key_column)s::text, %(id_column)s::text, %(erasure_id)s::uuid, %(extent)s::text) as row_count;

-- name: purge_rows
select commonlore.purge_rows(%(table_name)s::text, %(key_column)s::text, %(erasure_id)s::uuid, %(most)s::integer) as row_count;

-- name: purge_epoch
select commonlore.purge_epoch(%(erasure_id)s::uuid) as row_count;

-- name: purge_feedback
select commonlore.purge_feedback(%(erasure_id)s::uuid, %(extent)s::text, %(most)s::integer) as row_count;

-- name: left_feedback
select commonlore.left_feedback(%(erasure_id)s::uuid) as row_count;

-- name: purge_briefs
select commonlore.purge_briefs(%(erasure_id)s::uuid) as row_count;

-- name: purge_predicates
select commonlore.purge_predicates(%(erasure_id)s::uuid) as row_count;

-- name: purge_team_rows
select commonlore.purge_team_rows(%(table_name)s::text, %(erasure_id)s::uuid, %(most)s::integer) as row_count;

-- name: left_rows
select commonlore.left_rows(%(table_name)s::text, %(quoting)s::text[], %(erasure_id)s::uuid, %(extent)s::text) as row_count;

-- name: count_rows
insert into commonlore.erasure_count (team_id, erasure_id, table_name, row_count)
values (%(team_id)s::uuid, %(erasure_id)s::uuid, %(table_name)s::text, %(row_count)s::bigint)
on conflict (team_id, erasure_id, table_name) do update set row_count = erasure_count.row_count + excluded.row_count;

-- name: read_counts
-- By table.
select c.table_name, c.row_count from commonlore.erasure_count c
where c.erasure_id = %(erasure_id)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
order by c.table_name;

-- name: keep_live_sources
-- A source that has texts again since it was hidden stays.
delete from commonlore.erasure_item i
where i.erasure_id = %(erasure_id)s::uuid and i.item_kind = 'evidence_source'
  and exists (
      select from commonlore.evidence e
      where e.source_id = i.item_id
        and e.team_id = %(team_id)s::uuid -- tenant
        and e.space_epoch = %(space_epoch)s::bigint -- tenant
  )
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_common_samples
-- Words that texts, names or values which stay hold too prove nothing, and are not searched for.
delete from commonlore.erasure_sample s
where s.erasure_id = %(erasure_id)s::uuid and s.sample_kind in ('fragment', 'digest')
  and (exists (
          select from commonlore.evidence e
          where (s.sample_kind = 'fragment' and position(s.sample in e.content) > 0 or s.sample = encode(e.content_sha256, 'hex'))
            and e.team_id = %(team_id)s::uuid -- tenant
            and e.space_epoch = %(space_epoch)s::bigint -- tenant
      ) or exists (
          select from commonlore.entity_name n
          where s.sample_kind = 'fragment' and position(s.sample in n.display_name) > 0
            and n.team_id = %(team_id)s::uuid -- tenant
            and n.space_epoch = %(space_epoch)s::bigint -- tenant
      ))
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_samples
select s.sample from commonlore.erasure_sample s
where s.erasure_id = %(erasure_id)s::uuid and s.sample_kind = 'fragment'
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.sample;

-- name: read_erased_ids
-- A sample of the ids of texts that went, for the search in files.
select i.item_id from commonlore.erasure_item i
where i.erasure_id = %(erasure_id)s::uuid and i.item_kind in ('evidence', 'relationship')
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
order by i.item_id
limit %(limit)s::int;

-- name: forget_samples
delete from commonlore.erasure_sample s
where s.erasure_id = %(erasure_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_items
-- All but texts and relationships, by whose ids an administrator sees what they were.
delete from commonlore.erasure_item i
where i.erasure_id = %(erasure_id)s::uuid and (i.item_kind not in ('evidence', 'relationship') or %(every)s::bool)
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: unpublished_snapshots
-- Snapshots of communities that are not the published one; none where no relationship went.
select s.snapshot_id from commonlore.community_snapshot s
where not exists (
    select from commonlore.community_gate g
    where g.snapshot_id = s.snapshot_id
      and g.team_id = %(team_id)s::uuid -- tenant
      and g.space_epoch = %(space_epoch)s::bigint -- tenant
)
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: finish_erasure
-- The receipt, and no id of what was erased. One row where it was not finished before.
update commonlore.erasure e set state = %(state)s::text, receipt = %(receipt)s::text, finished_at = %(now)s::timestamptz, target_id = null
where e.erasure_id = %(erasure_id)s::uuid and e.state = 'checking'
  and e.team_id = %(team_id)s::uuid -- tenant
returning e.erasure_id;

-- name: retire_space
update commonlore.space s set lifecycle_state = 'retired'
where s.space_id = %(space_id)s::uuid and s.space_epoch = %(epoch)s::bigint and s.lifecycle_state = 'sealed'
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: strike_profile
update commonlore.profile p set name = 'erased ' || p.profile_id
where p.profile_id = %(profile_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: strike_keys
-- Names of the keys of a member, or of one key.
update commonlore.credential c set name = 'erased ' || c.credential_id
where (c.profile_id = %(profile_id)s::uuid or c.credential_id = %(credential_id)s::uuid)
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: strike_team
update commonlore.team t set name = 'erased ' || t.team_id, purge_at = null
where t.team_id = %(team_id)s::uuid -- tenant
;

-- name: forget_jobs
-- Of a team's work at most so many; not the erasure itself.
delete from commonlore.job j
where j.job_id in (
    select o.job_id from commonlore.job o
    where o.job_id <> %(job_id)s::uuid
      and o.team_id = %(team_id)s::uuid -- tenant
    order by o.job_id
    limit %(most)s::integer
)
  and j.team_id = %(team_id)s::uuid -- tenant
;
