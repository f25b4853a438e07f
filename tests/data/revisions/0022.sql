-- A team that keeps its log for two years, and whose job ran.
insert into commonlore.retention_rule (team_id, audit_days, last_run_at) values (md5('team')::uuid, 730, '2026-01-09Z');
