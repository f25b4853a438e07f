"""Vector indexes of large spaces: which stand, and how much of the exact answer they find."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
-- The index over one space's vectors of one contract in one frontier and, for relationships, one generation; written by the worker alone.
-- Its name stands here for whoever looks; searches ask for the state, and an index that is not there costs only time.
create table commonlore.vector_index (
    team_id uuid not null,
    space_epoch bigint not null,
    frontier text not null check (frontier in ('evidence', 'relationship')),
    contract_id smallint not null references commonlore.embedding_contract (contract_id),
    -- 0 for evidence.
    generation integer not null check (generation >= 0),
    index_name text not null check (index_name ~ '^[a-z0-9_]{1,63}$'),
    state text not null check (state in ('building', 'ready', 'poor', 'degraded')),
    -- Candidates that a search keeps.
    ef_search integer check (ef_search between 1 and 1000),
    -- At the last measurement: rows, and the share of the exact nearest that was found, in thousandths, over so many queries.
    row_count bigint check (row_count >= 0),
    overlap integer check (overlap between 0 and 1000),
    query_count integer check (query_count >= 0),
    measured_at timestamptz,
    primary key (team_id, space_epoch, frontier, contract_id, generation),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    check ((measured_at is null) = (overlap is null)),
    check (state = 'building' or (overlap is not null and ef_search is not null))
);
select commonlore.isolate('commonlore.vector_index', 'space', 'none', 'remove');

-- The last measurement of each size class of a space, and the least there ever was.
create table commonlore.vector_overlap (
    team_id uuid not null,
    space_epoch bigint not null,
    frontier text not null check (frontier in ('evidence', 'relationship')),
    size_bucket bigint not null check (size_bucket >= 0),
    overlap integer not null check (overlap between 0 and 1000),
    least_overlap integer not null check (least_overlap between 0 and 1000),
    query_count integer not null check (query_count >= 0),
    measured_at timestamptz not null,
    primary key (team_id, space_epoch, frontier, size_bucket),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);
select commonlore.isolate('commonlore.vector_overlap', 'space', 'none', 'change');
"""
