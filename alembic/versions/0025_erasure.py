"""Erasure: what is erased is in no role's sight from the transaction on; holds, soft deletion, and the list of exports."""

from alembic import op

revision = "0025"
down_revision = "0024"

# Rows that a read may reach without the row above them. Everything else of an erased text is found through one of these.
HIDDEN = (
    "evidence",
    "evidence_occurrence",
    "relationship",
    "relationship_support",
    "relationship_observation",
    "relationship_cross_reference",
    "relationship_correction",
    "entity",
    "entity_name",
    "value_record",
    "conflict_case",
    "conflict_position",
    "conflict_member",
    "conflict_quote",
    "conflict_event",
    "hypothesis",
    "delegated_summary",
)


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)
    op.execute(_HIDING)
    for table in HIDDEN:
        op.execute(f"select commonlore.hide_erased('commonlore.{table}')")
    op.execute(_RIGHTS)
    op.execute(_INDEXES)


_TABLES = """
-- One erasure, or one deletion that can still be taken back. The receipt is the last word on it.
create table commonlore.erasure (
    team_id uuid not null references commonlore.team (team_id),
    erasure_id uuid not null,
    target_kind text not null check (target_kind in ('evidence', 'source', 'subject', 'profile', 'credential', 'space', 'team')),
    -- Null once it is over: who was erased is then known by a hash alone.
    target_id uuid,
    target_sha256 bytea not null check (length(target_sha256) = 32),
    reason text not null check (length(reason) between 1 and 1000),
    actor_profile_id uuid not null,
    actor_credential_id uuid not null,
    state text not null check (state in ('deleted', 'restored', 'hidden', 'deleting', 'checking', 'done', 'incomplete')),
    known_from timestamptz not null,
    -- When a deletion becomes an erasure.
    purge_at timestamptz,
    restored_at timestamptz,
    finished_at timestamptz,
    receipt text,
    primary key (team_id, erasure_id),
    check ((state in ('done', 'incomplete')) = (receipt is not null)),
    check (state <> 'deleted' or purge_at is not null)
);
create index erasure_unfinished on commonlore.erasure (team_id, erasure_id) where state in ('deleted', 'hidden', 'deleting', 'checking');

-- Where it erases: single rows of an epoch, or all of an epoch that a fence has ended.
create table commonlore.erasure_scope (
    team_id uuid not null,
    erasure_id uuid not null,
    space_epoch bigint not null,
    space_id uuid not null,
    extent text not null check (extent in ('items', 'whole')),
    -- Steps that a later turn of the job need not do again, or must not.
    steps_done text[] not null default '{}',
    primary key (team_id, space_epoch, erasure_id),
    foreign key (team_id, erasure_id) references commonlore.erasure (team_id, erasure_id)
);

-- Rows that a worker deleted, by table; written in the transaction that deletes them.
create table commonlore.erasure_count (
    team_id uuid not null,
    erasure_id uuid not null,
    table_name text not null check (table_name ~ '^[a-z][a-z0-9_]{0,63}$'),
    row_count bigint not null check (row_count >= 0),
    primary key (team_id, erasure_id, table_name),
    foreign key (team_id, erasure_id) references commonlore.erasure (team_id, erasure_id)
);

-- The ids that go. Those of texts and relationships stay: by them an administrator sees what an id once was, and when it went.
create table commonlore.erasure_item (
    team_id uuid not null,
    space_epoch bigint not null,
    erasure_id uuid not null,
    item_id uuid not null,
    item_kind text not null check (item_kind ~ '^[a-z][a-z_]{0,63}$'),
    primary key (team_id, space_epoch, erasure_id, item_id),
    foreign key (team_id, erasure_id) references commonlore.erasure (team_id, erasure_id)
);
create index erasure_item_by_id on commonlore.erasure_item (team_id, space_epoch, item_id);

-- Words that the erased texts alone held, for the search at the end, and keys of predicates that they taught. Gone when it is over.
create table commonlore.erasure_sample (
    team_id uuid not null,
    space_epoch bigint not null,
    erasure_id uuid not null,
    sample_kind text not null check (sample_kind in ('fragment', 'digest', 'predicate')),
    sample text not null check (sample <> ''),
    primary key (team_id, space_epoch, erasure_id, sample_kind, sample),
    foreign key (team_id, erasure_id) references commonlore.erasure (team_id, erasure_id)
);

-- What may not be erased until the hold is released.
create table commonlore.legal_hold (
    team_id uuid not null references commonlore.team (team_id),
    hold_id uuid not null,
    target_kind text not null check (target_kind in ('evidence', 'source', 'profile', 'space', 'team')),
    target_id uuid not null,
    reason text not null check (length(reason) between 1 and 1000),
    placed_by uuid not null,
    known_from timestamptz not null,
    released_by uuid,
    released_at timestamptz,
    primary key (team_id, hold_id),
    check ((released_at is null) = (released_by is null))
);
create unique index legal_hold_once on commonlore.legal_hold (team_id, target_kind, target_id) where released_at is null;

-- Files that were made from rows of the team and may still exist.
create table commonlore.export (
    team_id uuid not null references commonlore.team (team_id),
    export_id uuid not null,
    export_kind text not null check (export_kind ~ '^[a-z][a-z_]{0,63}$'),
    -- Null: the whole team.
    space_ids uuid[],
    file_path text not null check (length(file_path) between 1 and 4096),
    byte_count bigint check (byte_count >= 0),
    file_sha256 bytea check (length(file_sha256) = 32),
    known_from timestamptz not null,
    destroyed_at timestamptz,
    primary key (team_id, export_id)
);

-- A deleted team is a retired one until this instant, and then it is erased.
alter table commonlore.team add column purge_at timestamptz;
"""

_POLICIES = """
select commonlore.isolate('commonlore.erasure', 'team', 'append', 'none');
select commonlore.isolate('commonlore.erasure_scope', 'team', 'append', 'append');
select commonlore.isolate('commonlore.erasure_count', 'team', 'none', 'append');
select commonlore.isolate('commonlore.erasure_item', 'space', 'append', 'none');
select commonlore.isolate('commonlore.erasure_sample', 'space', 'append', 'append');
select commonlore.isolate('commonlore.legal_hold', 'team', 'append', 'none');
select commonlore.isolate('commonlore.export', 'team', 'none', 'none');
-- A deletion is restored by who serves; whoever carries an erasure out ends it. Files are noted by who makes them, the owner.
grant update (state, restored_at) on commonlore.erasure to commonlore_app;
grant update (state, target_id, finished_at, receipt) on commonlore.erasure to commonlore_worker;
grant update (steps_done) on commonlore.erasure_scope to commonlore_worker;
grant update (row_count) on commonlore.erasure_count to commonlore_worker;
grant delete on commonlore.erasure_item, commonlore.erasure_sample to commonlore_worker;
grant update (released_by, released_at) on commonlore.legal_hold to commonlore_app;
grant update (destroyed_at) on commonlore.export to commonlore_app;
"""

_HIDING = """
-- Rows of the table that an erasure has marked are in the sight of neither serving role; those who delete them are functions of the owner.
-- A test of null is leakproof, so that no index is lost by it.
create function commonlore.hide_erased(table_name regclass) returns void
language plpgsql set search_path = pg_catalog, commonlore as $body$
begin
    execute format('alter table %s add column erasure_id uuid', table_name);
    execute format('create policy erased on %s as restrictive for all to commonlore_app, commonlore_worker using (erasure_id is null)', table_name);
end
$body$;
revoke execute on function commonlore.hide_erased(regclass) from public;

-- Marks rows of the open space as erased. The erasure is one of the transaction's team that has just begun.
create function commonlore.hide_rows(table_name text, key_column text, erasure uuid, keys uuid[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := nullif(current_setting('commonlore.space_epoch', true), '')::bigint;
    changed bigint;
begin
    if not exists (select from commonlore.erasure e where e.team_id = team and e.erasure_id = erasure and e.state = 'hidden') then
        raise 'no such erasure has begun';
    end if;
    execute format('update commonlore.%I set erasure_id = $3 where team_id = $1 and space_epoch = $2 and %I = any($4) and erasure_id is null',
                   table_name, key_column) using team, epoch, erasure, keys;
    get diagnostics changed = row_count;
    return changed;
end
$body$;
revoke execute on function commonlore.hide_rows(text, text, uuid, uuid[]) from public;
grant execute on function commonlore.hide_rows(text, text, uuid, uuid[]) to commonlore_app;
"""

_RIGHTS = """
-- What hiding takes out of the way of later writes: unique keys, stored answers, a published snapshot.
grant update (duplicate_sha256) on commonlore.evidence to commonlore_app;
grant update (canonical_value) on commonlore.value_record to commonlore_app;
grant update (snapshot_id, published_at) on commonlore.community_gate to commonlore_app;
grant update (known_to) on commonlore.space_epoch to commonlore_app, commonlore_worker;
grant update (lifecycle_state) on commonlore.space to commonlore_worker;
grant update (retired_at, purge_at) on commonlore.team to commonlore_app;
grant update (name, purge_at) on commonlore.team to commonlore_worker;
grant update (name) on commonlore.profile to commonlore_worker;
grant update (name) on commonlore.credential to commonlore_worker;
-- What people said of promotions goes with the spaces of a deletion whose time is over.
grant update (reason, decision_reason, revocation_reason) on commonlore.promotion to commonlore_worker;
"""

_INDEXES = """
-- Foreign keys whose other end may be deleted: without an index each deleted row would be looked for in the whole space.
create index evidence_lifecycle_event_by_replacement on commonlore.evidence_lifecycle_event (team_id, space_epoch, replacement_evidence_id)
    where replacement_evidence_id is not null;
create index entity_name_by_evidence on commonlore.entity_name (team_id, space_epoch, evidence_id) where evidence_id is not null;
create index entity_merged on commonlore.entity (team_id, space_epoch, merged_into) where merged_into is not null;
create index entity_resolution_event_by_submission on commonlore.entity_resolution_event (team_id, space_epoch, submission_id);
create index entity_resolution_event_by_entity on commonlore.entity_resolution_event (team_id, space_epoch, entity_id) where entity_id is not null;
create index relationship_by_alias on commonlore.relationship (team_id, space_epoch, identity_alias_of) where identity_alias_of is not null;
create index relationship_corrected on commonlore.relationship (team_id, space_epoch, corrected_by) where corrected_by is not null;
create index relationship_by_value on commonlore.relationship (team_id, space_epoch, object_value_id) where object_value_id is not null;
create index relationship_observation_by_submission on commonlore.relationship_observation (team_id, space_epoch, submission_id);
create index relationship_support_by_observation on commonlore.relationship_support (team_id, space_epoch, observation_id);
create index relationship_support_by_verification on commonlore.relationship_support (team_id, space_epoch, verification_event_id);
create index relationship_support_copied on commonlore.relationship_support (team_id, space_epoch, copied_from) where copied_from is not null;
create index relationship_transition_event_by_verification on commonlore.relationship_transition_event (team_id, space_epoch, verification_event_id)
    where verification_event_id is not null;
create index relationship_transition_event_by_decision on commonlore.relationship_transition_event (team_id, space_epoch, decision_event_id)
    where decision_event_id is not null;
create index relationship_correction_by_successor on commonlore.relationship_correction (team_id, space_epoch, successor_id)
    where successor_id is not null;
create index conflict_member_by_support on commonlore.conflict_member (team_id, space_epoch, support_id);
create index hypothesis_source_by_support on commonlore.hypothesis_source (team_id, space_epoch, support_id);
create index evidence_source_revision_by_previous on commonlore.evidence_source_revision (team_id, space_epoch, previous_revision_id)
    where previous_revision_id is not null;
create index evidence_by_owner on commonlore.evidence (team_id, space_epoch, owner_profile_id);
create index evidence_occurrence_by_submission on commonlore.evidence_occurrence (team_id, space_epoch, submission_id);
"""
