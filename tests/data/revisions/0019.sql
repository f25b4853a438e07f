-- A vector that comes with a transaction, which no archive carries: the rows of earlier revisions come with their migration's.
insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding)
select v.team_id, v.space_epoch, v.evidence_id, v.part_no + 1000, v.embedding from commonlore.evidence_vector_1 v limit 1;
