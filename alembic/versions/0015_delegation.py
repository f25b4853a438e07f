"""Briefs that were claimed or decided, what happened to each, and the summaries of communities that verdicts gave."""

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- Briefs are read from the ledger; a row is there once one was claimed. Its id says what it is about, at which version.
create table commonlore.delegated_brief (
    team_id uuid not null,
    space_epoch bigint not null,
    brief_key text not null check (length(brief_key) between 1 and 128),
    kind text not null check (kind ~ '^[a-z][a-z_]{0,63}$'),
    state text not null check (state in ('claimed', 'released', 'decided')),
    claim_id uuid not null,
    credential_id uuid not null,
    profile_id uuid not null,
    expires_at timestamptz not null,
    last_ordinal integer not null check (last_ordinal >= 1),
    decided_at timestamptz,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, brief_key),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    foreign key (team_id, credential_id) references commonlore.credential (team_id, credential_id),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id),
    check ((state = 'decided') = (decided_at is not null))
);

-- Who claimed, who decided what, and what was applied. Quotes are kept as places, never as words.
create table commonlore.delegated_brief_event (
    team_id uuid not null,
    space_epoch bigint not null,
    brief_key text not null,
    ordinal integer not null check (ordinal >= 1),
    action text not null check (action in ('claimed', 'extended', 'expired', 'released', 'decided', 'applied')),
    claim_id uuid not null,
    profile_id uuid not null,
    credential_id uuid not null,
    detail jsonb not null check (jsonb_typeof(detail) = 'object'),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, brief_key, ordinal),
    foreign key (team_id, space_epoch, brief_key) references commonlore.delegated_brief (team_id, space_epoch, brief_key),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id)
);

-- A composed sentence about a community of one snapshot, with the places that carry it. Shown with its brief, never searched or ranked.
create table commonlore.delegated_summary (
    team_id uuid not null,
    space_epoch bigint not null,
    community_id uuid not null,
    brief_key text not null,
    summary text not null check (length(summary) between 1 and 600),
    evidence_ids uuid[] not null check (cardinality(evidence_ids) between 1 and 10),
    span_starts integer[] not null,
    span_ends integer[] not null,
    profile_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, community_id),
    foreign key (team_id, space_epoch, brief_key) references commonlore.delegated_brief (team_id, space_epoch, brief_key),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id),
    check (cardinality(span_starts) = cardinality(evidence_ids) and cardinality(span_ends) = cardinality(evidence_ids))
);

-- What waits for evidence, in the order in which it is asked about.
create index relationship_pending on commonlore.relationship (team_id, space_epoch, relationship_id)
    where status = 'pending_evidence' and identity_alias_of is null;
"""

_POLICIES = """
select commonlore.isolate('commonlore.delegated_brief', 'space', 'append', 'none');
select commonlore.isolate('commonlore.delegated_brief_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.delegated_summary', 'space', 'append', 'none');
grant update (state, claim_id, credential_id, profile_id, expires_at, last_ordinal, decided_at) on commonlore.delegated_brief to commonlore_app;
"""
