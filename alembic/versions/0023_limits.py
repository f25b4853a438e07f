"""What teams and keys may use, and what they used."""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.execute(_SETTINGS)
    op.execute(_USE)


_SETTINGS = """
alter table commonlore.team
    add column limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
    -- What no setting of the team goes beyond; the operator's alone.
    add column limit_ceiling jsonb not null default '{}' check (jsonb_typeof(limit_ceiling) = 'object');
alter table commonlore.credential add column limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object');

grant update (limits) on commonlore.team to commonlore_app;
"""

_USE = """
-- Calls by credential, and by the whole team, whose id is then the subject's. Told in sums by each process, never in a call's own transaction.
create table commonlore.limit_use (
    team_id uuid not null references commonlore.team (team_id),
    subject_id uuid not null,
    operation_class text not null check (operation_class in ('read', 'write', 'admin', 'heavy')),
    full_at timestamptz not null,
    -- The first instant of the day and of the month, in UTC.
    day timestamptz not null,
    day_calls bigint not null check (day_calls >= 0),
    month timestamptz not null,
    month_calls bigint not null check (month_calls >= 0),
    primary key (team_id, subject_id, operation_class)
) with (fillfactor = 50);

select commonlore.isolate('commonlore.limit_use', 'team', 'change', 'none');
"""
