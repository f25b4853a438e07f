-- Why somebody cannot see something, for administrators. Read only; in any space of the team, one at a time.

-- name: subject
select p.profile_id, p.name, p.retired_at is not null as is_retired, t.unclaimed_evidence
from commonlore.profile p
join commonlore.team t using (team_id)
where p.profile_id = %(profile_id)s::uuid
  and p.team_id = %(team_id)s::uuid -- tenant
;

-- name: spaces
-- Every space of the team in any state, with what a member is granted there, by id.
select s.space_id, s.space_kind, s.name, s.space_epoch, s.lifecycle_state, s.owner_profile_id, s.owner_credential_id, g.access
from commonlore.space s
left join commonlore.space_grant g
  on g.space_id = s.space_id and g.profile_id = %(profile_id)s::uuid and g.known_to is null
  and g.team_id = %(team_id)s::uuid -- tenant
where true
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_id;

-- name: locate
-- What an id is in the open space; no row where it is nothing there. Index: the primary keys.
select 'evidence' as kind from commonlore.evidence e
where e.evidence_id = %(target_id)s::uuid
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
union all
select 'relationship' from commonlore.relationship r
where r.relationship_id = %(target_id)s::uuid
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;
