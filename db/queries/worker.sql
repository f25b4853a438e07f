-- Jobs: what still waits for a vector, and the folding of statistics; postings are folded by folding.sql. Each runs with the team set and one space open.

-- name: list_teams
-- Every active team, for the sweep, by id. The policy of the same name shows all of them to a worker; spaces are read team by team.
select t.team_id from commonlore.team t where t.retired_at is null order by t.team_id;

-- name: spaces_of_team
select s.space_id, s.space_epoch from commonlore.space s
where s.lifecycle_state = 'active'
  and s.team_id = %(team_id)s::uuid -- tenant
order by s.space_id;

-- name: waiting
-- Whether anything of the space waits for a vector of a contract, and how many differences of one kind wait to be folded, counted up to 1,000.
-- Documents of a generation whose texts are still projected, or that is paused, are not asked for yet.
select
    exists (select from commonlore.evidence_embedding_backlog b
            where b.search_state = 'pending' and b.contract_id = %(contract_id)s::smallint
              and b.team_id = %(team_id)s::uuid -- tenant
              and b.space_epoch = %(space_epoch)s::bigint -- tenant
           )
    or exists (select from commonlore.projection_generation g
               join commonlore.relationship_document d
                 on d.generation = g.generation and d.search_state = 'pending'
                    and d.team_id = %(team_id)s::uuid -- tenant
                    and d.space_epoch = %(space_epoch)s::bigint -- tenant
               where g.source_kind = 'relationship' and g.contract_id = %(contract_id)s::smallint
                 and g.state not in ('projecting_text', 'retired') and g.paused_at is null
                 and g.team_id = %(team_id)s::uuid -- tenant
              ) as is_waiting,
    greatest(
        (select count(*) from (select from commonlore.evidence_statistic s
            where s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1000) n),
        (select count(*) from (select from commonlore.relationship_statistic s
            where s.team_id = %(team_id)s::uuid -- tenant
              and s.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1000) n),
        (select count(*) from (select from commonlore.evidence_posting_difference d
            where d.team_id = %(team_id)s::uuid -- tenant
              and d.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1000) n),
        (select count(*) from (select from commonlore.relationship_posting_difference d
            where d.team_id = %(team_id)s::uuid -- tenant
              and d.space_epoch = %(space_epoch)s::bigint -- tenant
            limit 1000) n)) as differences;

-- name: count_waiting
-- How many texts of the space wait for a vector of a contract.
select
    (select count(*) from commonlore.evidence_embedding_backlog b
     where b.search_state = 'pending' and b.contract_id = %(contract_id)s::smallint
       and b.team_id = %(team_id)s::uuid -- tenant
       and b.space_epoch = %(space_epoch)s::bigint -- tenant
    )
    + (select count(*) from commonlore.projection_generation g
       join commonlore.relationship_document d
         on d.generation = g.generation and d.search_state = 'pending'
            and d.team_id = %(team_id)s::uuid -- tenant
            and d.space_epoch = %(space_epoch)s::bigint -- tenant
       where g.source_kind = 'relationship' and g.contract_id = %(contract_id)s::smallint
         and g.state not in ('projecting_text', 'retired') and g.paused_at is null
         and g.team_id = %(team_id)s::uuid -- tenant
      ) as texts;

-- name: waiting_parts
-- The next parts without a vector, by id and number, with what is embedded of each.
select b.evidence_id, b.part_no, b.attempts, e.speaker, coalesce(p.text, e.content) as text
from commonlore.evidence_embedding_backlog b
join commonlore.evidence_part p
  on p.team_id = b.team_id and p.space_epoch = b.space_epoch and p.evidence_id = b.evidence_id and p.part_no = b.part_no
join commonlore.evidence e on e.team_id = b.team_id and e.space_epoch = b.space_epoch and e.evidence_id = b.evidence_id
where b.search_state = 'pending' and b.contract_id = %(contract_id)s::smallint
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
order by b.evidence_id, b.part_no
limit %(batch)s::int;

-- name: store_part_vectors
-- Only what still waits gets a vector, so that two workers, or one that was killed, store each once.
with taken as (
    delete from commonlore.evidence_embedding_backlog b
    using unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[]) as v (evidence_id, part_no)
    where b.evidence_id = v.evidence_id and b.part_no = v.part_no and b.contract_id = %(contract_id)s::smallint
      and b.team_id = %(team_id)s::uuid -- tenant
      and b.space_epoch = %(space_epoch)s::bigint -- tenant
    returning b.evidence_id, b.part_no
)
insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding)
select %(team_id)s::uuid, %(space_epoch)s::bigint, v.evidence_id, v.part_no, v.embedding
from unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[], %(embeddings)s::halfvec[]) as v (evidence_id, part_no, embedding)
join taken using (evidence_id, part_no);

-- name: forget_parts
-- Parts that wait for nothing any more.
delete from commonlore.evidence_embedding_backlog b
using unnest(%(evidence_ids)s::uuid[], %(part_nos)s::int[]) as v (evidence_id, part_no)
where b.evidence_id = v.evidence_id and b.part_no = v.part_no and b.contract_id = %(contract_id)s::smallint
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: fail_part
-- Notes a failed try; after the last one the part is left to an administrator.
update commonlore.evidence_embedding_backlog b
set attempts = b.attempts + 1, error_code = %(error_code)s::text, failed_at = %(now)s::timestamptz,
    search_state = case when b.attempts + 1 >= %(max_attempts)s::int then 'failed' else 'pending' end
where b.evidence_id = %(evidence_id)s::uuid and b.part_no = %(part_no)s::int and b.contract_id = %(contract_id)s::smallint
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: waiting_documents
-- The next documents without a vector of a contract, by generation and id.
select d.generation, d.relationship_id, d.source_version, d.attempts, d.document_text as text
from commonlore.projection_generation g
join commonlore.relationship_document d
  on d.generation = g.generation and d.search_state = 'pending'
     and d.team_id = %(team_id)s::uuid -- tenant
     and d.space_epoch = %(space_epoch)s::bigint -- tenant
where g.source_kind = 'relationship' and g.contract_id = %(contract_id)s::smallint
  and g.state not in ('projecting_text', 'retired') and g.paused_at is null
  and g.team_id = %(team_id)s::uuid -- tenant
order by d.generation, d.relationship_id
limit %(batch)s::int;

-- name: store_document_vectors
-- A document that was written anew in between keeps waiting: its version differs.
with taken as (
    update commonlore.relationship_document d
    set search_state = 'current', error_code = null
    from unnest(%(generations)s::int[], %(relationship_ids)s::uuid[], %(source_versions)s::int[]) as v (generation, relationship_id, source_version)
    where d.generation = v.generation and d.relationship_id = v.relationship_id and d.source_version = v.source_version
      and d.search_state = 'pending'
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    returning d.generation, d.relationship_id
)
insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding)
select %(team_id)s::uuid, %(space_epoch)s::bigint, v.generation, v.relationship_id, v.embedding
from unnest(%(generations)s::int[], %(relationship_ids)s::uuid[], %(embeddings)s::halfvec[]) as v (generation, relationship_id, embedding)
join taken using (generation, relationship_id);

-- name: fail_document
update commonlore.relationship_document d
set attempts = d.attempts + 1, error_code = %(error_code)s::text, failed_at = %(now)s::timestamptz,
    search_state = case when d.attempts + 1 >= %(max_attempts)s::int then 'failed' else 'pending' end
where d.generation = %(generation)s::int and d.relationship_id = %(relationship_id)s::uuid
  and d.team_id = %(team_id)s::uuid -- tenant
  and d.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: fold_evidence
-- One row in place of the differences; a reader sees either.
with whole as (
    delete from commonlore.evidence_statistic s
    where s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    returning s.parts, s.length, s.texts
)
insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts)
select %(team_id)s::uuid, %(space_epoch)s::bigint, %(statistic_id)s::uuid, sum(w.parts), sum(w.length), sum(w.texts) from whole w having count(*) > 0;

-- name: fold_relationships
with whole as (
    delete from commonlore.relationship_statistic s
    where s.team_id = %(team_id)s::uuid -- tenant
      and s.space_epoch = %(space_epoch)s::bigint -- tenant
    returning s.generation, s.documents, s.length
)
insert into commonlore.relationship_statistic (team_id, space_epoch, generation, statistic_id, documents, length)
select %(team_id)s::uuid, %(space_epoch)s::bigint, w.generation, %(statistic_id)s::uuid, sum(w.documents), sum(w.length)
from whole w group by w.generation;
