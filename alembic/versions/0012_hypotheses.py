"""Hypotheses: the gate of each space, its own rules, runs, proposals with their two sources, and what became of them."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- One row a space that ever switched hypotheses on. `outputs`: how many a run proposes at most.
create table commonlore.hypothesis_gate (
    team_id uuid not null,
    space_epoch bigint not null,
    enabled boolean not null,
    outputs integer not null default 20 check (outputs between 1 and 50),
    known_from timestamptz not null,
    primary key (team_id, space_epoch),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);

-- What a space changes of the rules that come with the service: rules of its own, and rules that it does not want.
create table commonlore.hypothesis_rule (
    team_id uuid not null,
    space_epoch bigint not null,
    rule_kind text not null check (rule_kind in ('transitive', 'composition', 'shared_neighbour', 'inverse')),
    first_key text not null check (length(first_key) between 1 and 128),
    second_key text not null check (length(second_key) between 1 and 128),
    conclusion_key text not null check (length(conclusion_key) between 1 and 128),
    enabled boolean not null,
    actor_profile_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, rule_kind, first_key, second_key, conclusion_key),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    foreign key (team_id, actor_profile_id) references commonlore.profile (team_id, profile_id)
);

create table commonlore.hypothesis_run (
    team_id uuid not null,
    space_epoch bigint not null,
    run_id uuid not null,
    reason text not null check (reason in ('scheduled', 'requested')),
    status text not null check (status in ('running', 'completed', 'failed', 'cancelled', 'too_large')),
    generator_version text not null,
    relationship_count integer check (relationship_count >= 0),
    path_count integer check (path_count >= 0),
    known_count integer check (known_count >= 0),
    assessed_count integer check (assessed_count >= 0),
    candidate_count integer check (candidate_count >= 0),
    proposed_count integer check (proposed_count >= 0),
    error_code text,
    known_from timestamptz not null,
    ended_at timestamptz,
    primary key (team_id, space_epoch, run_id),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    check ((status = 'running') = (ended_at is null)),
    check ((status = 'failed') = (error_code is not null))
);
create index hypothesis_run_by_time on commonlore.hypothesis_run (team_id, space_epoch, known_from desc, run_id desc);

-- A statement that nobody made. Names, wordings and quotes are read where they stand. Numbers are thousandths.
-- `inverse_key`: the predicate that says the same from the other end. `is_single`: the subject can have one such object only.
create table commonlore.hypothesis (
    team_id uuid not null,
    space_epoch bigint not null,
    hypothesis_id uuid not null,
    run_id uuid not null,
    rule_kind text not null check (rule_kind in ('transitive', 'composition', 'shared_neighbour')),
    first_key text not null,
    second_key text not null,
    subject_entity_id uuid not null,
    predicate_key text not null,
    predicate_version integer not null,
    object_entity_id uuid not null check (object_entity_id <> subject_entity_id),
    scope_key text,
    inverse_key text,
    is_single boolean not null,
    likelihood smallint not null check (likelihood between 1 and 999),
    confidence smallint not null check (confidence between 0 and 999),
    record smallint not null check (record between 0 and 1000),
    strength smallint not null check (strength between 0 and 1000),
    tested integer not null check (tested >= 0),
    closed integer not null check (closed between 0 and tested),
    target_sha256 bytea not null check (length(target_sha256) = 32),
    content_sha256 bytea not null check (length(content_sha256) = 32),
    generator_version text not null,
    status text not null check (status in ('proposed', 'reinforced', 'stale', 'rejected', 'submitted')),
    version integer not null check (version >= 1),
    invalidated_reason text check (invalidated_reason in ('source_changed', 'already_known', 'feedback')),
    submission_id uuid,
    known_from timestamptz not null,
    updated_at timestamptz not null,
    primary key (team_id, space_epoch, hypothesis_id),
    unique (team_id, space_epoch, content_sha256),
    foreign key (team_id, space_epoch, run_id) references commonlore.hypothesis_run (team_id, space_epoch, run_id),
    foreign key (team_id, space_epoch, subject_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, object_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, predicate_key, predicate_version)
        references commonlore.predicate_definition (team_id, space_epoch, predicate_key, version),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    check ((status = 'stale') = (invalidated_reason is not null))
);
-- What was rejected or submitted never comes back; what is stale may, from other sources.
create unique index hypothesis_target_once on commonlore.hypothesis (team_id, space_epoch, target_sha256) where status <> 'stale';
create index hypothesis_live_by_subject on commonlore.hypothesis (team_id, space_epoch, subject_entity_id, predicate_key)
    where status in ('proposed', 'reinforced');
create index hypothesis_live_by_object on commonlore.hypothesis (team_id, space_epoch, object_entity_id)
    where status in ('proposed', 'reinforced');

-- The two premises, in their order, each at the version and by the support that it was read in.
create table commonlore.hypothesis_source (
    team_id uuid not null,
    space_epoch bigint not null,
    hypothesis_id uuid not null,
    premise_position smallint not null check (premise_position in (1, 2)),
    relationship_id uuid not null,
    relationship_version integer not null check (relationship_version >= 1),
    semantic_group_key text not null,
    support_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, hypothesis_id, premise_position),
    unique (team_id, space_epoch, hypothesis_id, relationship_id),
    foreign key (team_id, space_epoch, hypothesis_id) references commonlore.hypothesis (team_id, space_epoch, hypothesis_id),
    foreign key (team_id, space_epoch, relationship_id) references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, support_id) references commonlore.relationship_support (team_id, space_epoch, support_id)
);
create index hypothesis_source_by_relationship on commonlore.hypothesis_source (team_id, space_epoch, relationship_id);
create index hypothesis_source_by_group on commonlore.hypothesis_source (team_id, space_epoch, semantic_group_key);

-- The words of the names of both ends, by which a query finds a hypothesis.
create table commonlore.hypothesis_term (
    team_id uuid not null,
    space_epoch bigint not null,
    term text not null,
    hypothesis_id uuid not null,
    primary key (team_id, space_epoch, term, hypothesis_id),
    foreign key (team_id, space_epoch, hypothesis_id) references commonlore.hypothesis (team_id, space_epoch, hypothesis_id)
);

-- What became of a hypothesis: one event a version. The actor is null where a run or a write of its sources did it.
create table commonlore.hypothesis_event (
    team_id uuid not null,
    space_epoch bigint not null,
    hypothesis_id uuid not null,
    version integer not null check (version >= 1),
    status text not null check (status in ('proposed', 'reinforced', 'stale', 'rejected', 'submitted')),
    decision text check (decision in ('reinforce', 'stale', 'reject', 'confirm_true', 'confirm_false')),
    reason text not null check (length(reason) between 1 and 1000),
    actor_profile_id uuid,
    submission_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, hypothesis_id, version),
    foreign key (team_id, space_epoch, hypothesis_id) references commonlore.hypothesis (team_id, space_epoch, hypothesis_id),
    foreign key (team_id, actor_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    check ((decision is null) = (actor_profile_id is null))
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.hypothesis_gate', 'space', 'append', 'none');
select commonlore.isolate('commonlore.hypothesis_rule', 'space', 'append', 'none');
select commonlore.isolate('commonlore.hypothesis_run', 'space', 'none', 'remove');
select commonlore.isolate('commonlore.hypothesis', 'space', 'none', 'append');
select commonlore.isolate('commonlore.hypothesis_source', 'space', 'none', 'append');
select commonlore.isolate('commonlore.hypothesis_term', 'space', 'none', 'append');
select commonlore.isolate('commonlore.hypothesis_event', 'space', 'append', 'append');
grant update (enabled, outputs) on commonlore.hypothesis_gate to commonlore_app;
grant update (enabled, actor_profile_id, known_from) on commonlore.hypothesis_rule to commonlore_app;
-- Its standing alone changes; what it says and from what never does.
grant update (status, version, invalidated_reason, submission_id, updated_at) on commonlore.hypothesis to commonlore_app, commonlore_worker;
"""
