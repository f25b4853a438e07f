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
-- Postings of the many parts of one write, by term: one term a line, beside it the literals of its arrays.
insert into commonlore.evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes)
select %(team_id)s::uuid, %(space_epoch)s::bigint, b.term, cardinality(b.codes::bigint[]), b.keys::uuid[], b.codes::bigint[]
from unnest(string_to_array(%(terms)s::text, chr(10)), string_to_array(%(keys)s::text, chr(10)), string_to_array(%(codes)s::text, chr(10)))
    as b (term, keys, codes);

-- name: insert_document_differences
-- Postings of documents that are added or taken away, in the order in which they count: the writer holds the ledger lock of the space.
insert into commonlore.relationship_posting_difference (team_id, space_epoch, generation, sign, relationship_ids, bases, words)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, d.sign, d.keys, d.bases, d.words
from jsonb_to_recordset(%(rows)s::text::jsonb) as d (sign smallint, keys uuid[], bases bigint[], words jsonb);
