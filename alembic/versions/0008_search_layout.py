"""How candidates are found: the layout of postings and vectors."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
select
"""
