"""Which relationships of a space do not count is read at once, before a recall knows its candidates."""

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.execute(_INDEX)


_INDEX = """
-- The condition of `relationship_eligible`, turned round. Small: most relationships count.
create index relationship_not_counting on commonlore.relationship (team_id, space_epoch, relationship_id)
    where not (identity_alias_of is null and status = 'active' and support_count > 0);
"""
