-- Differences of postings into blocks, and postings out of blocks. Run by the worker that holds the folding lock of the open space.

-- name: lock_folding
-- False when another worker folds this space now.
select pg_try_advisory_xact_lock(hashtextextended('commonlore.fold ' || %(space_epoch)s::bigint::text, 0)) as is_ours;

-- name: wait_for_folding
-- Waits for whoever folds this space.
select pg_advisory_xact_lock(hashtextextended('commonlore.fold ' || %(space_epoch)s::bigint::text, 0));

-- name: take_parts
-- The oldest differences of parts, taken away.
delete from commonlore.evidence_posting_difference d
where d.difference_no = any(array(
      select o.difference_no from commonlore.evidence_posting_difference o
      where o.team_id = %(team_id)s::uuid -- tenant
        and o.space_epoch = %(space_epoch)s::bigint -- tenant
      order by o.difference_no
      limit %(most)s::int))
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
returning d.evidence_ids::text[] as keys, d.bases, d.words;

-- name: append_parts
-- Blocks of postings, at most one a term that is not full: it goes into one of the term's latest that has room, the fullest of them.
-- Each is looked up by the key, and what grows is written as a conflict with it, so that no plan can go through the blocks of the space:
-- `offset 0` keeps the planner from joining in another way. A block is given as its term, its size and its slice of all entries.
with made as materialized (
    select t.term, t.size, sum(t.size) over (order by t.place rows unbounded preceding)::int as last
    from unnest(string_to_array(%(terms)s::text, chr(10)), %(sizes)s::int[]) with ordinality as t (term, size, place)
), placed as materialized (
    select m.term, m.size, m.last, o.block_no
    from made m
    left join lateral (
        select l.block_no from (
            select b.block_no, b.entries from commonlore.evidence_posting b
            where m.size < 64 and b.term = m.term
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
            order by b.block_no desc
            limit 4
        ) l
        where l.entries + m.size <= 64
        order by l.entries desc, l.block_no desc
        limit 1
        offset 0
    ) o on true
), grown as (
    insert into commonlore.evidence_posting as b (team_id, space_epoch, term, block_no, entries, evidence_ids, codes)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, p.term, p.block_no, p.size,
           (%(keys)s::uuid[])[p.last - p.size + 1 : p.last], (%(codes)s::bigint[])[p.last - p.size + 1 : p.last]
    from placed p
    where p.block_no is not null
    on conflict (team_id, space_epoch, term, block_no)
    do update set entries = b.entries + excluded.entries, evidence_ids = b.evidence_ids || excluded.evidence_ids, codes = b.codes || excluded.codes
)
insert into commonlore.evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes)
select %(team_id)s::uuid, %(space_epoch)s::bigint, p.term, p.size,
       (%(keys)s::uuid[])[p.last - p.size + 1 : p.last], (%(codes)s::bigint[])[p.last - p.size + 1 : p.last]
from placed p
where p.block_no is null;

-- name: take_documents
-- The oldest differences of documents, taken away, in the order in which they were written under the ledger lock of the space:
-- what takes a posting away comes after what added it.
with taken as (
    delete from commonlore.relationship_posting_difference d
    where (d.generation, d.difference_no) in (
          select o.generation, o.difference_no from commonlore.relationship_posting_difference o
          where o.team_id = %(team_id)s::uuid -- tenant
            and o.space_epoch = %(space_epoch)s::bigint -- tenant
          order by o.generation, o.difference_no
          limit %(most)s::int)
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    returning d.generation, d.difference_no, d.sign, d.relationship_ids::text[] as keys, d.bases, d.words
)
select t.generation, t.sign, t.keys, t.bases, t.words from taken t order by t.generation, t.difference_no;

-- name: append_documents
-- As append_parts, for the documents of one generation.
with made as materialized (
    select t.term, t.size, sum(t.size) over (order by t.place rows unbounded preceding)::int as last
    from unnest(string_to_array(%(terms)s::text, chr(10)), %(sizes)s::int[]) with ordinality as t (term, size, place)
), placed as materialized (
    select m.term, m.size, m.last, o.block_no
    from made m
    left join lateral (
        select l.block_no from (
            select b.block_no, b.entries from commonlore.relationship_posting b
            where m.size < 64 and b.generation = %(generation)s::int and b.term = m.term
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
            order by b.block_no desc
            limit 4
        ) l
        where l.entries + m.size <= 64
        order by l.entries desc, l.block_no desc
        limit 1
        offset 0
    ) o on true
), grown as (
    insert into commonlore.relationship_posting as b (team_id, space_epoch, generation, term, block_no, entries, relationship_ids, codes)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, p.term, p.block_no, p.size,
           (%(keys)s::uuid[])[p.last - p.size + 1 : p.last], (%(codes)s::bigint[])[p.last - p.size + 1 : p.last]
    from placed p
    where p.block_no is not null
    on conflict (team_id, space_epoch, generation, term, block_no)
    do update set entries = b.entries + excluded.entries, relationship_ids = b.relationship_ids || excluded.relationship_ids, codes = b.codes || excluded.codes
)
insert into commonlore.relationship_posting (team_id, space_epoch, generation, term, entries, relationship_ids, codes)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(generation)s::int, p.term, p.size,
       (%(keys)s::uuid[])[p.last - p.size + 1 : p.last], (%(codes)s::bigint[])[p.last - p.size + 1 : p.last]
from placed p
where p.block_no is null;

-- name: remove_postings
-- Single postings of documents out of their blocks.
with gone as materialized (
    select g.term, g.relationship_id, g.code
    from unnest(%(terms)s::text[], %(relationship_ids)s::uuid[], %(codes)s::bigint[]) as g (term, relationship_id, code)
)
update commonlore.relationship_posting b
set (entries, relationship_ids, codes) = (
    select count(*), coalesce(array_agg(e.relationship_id), '{}'), coalesce(array_agg(e.code), '{}')
    from unnest(b.relationship_ids, b.codes) as e (relationship_id, code)
    where (b.term, e.relationship_id, e.code) not in (select g.term, g.relationship_id, g.code from gone g))
where b.generation = %(generation)s::int and b.term = any(%(terms)s::text[]) and b.relationship_ids && %(relationship_ids)s::uuid[]
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: clear_emptied_documents
delete from commonlore.relationship_posting b
where b.entries = 0 and b.generation = %(generation)s::int and b.term = any(%(terms)s::text[])
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: remove_parts
-- Every posting of some evidence out of the blocks of the space; each block is looked at, whatever its term.
update commonlore.evidence_posting b
set (entries, evidence_ids, codes) = (
    select count(*), coalesce(array_agg(e.evidence_id), '{}'), coalesce(array_agg(e.code), '{}')
    from unnest(b.evidence_ids, b.codes) as e (evidence_id, code)
    where e.evidence_id <> all(%(evidence_ids)s::uuid[]))
where b.evidence_ids && %(evidence_ids)s::uuid[]
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: clear_emptied_parts
delete from commonlore.evidence_posting b
where b.entries = 0
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: remove_documents
-- Every posting of some relationships out of the blocks of every generation.
update commonlore.relationship_posting b
set (entries, relationship_ids, codes) = (
    select count(*), coalesce(array_agg(e.relationship_id), '{}'), coalesce(array_agg(e.code), '{}')
    from unnest(b.relationship_ids, b.codes) as e (relationship_id, code)
    where e.relationship_id <> all(%(relationship_ids)s::uuid[]))
where b.relationship_ids && %(relationship_ids)s::uuid[]
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: clear_all_emptied_documents
delete from commonlore.relationship_posting b
where b.entries = 0
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;
