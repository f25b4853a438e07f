"""Sessions that are taken in event by event: which event was taken in, and where its text lies."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- A session by the hash of its names. Its row is locked by whoever adds to it, so that its events have numbers without gaps.
create table commonlore.ingested_session (
    team_id uuid not null,
    space_epoch bigint not null,
    session_sha256 bytea not null check (length(session_sha256) = 32),
    last_sequence bigint not null check (last_sequence >= 0),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, session_sha256),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);

-- An event by the hash of its names and its owner. Once its text was erased, the evidence is null: the row says only that the event
-- was there, so that it is not stored again. It holds no text and no name.
create table commonlore.ingested_turn (
    team_id uuid not null,
    space_epoch bigint not null,
    event_sha256 bytea not null check (length(event_sha256) = 32),
    session_sha256 bytea not null,
    evidence_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_sha256),
    foreign key (team_id, space_epoch, session_sha256) references commonlore.ingested_session (team_id, space_epoch, session_sha256),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id)
);
create unique index ingested_turn_by_evidence on commonlore.ingested_turn (team_id, space_epoch, evidence_id) where evidence_id is not null;

-- Calls that took in a session, in the order in which their briefs are listed.
create index submission_of_session on commonlore.submission (team_id, space_epoch, submission_id) where submission_kind = 'ingest_session';
"""

_POLICIES = """
select commonlore.isolate('commonlore.ingested_session', 'space', 'change', 'none');
select commonlore.isolate('commonlore.ingested_turn', 'space', 'append', 'none');
"""
