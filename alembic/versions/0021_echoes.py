"""Echoes: which texts were recalled shortly before, by id, and which texts quote one of them."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- Ids of texts that a recall returned, for a day. Noted in batches, away from the recall; losing some loses no more than a warning.
create table commonlore.recalled_evidence (
    team_id uuid not null,
    space_epoch bigint not null,
    evidence_id uuid not null,
    recalled_at timestamptz not null,
    primary key (team_id, space_epoch, evidence_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id)
);
create index recalled_evidence_latest on commonlore.recalled_evidence (team_id, space_epoch, recalled_at desc, evidence_id);

-- A text that quotes what was recalled before it was stored. It counts as the source that it quotes. The quoted text is null where it lies
-- in another space, whose ids are not kept here, and may be gone by now.
create table commonlore.evidence_echo (
    team_id uuid not null,
    space_epoch bigint not null,
    evidence_id uuid not null,
    echoed_evidence_id uuid,
    source_group_key text not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, evidence_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id)
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.recalled_evidence', 'space', 'remove', 'none');
select commonlore.isolate('commonlore.evidence_echo', 'space', 'append', 'none');
"""
