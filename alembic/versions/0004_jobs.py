"""The job queue: procrastinate in a schema of its own, and the one function by which the serving role enqueues."""

from alembic import op
from procrastinate.schema import SchemaManager

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("set local search_path = procrastinate")
    # The driver's own cursor: the schema holds percent signs and colons that a bind parser would read as parameters.
    op.get_bind().connection.cursor().execute(SchemaManager.get_schema().encode())
    op.execute("set local search_path = commonlore, public")
    op.execute(_ENQUEUE)


_ENQUEUE = """
-- Arguments are ids only: the queue stands outside row security.
create function commonlore.enqueue(task_name text, queue_name text, priority integer, queueing_lock text, args jsonb) returns bigint
language sql security definer set search_path = procrastinate, pg_temp as $body$
    insert into procrastinate_jobs (queue_name, task_name, priority, queueing_lock, args)
    values (queue_name, task_name, priority, queueing_lock, args)
    on conflict do nothing
    returning id
$body$;
revoke execute on function commonlore.enqueue(text, text, integer, text, jsonb) from public;
grant execute on function commonlore.enqueue(text, text, integer, text, jsonb) to commonlore_app, commonlore_worker;

grant usage on schema procrastinate to commonlore_worker;
grant select, insert, update, delete on all tables in schema procrastinate to commonlore_worker;
grant usage on all sequences in schema procrastinate to commonlore_worker;
"""
