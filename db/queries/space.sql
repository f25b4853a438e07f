-- Named spaces and what members may do there. Run by the owner and by the serving role; both are bound by the policies.

-- name: add_named_space
-- A space of the team with a name of its own, and its epoch.
with made as (
    insert into commonlore.space (team_id, space_id, space_kind, name, space_epoch, known_from)
    values (%(team_id)s::uuid, %(space_id)s::uuid, 'team_shared', %(name)s::text, nextval('commonlore.space_epoch_number'), %(now)s::timestamptz)
    returning team_id, space_epoch, space_id, known_from
)
insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from)
select team_id, space_epoch, space_id, known_from from made;

-- name: read_space
-- One space of the team in any state. Index: the primary key.
select s.space_id, s.space_kind, s.name, coalesce(p.name, c.name) as owner, s.lifecycle_state, s.known_from
from commonlore.space s
left join commonlore.profile p on p.team_id = s.team_id and p.profile_id = s.owner_profile_id
left join commonlore.credential c on c.team_id = s.team_id and c.credential_id = s.owner_credential_id
where s.space_id = %(space_id)s::uuid
  and s.team_id = %(team_id)s::uuid -- tenant
;

-- name: lock_named_space
-- One row while the space is active and has a name; a change of its grants takes turns with others.
select s.space_id from commonlore.space s
where s.space_id = %(space_id)s::uuid and s.name is not null and s.lifecycle_state = 'active'
  and s.team_id = %(team_id)s::uuid -- tenant
for no key update;

-- name: rename_space
update commonlore.space s set name = %(name)s::text
where s.space_id = %(space_id)s::uuid and s.name is not null and s.lifecycle_state = 'active'
  and s.team_id = %(team_id)s::uuid -- tenant
returning s.space_id;

-- name: end_grant
-- Ends what a member may do in a space; none where it may nothing, or the same.
update commonlore.space_grant g set known_to = %(now)s::timestamptz, ended_by_profile_id = %(actor_profile_id)s::uuid
where g.space_id = %(space_id)s::uuid and g.profile_id = %(profile_id)s::uuid and g.known_to is null
  and g.access is distinct from %(access)s::text
  and g.team_id = %(team_id)s::uuid -- tenant
returning g.grant_id;

-- name: end_grants_of_member
update commonlore.space_grant g set known_to = %(now)s::timestamptz, ended_by_profile_id = %(actor_profile_id)s::uuid
where g.profile_id = %(profile_id)s::uuid and g.known_to is null
  and g.team_id = %(team_id)s::uuid -- tenant
;

-- name: add_grant
-- What a member may do in a space from now on; nothing where it may the same already.
insert into commonlore.space_grant (team_id, grant_id, space_id, profile_id, access, granted_by_profile_id, known_from)
values (%(team_id)s::uuid, %(grant_id)s::uuid, %(space_id)s::uuid, %(profile_id)s::uuid, %(access)s::text, %(actor_profile_id)s::uuid,
        %(now)s::timestamptz)
on conflict (team_id, profile_id, space_id) where known_to is null do nothing;

-- name: list_grants
-- Who may do what in a space now, by the member's name. `profile_id` null lists all of them.
select g.profile_id, p.name, g.access, g.known_from, g.granted_by_profile_id
from commonlore.space_grant g
join commonlore.profile p using (team_id, profile_id)
where g.space_id = %(space_id)s::uuid and g.known_to is null
  and (%(profile_id)s::uuid is null or g.profile_id = %(profile_id)s::uuid)
  and g.team_id = %(team_id)s::uuid -- tenant
order by p.name;
