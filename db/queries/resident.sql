-- What a process keeps of the spaces it is asked about: reading their vectors and postings, and what else its answers need.
-- A vector's `arrived` is the transaction that brought it. What a snapshot sees beyond an older one came with a transaction that was
-- not over for the older: one not below its xmin. Rows that were restored from another server may name transactions that are still to
-- come here: those count as none (0), so that what comes with them is asked for.

-- name: load_evidence
-- Every vector of the space, as bytes in one row, each column in the same order; `mark` is the least transaction that is not over.
-- `first` is one of the vectors, and `distances` how far the database finds each from it.
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, true as holds, string_agg(uuid_send(v.evidence_id), '') as ids, string_agg(int4send(v.part_no), '') as part_nos,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived,
       string_agg(halfvec_send(v.embedding), '') as vectors, string_agg(halfvec_send(v.embedding), '') filter (where v.evidence_id = f.evidence_id and v.part_no = f.part_no) as first,
       string_agg(float8send(v.embedding <#> f.embedding), '') as distances
from commonlore.evidence_vector_1 v
cross join lateral (
    select w.evidence_id, w.part_no, w.embedding from commonlore.evidence_vector_1 w
    where w.team_id = %(team_id)s::uuid -- tenant
      and w.space_epoch = %(space_epoch)s::bigint -- tenant
    order by w.evidence_id, w.part_no
    limit 1
) f
where v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: new_evidence
-- As `load_evidence`: what came with a transaction from `mark` on, save those in `held`. `holds`: this snapshot sees all of those.
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark,
       (select coalesce(bool_and(pg_visible_in_snapshot(h.held, (select pg_current_snapshot()))), true) from unnest(%(held)s::xid8[]) h (held)) as holds,
       string_agg(uuid_send(v.evidence_id), '') as ids, string_agg(int4send(v.part_no), '') as part_nos,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived,
       string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.evidence_vector_1 v
where v.arrived > '0' and v.arrived >= %(mark)s::xid8 and v.arrived <> all(%(held)s::xid8[]) and pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot()))
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: load_relationship
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark, true as holds, string_agg(uuid_send(v.relationship_id), '') as ids, string_agg(int4send(0), '') as part_nos,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived,
       string_agg(halfvec_send(v.embedding), '') as vectors, string_agg(halfvec_send(v.embedding), '') filter (where v.relationship_id = f.relationship_id) as first,
       string_agg(float8send(v.embedding <#> f.embedding), '') as distances
from commonlore.relationship_vector_1 v
cross join lateral (
    select w.relationship_id, w.embedding from commonlore.relationship_vector_1 w
    where w.generation = %(generation)s::int
      and w.team_id = %(team_id)s::uuid -- tenant
      and w.space_epoch = %(space_epoch)s::bigint -- tenant
    order by w.relationship_id
    limit 1
) f
where v.generation = %(generation)s::int
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: new_relationship
select pg_snapshot_xmin((select pg_current_snapshot()))::text::int8 as mark,
       (select coalesce(bool_and(pg_visible_in_snapshot(h.held, (select pg_current_snapshot()))), true) from unnest(%(held)s::xid8[]) h (held)) as holds,
       string_agg(uuid_send(v.relationship_id), '') as ids, string_agg(int4send(0), '') as part_nos,
       string_agg(int8send(case when pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot())) then v.arrived::text::int8 else 0 end), '') as arrived,
       string_agg(halfvec_send(v.embedding), '') as vectors
from commonlore.relationship_vector_1 v
where v.generation = %(generation)s::int and v.arrived > '0' and v.arrived >= %(mark)s::xid8 and v.arrived <> all(%(held)s::xid8[]) and pg_visible_in_snapshot(v.arrived, (select pg_current_snapshot()))
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_evidence_words
-- Every block of some words, each column in the database's own form of arrays.
select b.term, array_send(b.evidence_ids) as ids, array_send(b.codes) as codes
from commonlore.evidence_posting b
where b.term = any(%(terms)s::text[])
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: read_relationship_words
select b.term, array_send(b.relationship_ids) as ids, array_send(b.codes) as codes
from commonlore.relationship_posting b
where b.term = any(%(terms)s::text[]) and b.generation = %(generation)s::int
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: load_evidence_words
-- One row of the folded words of the space that come after another, `most` of them, or of nulls where there are no more: the words, of each its
-- stamp as `read_statistics` has it and how many postings, then the ids and the codes of all of them, as the elements of arrays in the database's own form.
select array_agg(w.term order by w.term) as terms, string_agg(int8send(w.stamp), '' order by w.term) as stamps,
       string_agg(int4send(w.entries), '' order by w.term) as counts, string_agg(w.ids, '' order by w.term) as ids,
       string_agg(w.codes, '' order by w.term) as codes
from (
    select b.term, bit_xor(hashint8extended(b.block_no, b.xmin::text::int8)) as stamp, sum(b.entries)::int as entries,
           string_agg(substring(array_send(b.evidence_ids) from 21), '' order by b.block_no) as ids,
           string_agg(substring(array_send(b.codes) from 21), '' order by b.block_no) as codes
    from commonlore.evidence_posting b
    where b.term > %(after)s::text
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
    group by b.term order by b.term limit %(most)s::int
) w;

-- name: load_relationship_words
select array_agg(w.term order by w.term) as terms, string_agg(int8send(w.stamp), '' order by w.term) as stamps,
       string_agg(int4send(w.entries), '' order by w.term) as counts, string_agg(w.ids, '' order by w.term) as ids,
       string_agg(w.codes, '' order by w.term) as codes
from (
    select b.term, bit_xor(hashint8extended(b.block_no, b.xmin::text::int8)) as stamp, sum(b.entries)::int as entries,
           string_agg(substring(array_send(b.relationship_ids) from 21), '' order by b.block_no) as ids,
           string_agg(substring(array_send(b.codes) from 21), '' order by b.block_no) as codes
    from commonlore.relationship_posting b
    where b.term > %(after)s::text and b.generation = %(generation)s::int
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
    group by b.term order by b.term limit %(most)s::int
) w;

-- name: read_unfolded_evidence
-- The hits of some words that no worker folded yet, as `read_evidence_words`, with the sign of each row.
select h.term, 1 as sign, string_agg(uuid_send(d.evidence_ids[1 + (h.hit & 63)]), '') as ids,
       string_agg(int8send(d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)), '') as codes
from commonlore.evidence_posting_difference d
cross join lateral (
    select q.term, unnest((d.words ->> q.term)::bigint[]) as hit from unnest(%(terms)s::text[]) as q (term)
    offset 0
) h
where d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
group by h.term;

-- name: read_unfolded_relationship
select h.term, d.sign, string_agg(uuid_send(d.relationship_ids[1 + (h.hit & 63)]), '') as ids,
       string_agg(int8send(d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)), '') as codes
from commonlore.relationship_posting_difference d
cross join lateral (
    select q.term, unnest((d.words ->> q.term)::bigint[]) as hit from unnest(%(terms)s::text[]) as q (term)
    offset 0
) h
where d.generation = %(generation)s::int
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
group by h.term, d.sign;

-- name: read_gate
-- What of the space counts no more, in one row: texts and relationships, at most `most` of each. `is_erasing`: an erasure that is not done reaches into
-- the space; what it hides is not among these, and no policy shows it.
select
    (select string_agg(uuid_send(x.evidence_id), '') from (
        select x.evidence_id from commonlore.evidence_exclusion x
        where x.team_id = %(team_id)s::uuid -- tenant
          and x.space_epoch = %(space_epoch)s::bigint -- tenant
        limit %(most)s::int
     ) x) as texts,
    exists (select from commonlore.erasure e
            join commonlore.erasure_scope s on s.team_id = e.team_id and s.erasure_id = e.erasure_id
            where e.state not in ('done', 'restored')
              and e.team_id = %(team_id)s::uuid -- tenant
              and s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as is_erasing,
    (select string_agg(uuid_send(w.relationship_id), '') from (
        select r.relationship_id from commonlore.relationship r
        where not ({eligible})
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select r.relationship_id from commonlore.profile o
        join commonlore.relationship r on r.owner_profile_id = o.profile_id and r.identity_alias_of is null
        where o.retired_at is not null
          and o.team_id = %(team_id)s::uuid -- tenant
          and r.team_id = %(team_id)s::uuid -- tenant
          and r.space_epoch = %(space_epoch)s::bigint -- tenant
        limit %(most)s::int
     ) w) as relationships;

-- name: read_not_counting
-- Which of some relationships do not count now, where too many of the space do not. Each is looked up by the key of `relationship`.
select w.relationship_id
from unnest(%(relationship_ids)s::uuid[]) as w (relationship_id)
where not exists (
    select from commonlore.relationship r
    where r.relationship_id = w.relationship_id and {eligible}
      and r.owner_profile_id <> all(array(
          select o.profile_id from commonlore.profile o
          where o.retired_at is not null
            and o.team_id = %(team_id)s::uuid -- tenant
      ))
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
);

-- name: read_hits
-- What a recall keeps of relationships that it found: neither changes as long as they are there.
select r.relationship_id, r.semantic_group_key, r.known_from
from commonlore.relationship r
where r.relationship_id = any(%(relationship_ids)s::uuid[])
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
;
