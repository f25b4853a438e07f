"""Vectors say with which transaction they came, so that a process that keeps a space's vectors can ask for the new ones alone."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.execute(_ARRIVALS)
    op.execute(_CONTRACTS)


_ARRIVALS = """
-- What a snapshot sees and an older one does not came with a transaction that was not over for the older one.
alter table commonlore.evidence_vector_1 add column arrived xid8 not null default pg_current_xact_id();
alter table commonlore.relationship_vector_1 add column arrived xid8 not null default pg_current_xact_id();
-- For statements that ask for arrivals, which say the condition, and no others: a search must read the key, which holds the vectors.
create index evidence_vector_1_arrived on commonlore.evidence_vector_1 (team_id, space_epoch, arrived) where arrived > '0';
create index relationship_vector_1_arrived on commonlore.relationship_vector_1 (team_id, space_epoch, generation, arrived) where arrived > '0';
-- A vector that changed in its place would come with no transaction: it is deleted and made anew.
revoke update on commonlore.relationship_vector_1 from commonlore_app, commonlore_worker;

-- The tables of contracts that were made before.
do $body$
declare
    found record;
begin
    for found in
        select contract_id from commonlore.embedding_contract
        where contract_id <> 1 and to_regclass(format('commonlore.evidence_vector_%s', contract_id)) is not null
    loop
        execute format('alter table commonlore.evidence_vector_%s add column arrived xid8 not null default pg_current_xact_id()', found.contract_id);
        execute format('alter table commonlore.relationship_vector_%s add column arrived xid8 not null default pg_current_xact_id()', found.contract_id);
        execute format('revoke update on commonlore.relationship_vector_%s from commonlore_app, commonlore_worker', found.contract_id);
        execute format('create index evidence_vector_%1$s_arrived on commonlore.evidence_vector_%1$s (team_id, space_epoch, arrived)'
                       ' where arrived > ''0''', found.contract_id);
        execute format('create index relationship_vector_%1$s_arrived on commonlore.relationship_vector_%1$s (team_id, space_epoch, generation, arrived)'
                       ' where arrived > ''0''', found.contract_id);
    end loop;
end
$body$;
"""

_CONTRACTS = """
create or replace function commonlore.make_vector_tables(contract_id smallint, dimensions integer) returns void
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
                   ' embedding halfvec(%s) not null, arrived xid8 not null default pg_current_xact_id())', evidence, dimensions);
    execute format('create table %s (team_id uuid not null, space_epoch bigint not null, generation integer not null, relationship_id uuid not null,'
                   ' embedding halfvec(%s) not null, arrived xid8 not null default pg_current_xact_id())', relationship, dimensions);
    foreach made in array array[evidence, relationship] loop
        execute format('alter table %s alter column embedding set storage plain', made);
    end loop;
    execute format('alter table %s add primary key (team_id, space_epoch, evidence_id, part_no)%s', evidence, covering);
    execute format('alter table %s add primary key (team_id, space_epoch, generation, relationship_id)%s', relationship, covering);
    execute format('create index evidence_vector_%s_arrived on %s (team_id, space_epoch, arrived) where arrived > ''0''', contract_id, evidence);
    execute format('create index relationship_vector_%s_arrived on %s (team_id, space_epoch, generation, arrived)'
                   ' where arrived > ''0''', contract_id, relationship);
    perform commonlore.isolate(evidence, 'space', 'append', 'append');
    perform commonlore.isolate(relationship, 'space', 'remove', 'remove');
    execute format('revoke update on %s from commonlore_app, commonlore_worker', relationship);
end
$body$;
"""
