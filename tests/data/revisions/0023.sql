-- A team and a key with numbers of their own, and what both used.
update commonlore.team set limits = '{"read": {"per_minute": 600}}', limit_ceiling = '{"storage": {"texts": 1000}}' where team_id = md5('team')::uuid;
update commonlore.credential set limits = '{"write": {"per_day": 50}}' where credential_id = md5('key')::uuid;
insert into commonlore.limit_use values (md5('team')::uuid, md5('team')::uuid, 'read', '2026-01-08Z', '2026-01-08Z', 3, '2026-01-01Z', 9);
insert into commonlore.limit_use values (md5('team')::uuid, md5('key')::uuid, 'write', '2026-01-08Z', '2026-01-08Z', 1, '2026-01-01Z', 2);
