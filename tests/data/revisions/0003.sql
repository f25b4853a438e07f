-- What the texts and the first relationship are searched by.
insert into commonlore.evidence_part
select team_id, space_epoch, evidence_id, 0, 0, length(content), null from commonlore.evidence;
insert into commonlore.evidence_posting (team_id, space_epoch, term, evidence_id, part_no, frequency, length)
select md5('team')::uuid, 2, term, md5('evidence 1')::uuid, 0, 1, 3 from unnest(array['ada', 'lead', 'orion']) term
union all
select md5('team')::uuid, 2, term, md5('evidence 2')::uuid, 0, 1, 4 from unnest(array['orion', 'has', '7', 'peopl']) term;
insert into commonlore.evidence_term_statistic (team_id, space_epoch, term, statistic_id, parts)
select team_id, space_epoch, term, md5('statistic of ' || term)::uuid, count(*) from commonlore.evidence_posting group by team_id, space_epoch, term;
insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts)
values (md5('team')::uuid, 2, md5('statistic')::uuid, 2, 7, 2);
insert into commonlore.evidence_vector_1
select team_id, space_epoch, evidence_id, part_no, array_fill(0.05, array[384])::real[]::vector::halfvec
from commonlore.evidence_part where evidence_id = md5('evidence 1')::uuid;
insert into commonlore.evidence_embedding_backlog (team_id, space_epoch, evidence_id, part_no, contract_id, search_state)
values (md5('team')::uuid, 2, md5('evidence 2')::uuid, 0, 1, 'pending');
insert into commonlore.relationship_document (team_id, space_epoch, generation, relationship_id, source_version, document_text, search_state) values
    (md5('team')::uuid, 2, 1, md5('relationship 1')::uuid, 1, 'Ada leads Orion', 'current'),
    (md5('team')::uuid, 2, 1, md5('relationship 2')::uuid, 1, 'Orion has people 7', 'pending');
insert into commonlore.relationship_posting (team_id, space_epoch, generation, term, relationship_id, frequency, length)
select md5('team')::uuid, 2, 1, term, md5('relationship 1')::uuid, 1, 3 from unnest(array['ada', 'lead', 'orion']) term;
insert into commonlore.relationship_term_statistic (team_id, space_epoch, generation, term, statistic_id, documents)
select team_id, space_epoch, 1, term, md5('statistic of ' || term)::uuid, 1 from commonlore.relationship_posting;
insert into commonlore.relationship_statistic values (md5('team')::uuid, 2, 1, md5('statistic')::uuid, 1, 3);
insert into commonlore.relationship_vector_1
values (md5('team')::uuid, 2, 1, md5('relationship 1')::uuid, array_fill(0.05, array[384])::real[]::vector::halfvec);
