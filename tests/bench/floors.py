"""What the machine itself allows, measured in the same run as the service, so that every result is a ratio."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Callable, Sequence

import psycopg
from psycopg import sql

from commonlore.db.embedding.local import LocalEmbedder

_EXECUTION = re.compile(r"Execution Time: ([\d.]+)")


def percentile(samples: Sequence[float], share: float) -> float:
    """The value below which `share` of the samples lie; the highest for 1."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def embed_once_ms(embedder: LocalEmbedder, query: str) -> float:
    """Embedding one short query alone, in milliseconds."""
    started = time.perf_counter()
    await embedder.embed_query(query)
    return (time.perf_counter() - started) * 1000


def embed_ms(queries: Sequence[str]) -> float:
    """Median of embedding one short query alone, in milliseconds."""
    embedder = LocalEmbedder(threads=1)

    async def run() -> list[float]:
        return [await embed_once_ms(embedder, query) for query in queries]

    try:
        return statistics.median(asyncio.run(run()))
    finally:
        embedder.close()


def select_one_ms(conninfo: str) -> float:
    """Median of `select 1` on one connection."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return _median_ms(lambda: connection.execute("select 1").fetchone(), 300)


def _median_ms(call: Callable[[], object], times: int) -> float:
    samples = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        samples.append((time.perf_counter() - started) * 1000)
    return statistics.median(samples)


def exact_scan_ms(admin_conninfo: str, team_id: str, table: str, vector: str) -> float:
    """The least time of the bare exact scan: nearest 200 of one team's vectors, as a superuser, without policy, gate or join."""
    statement = sql.SQL(
        "explain (analyze, timing off) select embedding <#> {vector}::halfvec(384) as distance from {table} where team_id = {team} order by 1 limit 200"
    ).format(vector=sql.Literal(vector), table=sql.Identifier("commonlore", table), team=sql.Literal(team_id))
    with psycopg.connect(admin_conninfo, autocommit=True) as connection:
        connection.execute("set search_path = commonlore, public")
        connection.execute("set enable_seqscan = off")
        return min(_execution(connection, statement) for _ in range(15))


def _execution(connection: psycopg.Connection, statement: sql.Composed) -> float:
    text = "\n".join(str(row[0]) for row in connection.execute(statement).fetchall())
    match = _EXECUTION.search(text)
    assert match is not None
    return float(match[1])
