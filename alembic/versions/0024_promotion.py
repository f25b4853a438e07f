"""Promotions: which private texts were copied into a shared space, by whom, and which wait for somebody to decide."""

from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- Ids only: the texts of a request stay where they are until it is approved.
create table commonlore.promotion (
    team_id uuid not null,
    promotion_id uuid not null,
    state text not null check (state in ('requested', 'promoted', 'rejected', 'revoked')),
    owner_profile_id uuid not null,
    source_space_id uuid not null,
    target_space_id uuid not null,
    with_relationships boolean not null,
    reason text check (length(reason) between 1 and 1000),
    known_from timestamptz not null,
    expires_at timestamptz,
    submission_id uuid,
    decided_by_profile_id uuid,
    decided_at timestamptz,
    decision_reason text check (length(decision_reason) between 1 and 1000),
    revoked_by_profile_id uuid,
    revoked_at timestamptz,
    revocation_reason text check (length(revocation_reason) between 1 and 1000),
    primary key (team_id, promotion_id),
    foreign key (team_id, owner_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, decided_by_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, revoked_by_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, source_space_id) references commonlore.space (team_id, space_id),
    foreign key (team_id, target_space_id) references commonlore.space (team_id, space_id),
    check ((state = 'revoked') = (revoked_at is not null)),
    check (state <> 'requested' or expires_at is not null),
    check (state <> 'promoted' or submission_id is not null)
);
create index promotion_by_target on commonlore.promotion (team_id, target_space_id, promotion_id);
create index promotion_by_owner on commonlore.promotion (team_id, owner_profile_id, promotion_id);

-- One text of a promotion and, once it was copied, its copy.
create table commonlore.promotion_item (
    team_id uuid not null,
    promotion_id uuid not null,
    ordinal integer not null check (ordinal >= 0),
    target_space_id uuid not null,
    source_evidence_id uuid not null,
    evidence_id uuid,
    ended_at timestamptz,
    primary key (team_id, promotion_id, ordinal),
    foreign key (team_id, promotion_id) references commonlore.promotion (team_id, promotion_id)
);
-- A text has one copy in a space, and one request for one at a time.
create unique index promotion_once on commonlore.promotion_item (team_id, target_space_id, source_evidence_id) where ended_at is null;
"""

_POLICIES = """
select commonlore.isolate('commonlore.promotion', 'team', 'change', 'none');
select commonlore.isolate('commonlore.promotion_item', 'team', 'change', 'none');
"""
