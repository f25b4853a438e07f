-- Sources of evidence and their revisions. A source is locked before its current revision is read, in the order of the keys.

-- name: lock_sources
-- For a write that adds to the current revision: nobody moves the source on until it ends.
select s.source_id from commonlore.evidence_source s
where s.owner_profile_id = %(profile_id)s::uuid and s.source_key = any(%(source_keys)s::text[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.source_key
for share of s;

-- name: lock_sources_to_revise
-- For a write that may move a source on: one at a time.
select s.source_id from commonlore.evidence_source s
where s.owner_profile_id = %(profile_id)s::uuid and s.source_key = any(%(source_keys)s::text[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
order by s.source_key
for no key update of s;

-- name: find_sources
-- The author's sources among the keys, with the tokens of their current revision and of the one before it.
select s.source_key, s.source_id, r.revision_id, r.revision_token, p.revision_token as previous_token
from commonlore.evidence_source s
join commonlore.evidence_source_revision r
  on r.team_id = s.team_id and r.space_epoch = s.space_epoch and r.revision_id = s.current_revision_id
left join commonlore.evidence_source_revision p
  on p.team_id = r.team_id and p.space_epoch = r.space_epoch and p.revision_id = r.previous_revision_id
where s.owner_profile_id = %(profile_id)s::uuid and s.source_key = any(%(source_keys)s::text[])
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: insert_source
with source as (
    insert into commonlore.evidence_source (team_id, space_epoch, source_id, owner_profile_id, source_key, current_revision_id, known_from)
    values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(source_id)s::uuid, %(profile_id)s::uuid, %(source_key)s::text,
            %(revision_id)s::uuid, %(now)s::timestamptz)
)
insert into commonlore.evidence_source_revision (team_id, space_epoch, revision_id, source_id, revision_token, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(revision_id)s::uuid, %(source_id)s::uuid, %(revision_token)s::text, %(now)s::timestamptz);

-- name: insert_revision
-- One row when the source never had this token; none otherwise. The source is locked. Whatever the clock says, the revision is known after
-- the one that it takes the place of.
insert into commonlore.evidence_source_revision
    (team_id, space_epoch, revision_id, source_id, revision_token, previous_revision_id, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(revision_id)s::uuid, %(source_id)s::uuid, %(revision_token)s::text,
       %(previous_revision_id)s::uuid, greatest(%(now)s::timestamptz, p.known_from + interval '1 microsecond')
from commonlore.evidence_source_revision p
where p.revision_id = %(previous_revision_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
on conflict (team_id, space_epoch, source_id, revision_token) do nothing
returning revision_id;

-- name: move_source
-- One row when the expected revision was still the current one.
update commonlore.evidence_source s set current_revision_id = %(revision_id)s::uuid
where s.source_id = %(source_id)s::uuid and s.current_revision_id = %(previous_revision_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
  and s.space_epoch = %(space_epoch)s::bigint -- tenant
returning s.source_id;

-- name: exclude_older_revisions
-- The texts of all but the current revision of the sources; returns those that were not excluded for it before.
insert into commonlore.evidence_exclusion (team_id, space_epoch, evidence_id, reason, known_from)
select %(team_id)s::uuid, %(space_epoch)s::bigint, e.evidence_id, 'source_revised', %(now)s::timestamptz
from commonlore.evidence e
join commonlore.evidence_source s using (team_id, space_epoch, source_id)
where e.source_id = any(%(source_ids)s::uuid[]) and e.revision_id <> s.current_revision_id
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id
on conflict do nothing
returning evidence_id;
