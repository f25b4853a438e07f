-- Postings and statistics of texts and relationships that are erased: the one place of erasure that knows how words are stored. Run under the
-- folding lock of the space, once every difference is folded.

-- name: read_doomed
-- Ids of one kind that go.
select i.item_id from commonlore.erasure_item i
where i.erasure_id = %(erasure_id)s::uuid and i.item_kind = %(item_kind)s::text
  and i.team_id = %(team_id)s::uuid -- tenant
  and i.space_epoch = %(space_epoch)s::bigint -- tenant
order by i.item_id;

-- name: uncount_texts
-- Takes what goes out of the whole numbers: pieces, their length in words (at least 1 each) and texts. How many postings go.
with found as materialized (
    select e.evidence_id, (e.code >> 32)::int as part_no, (e.code & 65535)::int as length
    from commonlore.evidence_posting b, unnest(b.evidence_ids, b.codes) as e (evidence_id, code)
    where b.evidence_ids && %(evidence_ids)s::uuid[] and e.evidence_id = any(%(evidence_ids)s::uuid[])
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
), gone as (
    select p.evidence_id, p.part_no from commonlore.evidence_part p
    where p.evidence_id = any(%(evidence_ids)s::uuid[])
      and p.team_id = %(team_id)s::uuid -- tenant
      and p.space_epoch = %(space_epoch)s::bigint -- tenant
), lengths as (
    select f.evidence_id, f.part_no, max(f.length) as length from found f group by f.evidence_id, f.part_no
), counted as (
    insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, %(statistic_id)s::uuid, -count(*), -coalesce(sum(coalesce(l.length, 1)), 0),
           -count(distinct g.evidence_id)
    from gone g left join lengths l using (evidence_id, part_no)
    having count(*) > 0
)
select count(*) as row_count from found;

-- name: uncount_relationships
with found as materialized (
    select b.generation, e.relationship_id, (e.code & 65535)::int as length
    from commonlore.relationship_posting b, unnest(b.relationship_ids, b.codes) as e (relationship_id, code)
    where b.relationship_ids && %(relationship_ids)s::uuid[] and e.relationship_id = any(%(relationship_ids)s::uuid[])
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
), counted as (
    insert into commonlore.relationship_statistic (team_id, space_epoch, generation, statistic_id, documents, length)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, l.generation, %(statistic_id)s::uuid, -count(*), -sum(l.length)
    from (select f.generation, f.relationship_id, max(f.length) as length from found f group by f.generation, f.relationship_id) l
    group by l.generation
)
select count(*) as row_count from found;
