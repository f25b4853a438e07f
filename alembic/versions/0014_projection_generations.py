"""Rebuilt generations of relationship documents, and embedding contracts side by side, each with vector tables of its own."""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.execute(_GENERATIONS)
    op.execute(_CONTRACTS)


_GENERATIONS = """
-- standby: whole and kept up to date beside the one that serves, for an activation or a way back.
alter table commonlore.projection_generation
    drop constraint projection_generation_state_check,
    add check (state in ('projecting_text', 'embedding', 'current', 'standby', 'failed', 'retired')),
    -- When its last text was projected and its last vector made, for the first time.
    add column projected_at timestamptz,
    add column ready_at timestamptz,
    add column paused_at timestamptz,
    add column retired_at timestamptz,
    -- Whether it is activated as soon as it is ready.
    add column activates_itself boolean not null default false,
    add column error_code text check (error_code ~ '^[a-z][a-z_]{0,63}$');

-- One current a contract; which of them a recall reads says the row of the served contract.
drop index commonlore.projection_generation_current_once;
create unique index projection_generation_current_once on commonlore.projection_generation (team_id, source_kind, contract_id) where state = 'current';
create unique index projection_generation_built_once on commonlore.projection_generation (team_id, source_kind, contract_id)
    where state in ('projecting_text', 'embedding');
-- An administrator's request starts, steers and switches; the counts are nobody's word but that of the rows.
grant insert, update (state, paused_at, retired_at, activates_itself, activated_at, error_code) on commonlore.projection_generation to commonlore_app;

-- How far the texts of one space are projected into a generation: everything up to an id, in the order of ids.
create table commonlore.projection_progress (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    projected_to uuid not null,
    projected bigint not null check (projected >= 0),
    is_projected boolean not null default false,
    primary key (team_id, space_epoch, generation),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);
select commonlore.isolate('commonlore.projection_progress', 'space', 'none', 'remove');

-- Of a retired generation nothing is kept but its row.
grant delete on commonlore.relationship_document to commonlore_worker;
"""

_CONTRACTS = """
alter table commonlore.embedding_contract
    drop constraint embedding_contract_lifecycle_state_check,
    add check (lifecycle_state in ('building', 'served', 'standby', 'retired')),
    add column started_at timestamptz,
    add column activated_at timestamptz,
    add column retired_at timestamptz;
create unique index embedding_contract_built_once on commonlore.embedding_contract (lifecycle_state) where lifecycle_state = 'building';
create unique index embedding_contract_standby_once on commonlore.embedding_contract (lifecycle_state) where lifecycle_state = 'standby';

-- What waits or failed under one contract is found without reading what waits under another.
drop index commonlore.evidence_embedding_backlog_failed;
create index evidence_embedding_backlog_by_contract on commonlore.evidence_embedding_backlog
    (team_id, space_epoch, contract_id, search_state, evidence_id, part_no);

-- How far the parts of one space are noted as waiting for vectors of a contract: everything up to a part, in the order of their keys.
create table commonlore.contract_progress (
    team_id uuid not null,
    space_epoch bigint not null,
    contract_id smallint not null references commonlore.embedding_contract (contract_id),
    filled_to uuid not null,
    filled_no integer not null,
    is_filled boolean not null default false,
    primary key (team_id, space_epoch, contract_id),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);
select commonlore.isolate('commonlore.contract_progress', 'space', 'none', 'remove');

-- The two vector tables of a contract. Run by the owner alone, in the transaction that starts the contract.
-- Up to 1,280 dimensions the key covers the vector, as for contract 1; an entry of an index has room for no more.
create function commonlore.make_vector_tables(contract_id smallint, dimensions integer) returns void
language plpgsql set search_path = pg_catalog, commonlore, public as $body$
declare
    covering constant text := case when dimensions <= 1280 then ' include (embedding)' else '' end;
    evidence constant text := format('commonlore.evidence_vector_%s', contract_id);
    relationship constant text := format('commonlore.relationship_vector_%s', contract_id);
    made text;
begin
    if dimensions not between 1 and 4000 then
        raise 'dimensions must be from 1 to 4000, not %', dimensions;
    end if;
    if to_regclass(evidence) is not null then
        return;
    end if;
    execute format('create table %s (team_id uuid not null, space_epoch bigint not null, evidence_id uuid not null, part_no integer not null,'
                   ' embedding halfvec(%s) not null)', evidence, dimensions);
    execute format('create table %s (team_id uuid not null, space_epoch bigint not null, generation integer not null, relationship_id uuid not null,'
                   ' embedding halfvec(%s) not null)', relationship, dimensions);
    foreach made in array array[evidence, relationship] loop
        execute format('alter table %s alter column embedding set storage plain', made);
    end loop;
    execute format('alter table %s add primary key (team_id, space_epoch, evidence_id, part_no)%s', evidence, covering);
    execute format('alter table %s add primary key (team_id, space_epoch, generation, relationship_id)%s', relationship, covering);
    perform commonlore.isolate(evidence, 'space', 'append', 'append');
    perform commonlore.isolate(relationship, 'space', 'remove', 'remove');
end
$body$;
revoke execute on function commonlore.make_vector_tables(smallint, integer) from public;

-- Empties the vector tables of a retired contract: those of contract 1 stay, which later migrations may name.
create function commonlore.drop_vector_tables(contract_id smallint) returns void
language plpgsql set search_path = pg_catalog, commonlore as $body$
begin
    if contract_id = 1 then
        truncate commonlore.evidence_vector_1, commonlore.relationship_vector_1;
    else
        execute format('drop table if exists commonlore.evidence_vector_%s, commonlore.relationship_vector_%s', contract_id, contract_id);
    end if;
end
$body$;
revoke execute on function commonlore.drop_vector_tables(smallint) from public;
"""
