-- What a member who retires leaves: conflicts, and texts of others that only its statements claimed.

-- name: shared_spaces
-- The active spaces of the team that several members write, in the order of their epochs. No member meets another one elsewhere.
select s.space_id, s.space_epoch from commonlore.space s
where s.space_kind = 'team_shared' and s.lifecycle_state = 'active'
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: standing_statements
-- The statements of a member that count now, by id.
select r.relationship_id from commonlore.relationship r
where r.owner_profile_id = %(profile_id)s::uuid and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
order by r.relationship_id;
