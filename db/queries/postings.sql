-- Postings as writes put them down. How they are folded stands in folding.sql; how they are searched, in frontier.sql.

-- name: insert_part_differences
-- Postings of the parts of one write, by text; how many differences waited before, counted up to `most`.
with made as (
    insert into commonlore.evidence_posting_difference (team_id, space_epoch, evidence_ids, bases, words)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, d.keys, d.bases, d.words
    from jsonb_to_recordset(%(rows)s::text::jsonb) as d (keys uuid[], bases bigint[], words jsonb)
)
select count(*) as waiting
from (
    select from commonlore.evidence_posting_difference d
    where d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    limit %(most)s::int
) n;

-- name: insert_part_blocks
-- Postings of the many parts of one write, by term: a term a line, the size of its block, and the entries of all blocks one after another.
insert into commonlore.evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes)
select %(team_id)s::uuid, %(space_epoch)s::bigint, m.term, m.size,
       (%(keys)s::uuid[])[m.last - m.size + 1 : m.last], (%(codes)s::bigint[])[m.last - m.size + 1 : m.last]
from (
    select t.term, t.size, sum(t.size) over (order by t.place rows unbounded preceding)::int as last
    from unnest(string_to_array(%(terms)s::text, chr(10)), %(sizes)s::int[]) with ordinality as t (term, size, place)
) m;

-- name: insert_document_differences
-- Postings of documents that are added or taken away, in the order in which they count: the writer holds the ledger lock of the space.
insert into commonlore.relationship_posting_difference (team_id, space_epoch, generation, sign, relationship_ids, bases, words)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, d.sign, d.keys, d.bases, d.words
from jsonb_to_recordset(%(rows)s::text::jsonb) as d (sign smallint, keys uuid[], bases bigint[], words jsonb);
