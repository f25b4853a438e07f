"""The index of erasures that are not done holds what that of unfinished ones did."""

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.execute("drop index commonlore.erasure_unfinished")
