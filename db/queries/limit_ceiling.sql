-- What only the owner does about limits.

-- name: set_ceiling
update commonlore.team t set limit_ceiling = %(limits)s::text::jsonb
where t.retired_at is null and t.limit_ceiling is distinct from %(limits)s::text::jsonb
  and t.team_id = %(team_id)s::uuid -- tenant
;
