"""What callers say of recalls: which results an answer had, by id, and how good they were. No recall reads it."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
alter table commonlore.team add column recall_feedback boolean not null default false;

-- A recall that was kept for feedback: whose, and by which ranking. Its query and its texts are nowhere.
create table commonlore.feedback_recall (
    team_id uuid not null references commonlore.team (team_id),
    recall_id uuid not null,
    profile_id uuid not null,
    credential_id uuid not null,
    ranking text not null check (length(ranking) between 1 and 128),
    known_from timestamptz not null,
    primary key (team_id, recall_id)
);
create index feedback_recall_by_time on commonlore.feedback_recall (team_id, known_from);

-- What the answer showed, by id.
create table commonlore.feedback_result (
    team_id uuid not null,
    recall_id uuid not null,
    kind text not null check (kind in ('evidence', 'relationship', 'community', 'hypothesis')),
    result_id uuid not null,
    rank integer not null check (rank >= 1),
    -- A relationship inside a community.
    nested boolean not null,
    primary key (team_id, recall_id, kind, result_id),
    foreign key (team_id, recall_id) references commonlore.feedback_recall (team_id, recall_id)
);
create index feedback_result_by_id on commonlore.feedback_result (team_id, result_id);

-- What was said of a recall, once. A comment is not kept: it may quote a text that is erased later.
create table commonlore.recall_feedback (
    team_id uuid not null,
    recall_id uuid not null,
    used boolean not null,
    answer_supported boolean not null,
    quality text not null check (quality in ('high', 'medium', 'low')),
    missing_context boolean not null,
    irrelevant boolean not null,
    has_comment boolean not null,
    known_from timestamptz not null,
    primary key (team_id, recall_id),
    foreign key (team_id, recall_id) references commonlore.feedback_recall (team_id, recall_id)
);

-- What was said of one of its results.
create table commonlore.feedback_mark (
    team_id uuid not null,
    recall_id uuid not null,
    kind text not null check (kind in ('evidence', 'relationship', 'community', 'hypothesis')),
    result_id uuid not null,
    irrelevant boolean not null,
    used boolean,
    quality text check (quality in ('high', 'medium', 'low')),
    contradicted boolean,
    primary key (team_id, recall_id, kind, result_id),
    foreign key (team_id, recall_id, kind, result_id) references commonlore.feedback_result (team_id, recall_id, kind, result_id)
);
create index feedback_mark_by_id on commonlore.feedback_mark (team_id, result_id);
"""

_POLICIES = """
grant update (recall_feedback) on commonlore.team to commonlore_app;
select commonlore.isolate('commonlore.feedback_recall', 'team', 'append', 'none');
select commonlore.isolate('commonlore.feedback_result', 'team', 'append', 'none');
select commonlore.isolate('commonlore.recall_feedback', 'team', 'append', 'none');
select commonlore.isolate('commonlore.feedback_mark', 'team', 'append', 'none');
-- Retention and erasure take it away.
grant delete on commonlore.feedback_recall, commonlore.feedback_result, commonlore.recall_feedback, commonlore.feedback_mark to commonlore_worker;
"""
