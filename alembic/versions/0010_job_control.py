"""Jobs: progress, dead letters and their reasons."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
select
"""
