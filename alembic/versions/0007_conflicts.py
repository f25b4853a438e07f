"""Conflicts: cases of statements and of texts, their positions, members and events, and what a decision keeps from the present."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute(_RULES)
    op.execute(_TABLES)
    op.execute(_POLICIES)


_RULES = """
-- Each kind of call that can be repeated by its key; the code has the list.
alter table commonlore.submission drop constraint submission_submission_kind_check;
alter table commonlore.submission add constraint submission_submission_kind_check check (submission_kind ~ '^[a-z][a-z_]{0,63}$');

-- How long a case waits for people, and whether the review may decide by itself.
alter table commonlore.team
    add column conflict_review_days integer not null default 7 check (conflict_review_days between 1 and 30),
    add column conflict_quorum integer not null default 2 check (conflict_quorum between 1 and 100),
    add column conflict_automatic boolean not null default false,
    add column conflict_last_write_wins boolean not null default false;

-- From when on a decided conflict prefers another statement; before it, this one holds in views of that time.
alter table commonlore.relationship add column suppressed_from timestamptz;
"""

_TABLES = """
-- One question. The row is the present state; the events say how it came about, and views of the past are read from them.
create table commonlore.conflict_case (
    team_id uuid not null,
    space_epoch bigint not null,
    conflict_id uuid not null,
    kind text not null check (kind in ('cross_profile_current_state', 'evidence_conflict')),
    -- Of statements: the key of their scope. Of texts: what the caller chose, once in a space.
    case_key text not null check (length(case_key) between 1 and 128),
    status text not null check (status in ('open', 'overdue', 'resolved', 'dismissed')),
    question text not null check (length(question) between 1 and 512),
    version integer not null check (version >= 1),
    last_ordinal integer not null check (last_ordinal >= 1),
    positions_truncated boolean not null,
    subject_entity_id uuid,
    predicate_key text,
    predicate_version integer,
    polarity text check (polarity in ('+', '-')),
    scope_key text,
    policy_version text not null,
    review_days integer not null check (review_days between 1 and 30),
    review_due_at timestamptz not null,
    preferred_position_id uuid,
    effective_at timestamptz,
    effective_time_basis text check (effective_time_basis in ('valid_from', 'recorded_at', 'stated')),
    closed_by text check (closed_by in ('person', 'policy', 'write')),
    closed_at timestamptz,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, conflict_id),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    foreign key (team_id, space_epoch, subject_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, predicate_key, predicate_version)
        references commonlore.predicate_definition (team_id, space_epoch, predicate_key, version),
    check ((kind = 'cross_profile_current_state') = (num_nonnulls(subject_entity_id, predicate_key, predicate_version, polarity) = 4)),
    check ((status = 'resolved') = (preferred_position_id is not null)),
    check ((status in ('resolved', 'dismissed')) = (closed_at is not null)),
    check ((closed_at is null) = (closed_by is null))
);
create unique index conflict_case_open_once on commonlore.conflict_case (team_id, space_epoch, case_key)
    where kind = 'cross_profile_current_state' and status in ('open', 'overdue');
create unique index conflict_case_key_once on commonlore.conflict_case (team_id, space_epoch, case_key) where kind = 'evidence_conflict';
create index conflict_case_by_scope on commonlore.conflict_case (team_id, space_epoch, subject_entity_id, predicate_key)
    where subject_entity_id is not null;
create index conflict_case_due on commonlore.conflict_case (team_id, space_epoch, review_due_at, conflict_id) where status in ('open', 'overdue');

-- What one side says: an object. Positions are never changed; which one is preferred is said by the events.
create table commonlore.conflict_position (
    team_id uuid not null,
    space_epoch bigint not null,
    position_id uuid not null,
    conflict_id uuid not null,
    position_no integer not null check (position_no between 1 and 10),
    object_entity_id uuid,
    object_value_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, position_id),
    unique (team_id, space_epoch, conflict_id, position_no),
    unique nulls not distinct (team_id, space_epoch, conflict_id, object_entity_id, object_value_id),
    foreign key (team_id, space_epoch, conflict_id) references commonlore.conflict_case (team_id, space_epoch, conflict_id),
    foreign key (team_id, space_epoch, object_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, object_value_id) references commonlore.value_record (team_id, space_epoch, value_id),
    check (num_nonnulls(object_entity_id, object_value_id) = 1)
);

-- A support of a position, as it was when it joined; whether it stands is said by the events.
create table commonlore.conflict_member (
    team_id uuid not null,
    space_epoch bigint not null,
    conflict_id uuid not null,
    support_id uuid not null,
    position_id uuid not null,
    relationship_id uuid not null,
    owner_profile_id uuid not null,
    verification_event_id uuid not null,
    evidence_id uuid not null,
    source_group_key text not null,
    authority text not null,
    effective_at timestamptz not null,
    effective_time_basis text not null check (effective_time_basis in ('valid_from', 'recorded_at')),
    accepted_at timestamptz not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, conflict_id, support_id),
    foreign key (team_id, space_epoch, conflict_id) references commonlore.conflict_case (team_id, space_epoch, conflict_id),
    foreign key (team_id, space_epoch, position_id) references commonlore.conflict_position (team_id, space_epoch, position_id),
    foreign key (team_id, space_epoch, support_id) references commonlore.relationship_support (team_id, space_epoch, support_id),
    foreign key (team_id, space_epoch, relationship_id) references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    foreign key (team_id, owner_profile_id) references commonlore.profile (team_id, profile_id)
);
create index conflict_member_by_evidence on commonlore.conflict_member (team_id, space_epoch, evidence_id);
create index conflict_member_by_relationship on commonlore.conflict_member (team_id, space_epoch, relationship_id);

-- A position of a case of texts: an exact place in one text. Never changed, and complete from the start.
create table commonlore.conflict_quote (
    team_id uuid not null,
    space_epoch bigint not null,
    position_id uuid not null,
    conflict_id uuid not null,
    position_no integer not null check (position_no between 1 and 10),
    evidence_id uuid not null,
    owner_profile_id uuid not null,
    span_start integer not null,
    span_end integer not null,
    quote text not null check (length(quote) between 1 and 4000),
    authority text not null,
    submitted boolean not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, position_id),
    unique (team_id, space_epoch, conflict_id, position_no),
    foreign key (team_id, space_epoch, conflict_id) references commonlore.conflict_case (team_id, space_epoch, conflict_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    foreign key (team_id, owner_profile_id) references commonlore.profile (team_id, profile_id),
    check (0 <= span_start and span_start < span_end)
);
create index conflict_quote_by_evidence on commonlore.conflict_quote (team_id, space_epoch, evidence_id);

-- What happened to a case, in the order of `ordinal`. Events of one write share a version and a known time.
create table commonlore.conflict_event (
    team_id uuid not null,
    space_epoch bigint not null,
    conflict_id uuid not null,
    ordinal integer not null check (ordinal >= 1),
    version integer not null check (version >= 1),
    action text not null check (action in ('opened', 'position_added', 'positions_truncated', 'member_added', 'member_left', 'recited',
        'evaluated', 'marked_overdue', 'resolved', 'dismissed')),
    position_id uuid,
    support_id uuid,
    evidence_id uuid,
    effective_at timestamptz,
    effective_time_basis text,
    -- Null where the service decided by its rules.
    actor_profile_id uuid,
    reason text not null check (length(reason) between 1 and 1000),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, conflict_id, ordinal),
    foreign key (team_id, space_epoch, conflict_id) references commonlore.conflict_case (team_id, space_epoch, conflict_id),
    foreign key (team_id, actor_profile_id) references commonlore.profile (team_id, profile_id),
    check (action not in ('position_added', 'resolved') or position_id is not null),
    check (action not in ('member_added', 'member_left') or support_id is not null),
    check (action <> 'recited' or evidence_id is not null)
);
create index conflict_event_by_support on commonlore.conflict_event (team_id, space_epoch, conflict_id, support_id, ordinal desc)
    where support_id is not null;
"""

_POLICIES = """
select commonlore.isolate('commonlore.conflict_case', 'space', 'change', 'none');
select commonlore.isolate('commonlore.conflict_position', 'space', 'append', 'none');
select commonlore.isolate('commonlore.conflict_member', 'space', 'append', 'none');
select commonlore.isolate('commonlore.conflict_quote', 'space', 'append', 'none');
select commonlore.isolate('commonlore.conflict_event', 'space', 'append', 'none');
grant update (conflict_review_days, conflict_quorum, conflict_automatic, conflict_last_write_wins) on commonlore.team to commonlore_app;
"""
