-- Embedding contracts of the installation, and what each still lacks in one space. The rows of contracts are no tenant data.

-- name: share_contracts
-- Until the transaction ends no contract is started, switched or retired; writers share it among themselves.
select pg_advisory_xact_lock_shared(hashtextextended('commonlore.contracts', 0));

-- name: lock_contracts
-- Waits for every write that goes on, and holds up new ones until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('commonlore.contracts', 0));

-- name: list_contracts
-- By number.
select c.contract_id, c.contract_key, c.dimensions, c.lifecycle_state as state, c.started_at, c.activated_at, c.retired_at
from commonlore.embedding_contract c
order by c.contract_id;

-- name: kept_contracts
-- The contracts that every text gets a vector of, the served one first.
select c.contract_id, c.contract_key, c.lifecycle_state = 'served' as is_served
from commonlore.embedding_contract c
where c.lifecycle_state <> 'retired'
order by c.lifecycle_state = 'served' desc, c.contract_id;

-- name: fill_backlog
-- The next parts, in the order of their keys, that have or await a vector of the served contract and neither have nor await one
-- of another: they await it from here on. One row: the last of the parts that were looked at; none after the last one.
with looked as materialized (
    select p.evidence_id, p.part_no
    from commonlore.evidence_part p
    where (p.evidence_id, p.part_no) > (%(after_id)s::uuid, %(after_no)s::int)
      and p.team_id = %(team_id)s::uuid -- tenant
      and p.space_epoch = %(space_epoch)s::bigint -- tenant
    order by p.evidence_id, p.part_no
    limit %(batch)s::int
), waiting as (
    insert into commonlore.evidence_embedding_backlog (team_id, space_epoch, evidence_id, part_no, contract_id, search_state)
    select %(team_id)s::uuid, %(space_epoch)s::bigint, l.evidence_id, l.part_no, %(contract_id)s::smallint, 'pending'
    from looked l
    where (exists (
        select from commonlore.evidence_vector_1 /* served */ v
        where v.evidence_id = l.evidence_id and v.part_no = l.part_no
          and v.team_id = %(team_id)s::uuid -- tenant
          and v.space_epoch = %(space_epoch)s::bigint -- tenant
    ) or exists (
        select from commonlore.evidence_embedding_backlog b
        where b.contract_id = %(served_id)s::smallint and b.evidence_id = l.evidence_id and b.part_no = l.part_no
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
    )) and not exists (
        select from commonlore.evidence_vector_1 v
        where v.evidence_id = l.evidence_id and v.part_no = l.part_no
          and v.team_id = %(team_id)s::uuid -- tenant
          and v.space_epoch = %(space_epoch)s::bigint -- tenant
    )
    on conflict do nothing
)
select l.evidence_id, l.part_no from looked l order by l.evidence_id desc, l.part_no desc limit 1;

-- name: read_filled
select f.filled_to, f.filled_no, f.is_filled
from commonlore.contract_progress f
where f.contract_id = %(contract_id)s::smallint
  and f.team_id = %(team_id)s::uuid -- tenant
  and f.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: note_filled
insert into commonlore.contract_progress (team_id, space_epoch, contract_id, filled_to, filled_no, is_filled)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(contract_id)s::smallint, %(after_id)s::uuid, %(after_no)s::int, %(is_filled)s::bool)
on conflict (team_id, space_epoch, contract_id)
do update set filled_to = excluded.filled_to, filled_no = excluded.filled_no, is_filled = excluded.is_filled;

-- name: forget_filled
delete from commonlore.contract_progress f
where f.contract_id = %(contract_id)s::smallint
  and f.team_id = %(team_id)s::uuid -- tenant
  and f.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: count_parts
-- Parts of the open space, the vectors of a contract among them, and those that wait or failed.
select
    (select count(*) from commonlore.evidence_part p
     where p.team_id = %(team_id)s::uuid -- tenant
       and p.space_epoch = %(space_epoch)s::bigint -- tenant
    ) as parts,
    (select count(*) from commonlore.evidence_vector_1 v
     where v.team_id = %(team_id)s::uuid -- tenant
       and v.space_epoch = %(space_epoch)s::bigint -- tenant
    ) as vectors,
    (select count(*) from commonlore.evidence_embedding_backlog b
     where b.search_state = 'pending' and b.contract_id = %(contract_id)s::smallint
       and b.team_id = %(team_id)s::uuid -- tenant
       and b.space_epoch = %(space_epoch)s::bigint -- tenant
    ) as pending,
    (select count(*) from commonlore.evidence_embedding_backlog b
     where b.search_state = 'failed' and b.contract_id = %(contract_id)s::smallint
       and b.team_id = %(team_id)s::uuid -- tenant
       and b.space_epoch = %(space_epoch)s::bigint -- tenant
    ) as failed;

-- name: count_unasked
-- Parts of the open space that have or await a vector of the served contract, and neither have nor await one of another.
select count(*) as parts
from commonlore.evidence_part p
where (exists (
        select from commonlore.evidence_vector_1 /* served */ v
        where v.evidence_id = p.evidence_id and v.part_no = p.part_no
          and v.team_id = %(team_id)s::uuid -- tenant
          and v.space_epoch = %(space_epoch)s::bigint -- tenant
    ) or exists (
        select from commonlore.evidence_embedding_backlog b
        where b.contract_id = %(served_id)s::smallint and b.evidence_id = p.evidence_id and b.part_no = p.part_no
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
    ))
  and not exists (
        select from commonlore.evidence_vector_1 v
        where v.evidence_id = p.evidence_id and v.part_no = p.part_no
          and v.team_id = %(team_id)s::uuid -- tenant
          and v.space_epoch = %(space_epoch)s::bigint -- tenant
    )
  and not exists (
        select from commonlore.evidence_embedding_backlog b
        where b.contract_id = %(contract_id)s::smallint and b.evidence_id = p.evidence_id and b.part_no = p.part_no
          and b.team_id = %(team_id)s::uuid -- tenant
          and b.space_epoch = %(space_epoch)s::bigint -- tenant
    )
  and p.team_id = %(team_id)s::uuid -- tenant
  and p.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: retry_parts
update commonlore.evidence_embedding_backlog b
set search_state = 'pending', attempts = 0, error_code = null, failed_at = null
where b.contract_id = %(contract_id)s::smallint and b.search_state = 'failed'
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: forget_backlog
delete from commonlore.evidence_embedding_backlog b
where b.contract_id = %(contract_id)s::smallint
  and b.team_id = %(team_id)s::uuid -- tenant
  and b.space_epoch = %(space_epoch)s::bigint -- tenant
;

-- name: count_kept_documents
-- Documents of the open space in the team's generations of a contract that are not retired: all, those that wait, those that failed.
select count(*) as documents, count(*) filter (where d.search_state = 'pending') as pending,
       count(*) filter (where d.search_state = 'failed') as failed
from commonlore.projection_generation g
join commonlore.relationship_document d
  on d.generation = g.generation
     and d.team_id = %(team_id)s::uuid -- tenant
     and d.space_epoch = %(space_epoch)s::bigint -- tenant
where g.source_kind = 'relationship' and g.contract_id = %(contract_id)s::smallint and g.state in ('projecting_text', 'embedding', 'current', 'failed')
  and g.team_id = %(team_id)s::uuid -- tenant
;
