-- A brief that was decided, and the summary that came of it.
insert into commonlore.delegated_brief values (md5('team')::uuid, 2, 'community_summary:1', 'summarise_community', 'decided', md5('claim')::uuid, md5('key')::uuid,
    md5('ada')::uuid, '2026-01-07Z', 2, '2026-01-07Z', '2026-01-06Z');
insert into commonlore.delegated_brief_event
select md5('team')::uuid, 2, 'community_summary:1', n, (array['claimed', 'decided'])[n], md5('claim')::uuid, md5('ada')::uuid, md5('key')::uuid, '{}', '2026-01-07Z'
from generate_series(1, 2) n;
insert into commonlore.delegated_summary values (md5('team')::uuid, 2, md5('community')::uuid, 'community_summary:1', 'Ada leads Orion.',
    array[md5('evidence 1')::uuid], '{0}', '{16}', md5('ada')::uuid, '2026-01-07Z');
