"""The audit log: who did what to what, in the transaction that did it; and the seals by which a change of it is seen."""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)


_TABLES = """
-- One act on one subject. Ids and codes alone, and the reason that an administrator gave; nothing points at it and it points at nothing,
-- so that it outlives what it names.
create table commonlore.audit_entry (
    team_id uuid not null,
    entry_id uuid not null,
    act text not null check (act ~ '^[a-z][a-z0-9_ -]{0,63}$'),
    actor_kind text not null check (actor_kind in ('credential', 'operator', 'worker')),
    profile_id uuid,
    credential_id uuid,
    subject_kind text not null check (subject_kind ~ '^[a-z][a-z_]{0,63}$'),
    -- An id, or several joined by colons; never a name.
    subject text not null check (length(subject) between 1 and 256),
    outcome text not null check (outcome in ('done', 'denied', 'refused')),
    -- Why it was not done: a code of the closed list of failures.
    code text check (code ~ '^[a-z][a-z_]{0,63}$'),
    reason text check (length(reason) between 1 and 500),
    correlation text not null check (length(correlation) between 1 and 128),
    known_from timestamptz not null,
    primary key (team_id, entry_id),
    check ((actor_kind = 'credential') = (profile_id is not null and credential_id is not null)),
    check ((outcome = 'done') = (code is null))
);
create index audit_entry_by_subject on commonlore.audit_entry (team_id, subject, entry_id);

-- Entries that no seal holds yet: written with each entry, taken away by the worker that seals it.
create table commonlore.audit_unsealed (
    team_id uuid not null,
    entry_id uuid not null,
    primary key (team_id, entry_id)
);

-- Some entries of a team, in order, with the digest of them and of the seal before. Made by a worker, one after the other.
create table commonlore.audit_seal (
    team_id uuid not null,
    ordinal bigint not null check (ordinal >= 1),
    entry_ids uuid[] not null check (cardinality(entry_ids) >= 1),
    entries_sha256 bytea not null check (length(entries_sha256) = 32),
    previous_sha256 bytea not null check (length(previous_sha256) = 32),
    seal_sha256 bytea not null check (length(seal_sha256) = 32),
    last_known_from timestamptz not null,
    known_from timestamptz not null,
    primary key (team_id, ordinal)
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.audit_entry', 'team', 'append', 'append');
select commonlore.isolate('commonlore.audit_unsealed', 'team', 'append', 'append');
select commonlore.isolate('commonlore.audit_seal', 'team', 'none', 'append');
grant delete on commonlore.audit_unsealed to commonlore_worker;
"""
