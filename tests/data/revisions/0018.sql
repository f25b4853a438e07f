-- A recall that was kept for feedback, with one result, and what was said of both.
insert into commonlore.feedback_recall values (md5('team')::uuid, md5('recall')::uuid, md5('ada')::uuid, md5('key')::uuid, 'ranking-1 zscore-2', '2026-01-08Z');
insert into commonlore.feedback_result values (md5('team')::uuid, md5('recall')::uuid, 'evidence', md5('evidence 1')::uuid, 1, false);
insert into commonlore.recall_feedback values (md5('team')::uuid, md5('recall')::uuid, true, false, 'low', false, true, true, '2026-01-08Z');
insert into commonlore.feedback_mark values (md5('team')::uuid, md5('recall')::uuid, 'evidence', md5('evidence 1')::uuid, true, null, null, null);
