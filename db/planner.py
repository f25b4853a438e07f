"""The database's knowledge of its own tables, brought up to date at once instead of within autovacuum's minute."""

from __future__ import annotations

import psycopg

from commonlore.db.errors import stating


def refresh(conninfo: str) -> None:
    """Vacuum and analyse every table; needs the administrator. Right after many writes, plans are otherwise made for empty tables.

    Raises:
        Unavailable: the database does not answer.
    """
    with stating(), psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
