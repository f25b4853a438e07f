"""Communities: the gate of each space, runs, immutable snapshots with their members, and members that no longer count."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.execute(_RULES)
    op.execute(_TABLES)
    op.execute(_POLICIES)


_RULES = """
-- When a day's communities are detected, in the team's own time zone.
alter table commonlore.team
    add column community_time_zone text not null default 'UTC' check (length(community_time_zone) between 1 and 64),
    add column community_start_minute integer not null default 180 check (community_start_minute between 0 and 1439);
"""

_TABLES = """
create table commonlore.community_run (
    team_id uuid not null,
    space_epoch bigint not null,
    run_id uuid not null,
    reason text not null check (reason in ('scheduled', 'requested')),
    status text not null check (status in ('running', 'completed', 'skipped', 'failed', 'cancelled', 'too_large')),
    configuration text not null,
    source_mark bytea check (length(source_mark) = 32),
    relationship_count integer check (relationship_count >= 0),
    group_count integer check (group_count >= 0),
    tie_count integer check (tie_count >= 0),
    community_count integer check (community_count >= 0),
    error_code text,
    known_from timestamptz not null,
    ended_at timestamptz,
    primary key (team_id, space_epoch, run_id),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    check ((status = 'running') = (ended_at is null)),
    check ((status = 'failed') = (error_code is not null))
);
create index community_run_by_time on commonlore.community_run (team_id, space_epoch, known_from desc, run_id desc);

-- What one run found in one state of the space, named by `source_mark`. Never changed; a later run publishes another one.
create table commonlore.community_snapshot (
    team_id uuid not null,
    space_epoch bigint not null,
    snapshot_id uuid not null,
    run_id uuid not null,
    configuration text not null,
    source_mark bytea not null check (length(source_mark) = 32),
    relationship_count integer not null check (relationship_count >= 0),
    group_count integer not null check (group_count >= 0),
    community_count integer not null check (community_count >= 0),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, snapshot_id),
    foreign key (team_id, space_epoch, run_id) references commonlore.community_run (team_id, space_epoch, run_id)
);

-- Entities, predicates and supports in the order in which they are shown. Names and quotes are read where they stand, so
-- that what was renamed or withdrawn since is never shown as it was.
create table commonlore.community (
    team_id uuid not null,
    space_epoch bigint not null,
    snapshot_id uuid not null,
    community_no integer not null check (community_no >= 1),
    community_id uuid not null,
    logical_community_id uuid not null,
    group_count integer not null check (group_count >= 2),
    relationship_count integer not null check (relationship_count >= group_count),
    entity_count integer not null check (entity_count >= 1),
    top_entity_ids uuid[] not null,
    top_predicates text[] not null,
    quote_support_ids uuid[] not null,
    primary key (team_id, space_epoch, snapshot_id, community_no),
    unique (team_id, space_epoch, snapshot_id, community_id),
    unique (team_id, space_epoch, snapshot_id, logical_community_id),
    foreign key (team_id, space_epoch, snapshot_id) references commonlore.community_snapshot (team_id, space_epoch, snapshot_id)
);

-- A semantic group is in one community of a snapshot at most; `place` 1 is the most central. Written with its snapshot only.
create table commonlore.community_member (
    team_id uuid not null,
    space_epoch bigint not null,
    snapshot_id uuid not null,
    semantic_group_key text not null,
    community_no integer not null,
    place integer not null,
    primary key (team_id, space_epoch, snapshot_id, semantic_group_key)
);
create index community_member_by_place on commonlore.community_member (team_id, space_epoch, snapshot_id, community_no, place)
    include (semantic_group_key);

-- Members of a snapshot of which no relationship counts any more, noted by the write that ended the last one.
create table commonlore.community_stale_member (
    team_id uuid not null,
    space_epoch bigint not null,
    snapshot_id uuid not null,
    semantic_group_key text not null,
    community_no integer not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, snapshot_id, semantic_group_key)
);

-- One row a space that ever switched communities on: what a recall reads, and all it reads where nothing is published.
create table commonlore.community_gate (
    team_id uuid not null,
    space_epoch bigint not null,
    enabled boolean not null,
    snapshot_id uuid,
    published_at timestamptz,
    run_status text check (run_status in ('running', 'completed', 'skipped', 'failed', 'cancelled', 'too_large')),
    stale_from timestamptz,
    known_from timestamptz not null,
    primary key (team_id, space_epoch),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    foreign key (team_id, space_epoch, snapshot_id) references commonlore.community_snapshot (team_id, space_epoch, snapshot_id),
    check ((snapshot_id is null) = (published_at is null)),
    check (stale_from is null or snapshot_id is not null)
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.community_run', 'space', 'none', 'remove');
select commonlore.isolate('commonlore.community_snapshot', 'space', 'none', 'remove');
select commonlore.isolate('commonlore.community', 'space', 'none', 'remove');
select commonlore.isolate('commonlore.community_member', 'space', 'none', 'remove');
select commonlore.isolate('commonlore.community_stale_member', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.community_gate', 'space', 'append', 'change');
-- A worker removes old snapshots whole; nobody changes one.
revoke update on commonlore.community_snapshot, commonlore.community, commonlore.community_member, commonlore.community_stale_member
    from commonlore_worker;
grant update (enabled, stale_from) on commonlore.community_gate to commonlore_app;
grant update (community_time_zone, community_start_minute) on commonlore.team to commonlore_app;
"""
