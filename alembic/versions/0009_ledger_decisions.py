"""What writes of the ledger keep so that a repeated call gets its first answer."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
select
"""
