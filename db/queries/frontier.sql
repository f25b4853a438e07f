-- Ranked candidate ids of one space, gated where they are found; rows come from hydrate.sql alone.
-- Scores are sums of integers, so that no plan and no order of rows can change them.

-- name: read_statistics
-- One row: counts of both frontiers, what still waits for a vector, the generation that serves, the served contract.
-- Of each word that occurs: in how many texts, a stamp of its blocks that is another once one of them is, and in how many rows of it no worker folded yet.
select
    w.parts, w.parts_length, w.texts, v.documents, v.documents_length,
    exists (select from commonlore.evidence e
            where e.session is not null and e.sequence is not null
              and e.team_id = %(team_id)s::uuid -- tenant
              and e.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_sessions,
    (select jsonb_object_agg(f.term, jsonb_build_array(f.n, f.stamp, f.unfolded)) from (
        select t.term, sum(t.n) as n, coalesce(bit_xor(t.stamp), 0) as stamp, count(*) filter (where t.stamp is null and t.n <> 0) as unfolded from (
            select b.term, b.entries as n, hashint8extended(b.block_no, b.xmin::text::int8) as stamp from commonlore.evidence_posting b
            where b.term = any(%(terms)s::text[])
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
            union all
            select q.q, cardinality((d.words ->> q.q)::int[]), null from commonlore.evidence_posting_difference d, unnest(%(terms)s::text[]) q
            where d.team_id = %(team_id)s::uuid -- tenant
              and d.space_epoch = %(space_epoch)s::bigint -- tenant
        ) t group by 1 having sum(t.n) > 0) f) as part_words,
    {words} as document_words,
    exists (select from commonlore.evidence_embedding_backlog b
            where b.search_state = 'failed' and b.contract_id = c.contract_id
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_failed,
    exists (select from commonlore.evidence_embedding_backlog b
            where b.search_state = 'pending' and b.contract_id = c.contract_id
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_pending,
    exists (select from commonlore.evidence_exclusion x
            where x.team_id = %(team_id)s::uuid -- tenant
              and x.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_exclusions,
    exists (select from commonlore.conflict_case k
            where k.team_id = %(team_id)s::uuid -- tenant
              and k.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_conflicts,
    exists (select from commonlore.hypothesis_gate y
            join commonlore.hypothesis z on z.team_id = y.team_id and z.space_epoch = y.space_epoch and z.status in ('proposed', 'reinforced')
            where y.enabled
              and y.team_id = %(team_id)s::uuid -- tenant
              and y.space_epoch = %(space_epoch)s::bigint -- tenant
              and z.team_id = %(team_id)s::uuid -- tenant
              and z.space_epoch = %(space_epoch)s::bigint -- tenant
           ) as has_hypotheses,
    (select jsonb_object_agg(i.frontier, jsonb_build_array(i.state, i.ef_search)) from commonlore.vector_index i
     where i.state in ('ready', 'degraded') and i.contract_id = c.contract_id and i.generation in (0, g.generation)
       and i.team_id = %(team_id)s::uuid -- tenant
       and i.space_epoch = %(space_epoch)s::bigint -- tenant
    ) as vector_indexes,
    k.enabled is not null as has_communities, k.snapshot_id, k.published_at, k.run_status, k.stale_from,
    g.generation, g.state as generation_state,
    c.contract_key, c.contract_id
from (select 1) one
left join commonlore.embedding_contract c on c.lifecycle_state = 'served'
left join lateral (
    select p.generation, p.state from commonlore.projection_generation p
    where p.source_kind = 'relationship' and p.state <> 'retired' and p.contract_id = c.contract_id
      and p.team_id = %(team_id)s::uuid -- tenant
    order by p.state = 'current' desc, p.generation desc
    limit 1
) g on true
cross join lateral (
    select sum(s.parts)::bigint as parts, sum(s.length)::bigint as parts_length, sum(s.texts)::bigint as texts
    from commonlore.evidence_statistic s
    where s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
) w
cross join lateral (
    select sum(s.documents)::bigint as documents, sum(s.length)::bigint as documents_length
    from commonlore.relationship_statistic s
    where s.generation = g.generation
      and s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
) v
left join commonlore.community_gate k
  on k.enabled
     and k.team_id = %(team_id)s::uuid -- tenant
     and k.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: document_words
-- In how many documents of a generation each term stands, put in place of {words}; left out where that cannot be read.
(select jsonb_object_agg(f.term, jsonb_build_array(f.n, f.stamp, f.unfolded)) from (
    select t.term, sum(t.n) as n, coalesce(bit_xor(t.stamp), 0) as stamp, count(*) filter (where t.stamp is null and t.n <> 0) as unfolded from (
        select b.term, b.entries as n, hashint8extended(b.block_no, b.xmin::text::int8) as stamp from commonlore.relationship_posting b
        where b.term = any(%(terms)s::text[]) and b.generation = g.generation
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
        union all
        select q.q, d.sign * cardinality((d.words ->> q.q)::int[]), null from commonlore.relationship_posting_difference d, unnest(%(terms)s::text[]) q
        where d.generation = g.generation
          and d.team_id = %(team_id)s::uuid -- tenant
          and d.space_epoch = %(space_epoch)s::bigint -- tenant
    ) t group by 1 having sum(t.n) > 0) f)

-- name: evidence_gate
-- What the candidates of a branch must pass, put in place of {gate}; left out where it could refuse nothing.
c.evidence_id <> all(%(known_evidence_ids)s::uuid[])
  and not (%(present)s::bool and exists (
      select from commonlore.evidence_exclusion x
      where x.evidence_id = c.evidence_id
        and x.team_id = %(team_id)s::uuid -- tenant
        and x.space_epoch = %(space_epoch)s::bigint -- tenant
  ))

-- name: evidence_filter
-- What the texts of a filtered search must be, put in place of {filter}. Lists that are empty and times that are null ask nothing.
exists (
    select from commonlore.evidence f
    where f.evidence_id = c.evidence_id
      and (cardinality(%(labels)s::text[]) = 0 or f.labels && %(labels)s::text[])
      and (cardinality(%(sources)s::text[]) = 0 or f.source = any(%(sources)s::text[]))
      and (cardinality(%(authorities)s::text[]) = 0 or f.authority = any(%(authorities)s::text[]))
      and (%(occurred_from)s::timestamptz is null or f.occurred_at >= %(occurred_from)s::timestamptz)
      and (%(occurred_to)s::timestamptz is null or f.occurred_at < %(occurred_to)s::timestamptz)
      and f.team_id = %(team_id)s::uuid -- tenant
      and f.space_epoch = %(space_epoch)s::bigint -- tenant
)

-- name: relationship_narrowing
-- What a relationship `r` of a filtered search must be, put in place of {narrowing}. Lists that are empty and values that are null ask nothing.
(cardinality(%(predicates)s::text[]) = 0 or r.predicate_key = any(%(predicates)s::text[]) or exists (
      select from commonlore.predicate_definition d
      -- A key of the space means itself, even where it is another's alias as well; both as the registry was known in the view.
      where d.predicate_key = r.predicate_key and d.aliases && array(
          select g.wording from unnest(%(predicates)s::text[]) g (wording)
          where not exists (
              select from commonlore.predicate_definition k
              where k.predicate_key = g.wording and (%(known_at)s::timestamptz is null or k.known_from <= %(known_at)s::timestamptz)
                and k.team_id = %(team_id)s::uuid -- tenant
                and k.space_epoch = %(space_epoch)s::bigint -- tenant
          )
      )
        and (%(known_at)s::timestamptz is null or d.known_from <= %(known_at)s::timestamptz)
        and d.team_id = %(team_id)s::uuid -- tenant
        and d.space_epoch = %(space_epoch)s::bigint -- tenant
  ))
  and (cardinality(%(subject_ids)s::uuid[]) = 0 or r.subject_entity_id = any(array(select m.entity_id from meant m where m.place = 'subject')))
  and (cardinality(%(object_ids)s::uuid[]) = 0 or r.object_entity_id = any(array(select m.entity_id from meant m where m.place = 'object')))
  and (%(polarity)s::text is null or r.polarity = %(polarity)s::text)
  and (cardinality(%(scopes)s::text[]) = 0 or r.scope_key = any(%(scopes)s::text[]))

-- name: evidence_lexical
-- Evidence by BM25 of its best part, ties by id; part_no is the lowest of its best parts.
-- Blocks term by term by the key of evidence_posting, then what no worker folded yet: `offset 0` keeps the planner from joining in another way.
select c.evidence_id, (1048575 - max(c.ranked) %% 1048576)::int as part_no, (max(c.ranked) / 1048576)::float8 as score
from (
    select p.evidence_id,
           sum((p.weight * 10000000 * (p.code >> 16 & 65535)
                / ((p.code >> 16 & 65535) + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * (p.code & 65535) / %(average_length)s::float8)))::int)
               * 1048576 + (1048575 - (p.code >> 32)) as ranked
    from (
        select q.weight, b.evidence_id, b.code
        from unnest(%(terms)s::text[], %(weights)s::float8[]) as q (term, weight)
        cross join lateral (
            select unnest(b.evidence_ids) as evidence_id, unnest(b.codes) as code from commonlore.evidence_posting b
            where b.term = q.term
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
            offset 0
        ) b
        union all
        select h.weight, d.evidence_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)
        from commonlore.evidence_posting_difference d
        cross join lateral (
            select q.weight, unnest((d.words ->> q.term)::bigint[]) as hit from unnest(%(terms)s::text[], %(weights)s::float8[]) as q (term, weight)
            offset 0
        ) h
        where d.team_id = %(team_id)s::uuid -- tenant
          and d.space_epoch = %(space_epoch)s::bigint -- tenant
    ) p
    group by p.evidence_id, p.code >> 32
) c
where {gate} and {filter}
group by c.evidence_id
order by score desc, c.evidence_id
limit %(depth)s::int;

-- name: evidence_sample
-- How far a query is from a fixed sample of the texts: the first parts of those whose ids end lowest. Put in place of {sample}.
select v.evidence_id, v.embedding <#> %(vector)s::halfvec as distance
from commonlore.evidence_vector_1 v
where v.evidence_id = any(array(
      select p.evidence_id from commonlore.evidence_part p
      where p.part_no = 0
        and p.team_id = %(team_id)s::uuid -- tenant
        and p.space_epoch = %(space_epoch)s::bigint -- tenant
      order by "right"(p.evidence_id::text, 12)
      limit %(sample)s::int))
  and v.part_no = 0
  and v.team_id = %(team_id)s::uuid -- tenant
  and v.space_epoch = %(space_epoch)s::bigint -- tenant

-- name: evidence_vector
-- Evidence by the inner product of its best part, exact over the space, ties by id; with the mean and the standard deviation
-- of the query's scores over `evidence_sample`.
-- Reads the covering key of the vector table. What lies beyond the `bound_place`-th nearest of the sample is not even sorted;
-- where too little lies within, everything is looked at after all. A place of 0 sets no bound.
with sample as materialized (
    {sample}
), bound as materialized (
    select coalesce((select s.distance from sample s where %(bound_place)s::int > 0
                     order by s.distance offset greatest(%(bound_place)s::int - 1, 0) limit 1), 'infinity') as distance
), near as materialized (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where c.embedding <#> %(vector)s::halfvec <= (select b.distance from bound b) and {gate} and {filter}
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec, c.evidence_id, c.part_no
    limit %(part_depth)s::int
), every as (
    select c.evidence_id, c.part_no, c.embedding <#> %(vector)s::halfvec as distance
    from commonlore.evidence_vector_1 c
    where %(bound_place)s::int > 0 and (select count(*) from near) < %(part_depth)s::int and {gate} and {filter}
      and c.team_id = %(team_id)s::uuid -- tenant
      and c.space_epoch = %(space_epoch)s::bigint -- tenant
    order by c.embedding <#> %(vector)s::halfvec, c.evidence_id, c.part_no
    limit %(part_depth)s::int
)
select f.evidence_id, f.part_no, -f.distance as score,
       (select avg(-s.distance order by s.evidence_id) from sample s)::float8 as mean, (select stddev_pop(-s.distance order by s.evidence_id) from sample s)::float8 as deviation
from (
    select distinct on (n.evidence_id) n.evidence_id, n.part_no, n.distance
    from (select * from near union all select * from every) n
    order by n.evidence_id, n.distance, n.part_no
) f
order by f.distance, f.evidence_id
limit %(depth)s::int;

-- name: evidence_turns
-- Where candidates stand in their sessions; those without a session or a sequence are left out.
-- Of two that claim one place the lower id comes last, so that the order of rows decides nothing.
select e.evidence_id, e.session, e.sequence
from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[]) and e.session is not null and e.sequence is not null
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
order by e.evidence_id desc;

-- name: evidence_said
-- Who said a candidate and when, and where it stands in its session; those of which nothing of this is known are left out.
-- `asks`: a text of one part that ends in a question mark; the text of a longer one is not read.
select e.evidence_id, e.session, e.sequence, e.speaker, e.occurred_at,
       e.part_count = 1 and right(rtrim(e.content, E' \n\r\t'), 1) = any(%(question_marks)s::text[]) as asks
from commonlore.evidence e
where e.evidence_id = any(%(evidence_ids)s::uuid[]) and (e.session is not null or e.speaker is not null or e.occurred_at is not null)
  and e.team_id = %(team_id)s::uuid -- tenant
  and e.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: relationship_lexical
-- Eligible relationships by BM25 of their document, ties by creation, then id.
-- Each found id is looked up by the key of `relationship`: `offset 0` keeps the planner from joining in another way.
with recursive meant (place, entity_id) as (
    -- The entities that the caller names, and where those that were merged live on, by what was known in the view.
    (select 'either', g.entity_id from unnest(%(entity_ids)s::uuid[]) g (entity_id)
     union all select 'subject', g.entity_id from unnest(%(subject_ids)s::uuid[]) g (entity_id)
     union all select 'object', g.entity_id from unnest(%(object_ids)s::uuid[]) g (entity_id))
    union
    select m.place, e.merged_into from meant m
    join commonlore.entity e on e.entity_id = m.entity_id
    where e.status = 'retired' and e.merged_into is not null
      and (%(known_at)s::timestamptz is null or exists (
          select from commonlore.entity_correction c
          where c.known_from <= %(known_at)s::timestamptz
            and (c.action = 'merge' and c.from_entity_id = e.entity_id and c.to_entity_id = e.merged_into
                 or c.action = 'reverse' and c.to_entity_id = e.entity_id and c.from_entity_id = e.merged_into)
            and c.team_id = %(team_id)s::uuid -- tenant
            and c.space_epoch = %(space_epoch)s::bigint -- tenant
      ))
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
), q as (
    select * from unnest(%(terms)s::text[], %(weights)s::float8[]) as q (term, weight)
), s as materialized (
    select p.relationship_id,
           sum(p.sign * (p.weight * 10000000 * (p.code >> 16)
               / ((p.code >> 16) + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * (p.code & 65535) / %(average_length)s::float8)))::int) as score
    from (
        select 1 as sign, q.weight, b.relationship_id, b.code
        from q
        cross join lateral (
            select unnest(b.relationship_ids) as relationship_id, unnest(b.codes) as code from commonlore.relationship_posting b
            where b.term = q.term and b.generation = %(generation)s::int
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
            offset 0
        ) b
        union all
        select d.sign, h.weight, d.relationship_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)
        from commonlore.relationship_posting_difference d
        cross join lateral (
            select q.weight, unnest((d.words ->> q.term)::bigint[]) as hit from q
            offset 0
        ) h
        where d.generation = %(generation)s::int
          and d.team_id = %(team_id)s::uuid -- tenant
          and d.space_epoch = %(space_epoch)s::bigint -- tenant
    ) p
    group by p.relationship_id
    having sum(p.sign) > 0
)
select r.relationship_id, r.semantic_group_key, r.known_from
from s
cross join lateral (
    select r.relationship_id, r.semantic_group_key, r.known_from
    from commonlore.relationship r
    where r.relationship_id = s.relationship_id and {eligible} and {narrowing}
      and r.owner_profile_id <> all(array(
          select o.profile_id from commonlore.profile o
          where o.retired_at is not null
            and o.team_id = %(team_id)s::uuid -- tenant
      ))
      and (cardinality(%(entity_ids)s::uuid[]) = 0
           or r.subject_entity_id = any(array(select m.entity_id from meant m where m.place = 'either'))
           or r.object_entity_id = any(array(select m.entity_id from meant m where m.place = 'either')))
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
) r
order by s.score desc, r.known_from, r.relationship_id
limit %(depth)s::int;

-- name: relationship_vector
-- Eligible relationships by the inner product of their document, exact over the space, ties by creation, then id.
-- The nearest `near` documents are looked up; where some of them are refused the caller asks for more.
with recursive meant (place, entity_id) as (
    -- The entities that the caller names, and where those that were merged live on, by what was known in the view.
    (select 'either', g.entity_id from unnest(%(entity_ids)s::uuid[]) g (entity_id)
     union all select 'subject', g.entity_id from unnest(%(subject_ids)s::uuid[]) g (entity_id)
     union all select 'object', g.entity_id from unnest(%(object_ids)s::uuid[]) g (entity_id))
    union
    select m.place, e.merged_into from meant m
    join commonlore.entity e on e.entity_id = m.entity_id
    where e.status = 'retired' and e.merged_into is not null
      and (%(known_at)s::timestamptz is null or exists (
          select from commonlore.entity_correction c
          where c.known_from <= %(known_at)s::timestamptz
            and (c.action = 'merge' and c.from_entity_id = e.entity_id and c.to_entity_id = e.merged_into
                 or c.action = 'reverse' and c.to_entity_id = e.entity_id and c.from_entity_id = e.merged_into)
            and c.team_id = %(team_id)s::uuid -- tenant
            and c.space_epoch = %(space_epoch)s::bigint -- tenant
      ))
      and e.team_id = %(team_id)s::uuid -- tenant
      and e.space_epoch = %(space_epoch)s::bigint -- tenant
), s as materialized (
    select v.relationship_id, v.embedding <#> %(vector)s::halfvec as distance
    from commonlore.relationship_vector_1 v
    where v.generation = %(generation)s::int
      and v.team_id = %(team_id)s::uuid -- tenant
      and v.space_epoch = %(space_epoch)s::bigint -- tenant
    order by v.embedding <#> %(vector)s::halfvec, v.relationship_id
    limit %(near)s::int
)
select r.relationship_id, r.semantic_group_key, r.known_from
from s
cross join lateral (
    select r.relationship_id, r.semantic_group_key, r.known_from
    from commonlore.relationship r
    where r.relationship_id = s.relationship_id and {eligible} and {narrowing}
      and r.owner_profile_id <> all(array(
          select o.profile_id from commonlore.profile o
          where o.retired_at is not null
            and o.team_id = %(team_id)s::uuid -- tenant
      ))
      and (cardinality(%(entity_ids)s::uuid[]) = 0
           or r.subject_entity_id = any(array(select m.entity_id from meant m where m.place = 'either'))
           or r.object_entity_id = any(array(select m.entity_id from meant m where m.place = 'either')))
      and r.team_id = %(team_id)s::uuid -- tenant
      and r.space_epoch = %(space_epoch)s::bigint -- tenant
    offset 0
) r
order by s.distance, r.known_from, r.relationship_id
limit %(depth)s::int;
