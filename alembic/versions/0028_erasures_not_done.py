"""Whether an erasure reaches into a space and is not done is read by each recall of a space that a process keeps."""

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.execute("create index erasure_not_done on commonlore.erasure (team_id, erasure_id) where state not in ('done', 'restored')")
