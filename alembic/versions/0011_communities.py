"""Communities: snapshots, members, publications."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
select
"""
