-- A team with two members, a shared and a private space. The key is cl_<md5 of 'team'>_aaaaaaaaaaaa_<52 times b>.
insert into commonlore.team (team_id, name, known_from) values (md5('team')::uuid, 'atlas', '2026-01-01Z');
insert into commonlore.profile (team_id, profile_id, name, profile_kind, known_from) values
    (md5('team')::uuid, md5('ada')::uuid, 'ada', 'human', '2026-01-01Z'),
    (md5('team')::uuid, md5('ben')::uuid, 'ben', 'agent', '2026-01-01Z');
insert into commonlore.credential (team_id, credential_id, profile_id, name, prefix, suffix, secret_sha256, scopes, memory_binding, known_from)
values (md5('team')::uuid, md5('key')::uuid, md5('ada')::uuid, 'key', 'aaaaaaaaaaaa', 'bbbb', sha256(repeat('b', 52)::bytea),
        array['read', 'write', 'admin'], 'credential_private', '2026-01-01Z');
select setval('commonlore.space_epoch_number', 2);
insert into commonlore.space (team_id, space_id, space_kind, owner_credential_id, space_epoch, known_from, content_from) values
    (md5('team')::uuid, md5('private')::uuid, 'credential_private', md5('key')::uuid, 1, '2026-01-01Z', null),
    (md5('team')::uuid, md5('shared')::uuid, 'team_shared', null, 2, '2026-01-01Z', '2026-01-02Z');
insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from) values
    (md5('team')::uuid, 1, md5('private')::uuid, '2026-01-01Z'),
    (md5('team')::uuid, 2, md5('shared')::uuid, '2026-01-01Z');
insert into commonlore.projection_generation (team_id, source_kind, generation, format_version, contract_id, state, known_from, activated_at)
values (md5('team')::uuid, 'relationship', 1, 2, 1, 'current', '2026-01-01Z', '2026-01-01Z');
