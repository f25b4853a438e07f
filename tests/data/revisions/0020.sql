-- A named space that a member may write in, and a grant that was taken away.
insert into commonlore.space (team_id, space_id, space_kind, name, space_epoch, known_from)
values (md5('team')::uuid, md5('handbook')::uuid, 'team_shared', 'handbook', 900, '2026-01-09Z');
insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from) values (md5('team')::uuid, 900, md5('handbook')::uuid, '2026-01-09Z');
insert into commonlore.space_grant values
    (md5('team')::uuid, md5('grant 1')::uuid, md5('handbook')::uuid, md5('ada')::uuid, 'read', null, '2026-01-09Z', md5('ada')::uuid, '2026-01-10Z'),
    (md5('team')::uuid, md5('grant 2')::uuid, md5('handbook')::uuid, md5('ada')::uuid, 'write', md5('ada')::uuid, '2026-01-10Z', null, null);
