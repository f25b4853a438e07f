"""Hypotheses: proposals, their sources and what people said of them."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.execute(_TABLES)


_TABLES = """
select
"""
