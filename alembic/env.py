"""Forward-only migrations, run by the migrator as the owner, one at a time and never waiting long for a lock.

The caller (`commonlore.db.migrate`) passes one open connection in `attributes`; offline mode prints the SQL.
"""

from alembic import context
from sqlalchemy import text

connection = context.config.attributes.get("connection")
if connection is None:
    context.configure(dialect_name="postgresql", literal_binds=True, version_table_schema="commonlore", transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(connection=connection, version_table_schema="commonlore", transaction_per_migration=True)
    # Session level, so that each migration's own transaction inherits both; the connection is closed afterwards.
    connection.execute(text("set lock_timeout = '5s'"))
    connection.execute(text("set statement_timeout = '15min'"))
    connection.commit()
    with context.begin_transaction():
        context.run_migrations()
