-- An index that was measured, in the report only.
insert into commonlore.vector_index (team_id, space_epoch, frontier, contract_id, generation, index_name, state, ef_search, row_count, overlap, query_count, measured_at)
values (md5('team')::uuid, 2, 'evidence', 1, 0, 'evidence_vector_1_near_2', 'ready', 200, 15000, 995, 40, '2026-01-06Z');
insert into commonlore.vector_overlap values (md5('team')::uuid, 2, 'evidence', 14, 995, 990, 40, '2026-01-06Z');
