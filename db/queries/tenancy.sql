-- Teams, members, keys and spaces. Run by the owner and by the serving role; both are bound by the policies.

-- name: add_team
insert into commonlore.team (team_id, name, known_from) values (%(team_id)s::uuid, %(name)s::text, %(now)s::timestamptz);

-- name: add_generation
-- The gate of the relationship vector branch stands from the start: generation 1, current, of the served contract. One row.
insert into commonlore.projection_generation
    (team_id, source_kind, generation, format_version, contract_id, state, known_from, activated_at)
select %(team_id)s::uuid, 'relationship', 1, %(format_version)s::integer, c.contract_id, 'current', %(now)s::timestamptz, %(now)s::timestamptz
from commonlore.embedding_contract c
where c.lifecycle_state = 'served'
returning generation;

-- name: list_teams
-- Every team of the installation, by name, then id. Only a role with the policy list_teams sees more than its own.
select t.team_id, t.name, t.known_from, t.retired_at from commonlore.team t order by t.name, t.team_id;

-- name: read_active_team
select t.team_id, t.name, t.known_from, t.retired_at from commonlore.team t
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: retire_team
update commonlore.team t set retired_at = %(now)s::timestamptz
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
returning t.team_id, t.name, t.known_from, t.retired_at;

-- name: describe_team
select t.team_id, t.name, t.unclaimed_evidence, t.known_from from commonlore.team t
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
;

-- name: set_unclaimed_evidence
-- The one column of a team that the serving role may change.
update commonlore.team t set unclaimed_evidence = %(unclaimed_evidence)s::text
where t.retired_at is null
  and t.team_id = %(team_id)s::uuid -- tenant
returning t.team_id, t.name, t.unclaimed_evidence, t.known_from;

-- name: add_member
insert into commonlore.profile (team_id, profile_id, name, profile_kind, role, known_from)
values (%(team_id)s::uuid, %(profile_id)s::uuid, %(name)s::text, %(profile_kind)s::text, %(role)s::text, %(now)s::timestamptz);

-- name: list_members
-- By name.
select p.profile_id, p.name, p.profile_kind, p.known_from, p.retired_at, p.role from commonlore.profile p
where true
  and p.team_id = %(team_id)s::uuid -- tenant
order by p.name;

-- name: page_members
-- By id, which is the order of making; those after one id. Index: the primary key.
select p.profile_id, p.name, p.profile_kind, p.known_from, p.retired_at, p.role from commonlore.profile p
where p.profile_id > %(after)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
order by p.profile_id
limit %(limit)s::integer;

-- name: lock_active_member
-- One row while the member is active; a retirement waits for this transaction. Writes that only name the member do not: they may hold the
-- ledger lock that a retirement takes first, or wait for it.
select p.profile_id, p.name, p.profile_kind, p.known_from, p.retired_at, p.role from commonlore.profile p
where p.profile_id = %(profile_id)s::uuid and p.retired_at is null
  and p.team_id = %(team_id)s::uuid -- tenant
for no key update;

-- name: set_role
update commonlore.profile p set role = %(role)s::text
where p.profile_id = %(profile_id)s::uuid and p.retired_at is null
  and p.team_id = %(team_id)s::uuid -- tenant
returning p.profile_id, p.name, p.profile_kind, p.known_from, p.retired_at, p.role;

-- name: narrow_keys_of_member
-- Takes from a member's keys every scope that is not among `scopes`. One that has none of them is revoked and keeps its scopes.
update commonlore.credential c set
    scopes = case when c.scopes && %(scopes)s::text[] then array(select s from unnest(c.scopes) s where s = any(%(scopes)s::text[])) else c.scopes end,
    revoked_at = case when c.scopes && %(scopes)s::text[] then null else %(now)s::timestamptz end
where c.profile_id = %(profile_id)s::uuid and c.revoked_at is null and not c.scopes <@ %(scopes)s::text[]
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: retire_member
update commonlore.profile p set retired_at = %(now)s::timestamptz
where p.profile_id = %(profile_id)s::uuid and p.retired_at is null
  and p.team_id = %(team_id)s::uuid -- tenant
returning p.profile_id, p.name, p.profile_kind, p.known_from, p.retired_at, p.role;

-- name: lock_admin_keys
-- The active admin keys of the team, locked by id, so that two who remove each other's take turns. Index: the primary key.
select c.credential_id, c.profile_id from commonlore.credential c
where 'admin' = any(c.scopes) and c.revoked_at is null and coalesce(c.expires_at > %(now)s::timestamptz, true)
  and c.team_id = %(team_id)s::uuid -- tenant
order by c.credential_id
for update;

-- name: add_key
insert into commonlore.credential
    (team_id, credential_id, profile_id, name, prefix, suffix, secret_sha256, scopes, memory_binding, known_from, expires_at)
values (%(team_id)s::uuid, %(credential_id)s::uuid, %(profile_id)s::uuid, %(name)s::text, %(prefix)s::text, %(suffix)s::text,
        %(secret_sha256)s::bytea, %(scopes)s::text[], %(memory_binding)s::text, %(now)s::timestamptz, %(expires_at)s::timestamptz);

-- name: list_keys
-- By member, then name, then id; never the hash. `credential_id` null lists all of them. A revoked key stays in the list.
select c.credential_id, c.profile_id, p.name as profile_name, c.name, c.prefix, c.suffix, c.scopes, c.memory_binding, c.known_from,
       c.expires_at, c.revoked_at, c.last_used_at
from commonlore.credential c
join commonlore.profile p using (team_id, profile_id)
where (%(credential_id)s::uuid is null or c.credential_id = %(credential_id)s::uuid)
  and c.team_id = %(team_id)s::uuid -- tenant
order by p.name, c.name, c.credential_id;

-- name: page_keys
-- By id, which is the order of making; those after one id. Never the hash. Index: the primary key.
select c.credential_id, c.profile_id, p.name as profile_name, c.name, c.prefix, c.suffix, c.scopes, c.memory_binding, c.known_from,
       c.expires_at, c.revoked_at, c.last_used_at
from commonlore.credential c
join commonlore.profile p using (team_id, profile_id)
where c.credential_id > %(after)s::uuid
  and c.team_id = %(team_id)s::uuid -- tenant
order by c.credential_id
limit %(limit)s::integer;

-- name: rotate_key
-- A new prefix and secret for the same credential. An expired key stays expired unless it is given a new end.
update commonlore.credential c set
    prefix = %(prefix)s::text, suffix = %(suffix)s::text, secret_sha256 = %(secret_sha256)s::bytea,
    expires_at = coalesce(%(expires_at)s::timestamptz, c.expires_at)
where c.credential_id = %(credential_id)s::uuid and c.revoked_at is null
  and c.team_id = %(team_id)s::uuid -- tenant
returning c.credential_id;

-- name: revoke_key
update commonlore.credential c set revoked_at = %(now)s::timestamptz
where c.credential_id = %(credential_id)s::uuid and c.revoked_at is null
  and c.team_id = %(team_id)s::uuid -- tenant
returning c.credential_id;

-- name: revoke_keys_of_member
update commonlore.credential c set revoked_at = %(now)s::timestamptz
where c.profile_id = %(profile_id)s::uuid and c.revoked_at is null
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: add_space
-- A space with a fresh epoch number, and its epoch; none where the profile or credential has its private space already.
with made as (
    insert into commonlore.space (team_id, space_id, space_kind, owner_profile_id, owner_credential_id, space_epoch, known_from)
    values (%(team_id)s::uuid, %(space_id)s::uuid, %(space_kind)s::text, %(owner_profile_id)s::uuid, %(owner_credential_id)s::uuid,
            nextval('commonlore.space_epoch_number'), %(now)s::timestamptz)
    on conflict do nothing
    returning team_id, space_epoch, space_id, known_from
)
insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from)
select team_id, space_epoch, space_id, known_from from made;

-- name: list_spaces
-- The shared space, named ones by name, then private ones by their owner's name; id at last.
select s.space_id, s.space_kind, s.name, coalesce(p.name, c.name) as owner, s.lifecycle_state, s.known_from
from commonlore.space s
left join commonlore.profile p on p.team_id = s.team_id and p.profile_id = s.owner_profile_id
left join commonlore.credential c on c.team_id = s.team_id and c.credential_id = s.owner_credential_id
where true
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_kind <> 'team_shared', s.name nulls first, owner, s.space_id;

-- name: page_spaces
-- By id, which is the order of making; those after one id. Index: the primary key.
select s.space_id, s.space_kind, s.name, coalesce(p.name, c.name) as owner, s.lifecycle_state, s.known_from
from commonlore.space s
left join commonlore.profile p on p.team_id = s.team_id and p.profile_id = s.owner_profile_id
left join commonlore.credential c on c.team_id = s.team_id and c.credential_id = s.owner_credential_id
where s.space_id > %(after)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_id
limit %(limit)s::integer;
