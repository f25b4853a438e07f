-- A second contract, kept beside the served one, with tables of its own.
insert into commonlore.embedding_contract (contract_id, contract_key, dimensions, lifecycle_state, started_at)
values (2, 'test:three', 3, 'building', '2026-01-06Z');
set role commonlore_owner;
select commonlore.make_vector_tables(2::smallint, 3);
reset role;
insert into commonlore.evidence_vector_2 values (md5('team')::uuid, 2, md5('evidence 1')::uuid, 0, '[1,0,0.5]');
insert into commonlore.relationship_vector_2 values (md5('team')::uuid, 2, 1, md5('relationship 1')::uuid, '[1,0,0.5]');
insert into commonlore.projection_progress values (md5('team')::uuid, 2, 1, md5('relationship 1')::uuid, 1, true);
insert into commonlore.contract_progress values (md5('team')::uuid, 2, 2, md5('evidence 1')::uuid, 0, false);
