-- The context of a transaction. No other file may call set_config on a commonlore setting (tested).

-- name: enter_team
-- Fixes the team for this transaction and leaves every space closed. Settings end with the transaction.
select set_config('commonlore.team_id', %(team_id)s::uuid::text, true), set_config('commonlore.space_epoch', '', true),
       set_config('statement_timeout', %(timeout_ms)s::int::text, true),
       -- Every statement here has an index that leads with the team. Where one team holds most of a table the planner would
       -- read the heap instead, which costs the vector branch twice as much, and more as other teams grow.
       set_config('enable_seqscan', 'off', true),
       -- Reads are planned once for all teams, as if one team had every row (migration 0008); writes are planned for the team.
       set_config('plan_cache_mode', %(plans)s::text, true);

-- name: enter_space
-- Opens one space: its present epoch, resolved under the team's policy. An inactive or foreign space leaves all closed.
select set_config('commonlore.space_epoch', coalesce((
    select s.space_epoch::text from commonlore.space s
    where s.space_id = %(space_id)s::uuid and s.lifecycle_state = 'active'
      and s.team_id = %(team_id)s::uuid -- tenant
), ''), true) as space_epoch;

-- name: enter_epoch
-- Opens one epoch by its number, whatever state its space has: for archives, which carry sealed and retired spaces too.
select set_config('commonlore.space_epoch', %(space_epoch)s::bigint::text, true);

-- name: enter_erased
-- Opens an epoch that an erasure reaches into, for the worker that carries it out: also one that a fence has ended.
select set_config('commonlore.space_epoch', coalesce((
    select s.space_epoch::text from commonlore.erasure_scope s
    where s.erasure_id = %(erasure_id)s::uuid and s.space_epoch = %(epoch)s::bigint
      and s.team_id = %(team_id)s::uuid -- tenant
), ''), true) as space_epoch;

-- name: search_by_index
-- From here on a search by a vector index keeps that many candidates, and looks further while gates refuse what it found.
-- The order in which it finds them is near enough: the statements sort what they get.
select set_config('hnsw.ef_search', %(ef_search)s::int::text, true), set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- name: authenticate
-- One row for the prefix, or none: the stored hash, its state and the spaces the credential may read. Index: credential (team_id, prefix).
select c.credential_id, c.profile_id, c.secret_sha256, c.scopes, t.unclaimed_evidence, t.recall_feedback,
       c.limits::text as key_limits, t.limits::text as team_limits, t.limit_ceiling::text as limit_ceiling,
       c.revoked_at is null and p.retired_at is null and t.retired_at is null
           and coalesce(c.expires_at > %(now)s::timestamptz, true) as valid,
       (select coalesce(jsonb_agg(jsonb_build_array(s.space_id, s.space_kind, s.name, s.space_epoch, s.content_from is not null,
                                                             s.name is null or g.access = 'write')), '[]')
        from commonlore.space s
        left join commonlore.space_grant g
          on g.space_id = s.space_id and g.profile_id = c.profile_id and g.known_to is null
          and g.team_id = %(team_id)s::uuid -- tenant
        where s.lifecycle_state = 'active'
          and (s.space_kind = 'team_shared' and (s.name is null or g.access is not null)
               or s.space_kind = 'credential_private' and c.memory_binding = 'credential_private' and s.owner_credential_id = c.credential_id
               or s.space_kind = 'profile_private' and c.memory_binding = 'profile_private' and s.owner_profile_id = c.profile_id)
          and s.team_id = %(team_id)s::uuid -- tenant
       ) as spaces
from commonlore.credential c
join commonlore.profile p using (team_id, profile_id)
join commonlore.team t using (team_id)
where c.prefix = %(prefix)s::text
  and c.team_id = %(team_id)s::uuid -- tenant
;

-- name: touch_credentials
-- Notes the use of several credentials at once, at most one write a credential and minute.
update commonlore.credential c set last_used_at = %(now)s::timestamptz
where c.credential_id = any(%(credential_ids)s::uuid[])
  and (c.last_used_at is null or c.last_used_at < %(now)s::timestamptz - interval '1 minute')
  and c.team_id = %(team_id)s::uuid -- tenant
;
