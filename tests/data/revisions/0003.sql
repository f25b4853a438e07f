-- What the texts and the first relationship are searched by.
insert into commonlore.evidence_part
select team_id, space_epoch, evidence_id, 0, 0, length(content), null from commonlore.evidence;
insert into commonlore.evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes)
select md5('team')::uuid, 2, term, 1, array[md5('evidence 1')::uuid], array[65539] from unnest(array['ada', 'lead', 'orion']) term;
insert into commonlore.evidence_posting_difference (team_id, space_epoch, evidence_ids, bases, words)
values (md5('team')::uuid, 2, array[md5('evidence 2')::uuid], array[4], '{"orion": "{64}", "has": "{64}", "7": "{64}", "peopl": "{64}"}');
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
insert into commonlore.relationship_posting (team_id, space_epoch, generation, term, entries, relationship_ids, codes)
select md5('team')::uuid, 2, 1, term, 1, array[md5('relationship 1')::uuid], array[65539] from unnest(array['ada', 'lead']) term;
insert into commonlore.relationship_posting_difference (team_id, space_epoch, generation, sign, relationship_ids, bases, words)
values (md5('team')::uuid, 2, 1, 1, array[md5('relationship 1')::uuid], array[3], '{"orion": "{64}"}');
insert into commonlore.relationship_statistic values (md5('team')::uuid, 2, 1, md5('statistic')::uuid, 1, 3);
insert into commonlore.relationship_vector_1
values (md5('team')::uuid, 2, 1, md5('relationship 1')::uuid, array_fill(0.05, array[384])::real[]::vector::halfvec);
