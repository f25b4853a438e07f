"""Ingest and recall at 1,000, 10,000 and 100,000 parts in one team with 50 small teams beside it, over HTTP, policies on.

    python -m tests.bench.run --datasets DIR --parts 10000 [--others 50]
    python -m tests.bench.run --datasets DIR --parts 100000 --copy [--embedded 10000] [--vectors FILE]

With `--copy` the rows are copied instead of remembered (`tests/bench/loading.py`), and the worker builds the space's vector index.
Every time stands beside its floor, measured in the same run: the machine's own cost of an embedding, of a round trip and
of the bare exact scan. Outside the default test run: it takes minutes and wants a quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg

from commonlore.api.cli.first_key import make_team
from commonlore.db import tenancy
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.db.locate import Database, open_database
from commonlore.db.settings import read_settings
from commonlore.db.sql import statements
from commonlore.db.vector_indexes import in_one_space
from commonlore.domain.projection.vector_index import VectorIndexPolicy
from tests.bench import floors
from tests.bench.corpus import pieces
from tests.bench.floors import percentile
from tests.bench.loading import TableEmbedder, copy_texts, embedded_vectors, fill
from tests.bench.peer import peer_numbers
from tests.bench.recalls import QUERIES, fragments, recall_rows, short_queries, split
from tests.bench.result import Floor, Result
from tests.bench.service import Service, running

# Texts that are remembered between two looks at the floor.
_TEXTS_A_PART = 10
_INDEX_WAIT_S = 3600


def proposals(texts: Sequence[str], *, every: int = 5) -> list[dict[str, Any]]:
    """A relationship in every fifth text: its first and last longer words, which the text carries."""
    made = []
    for index in range(0, len(texts), every):
        words = [word.strip(".,!?;:\"'()") for word in texts[index].split()]
        words = [word for word in words if len(word) > 3 and word.isalpha()]
        if len(words) >= 2 and words[0] != words[-1]:
            made.append(
                {
                    "ref": f"r{index}",
                    "subject": {"name": words[0], "entity_kind": "concept"},
                    "predicate": {"proposed_key": "mentions"},
                    "object": {"entity": {"name": words[-1], "entity_kind": "concept"}},
                    "evidence_indices": [index],
                }
            )
    return made


async def load(client: httpx.AsyncClient, key: str, texts: Sequence[str], *, writers: int = 4) -> float:
    """Seconds to remember all texts, twenty a call, with relationships in a fifth."""
    gate = asyncio.Semaphore(writers)

    async def one(batch: Sequence[str]) -> None:
        async with gate:
            body = {"evidence": [{"content": text} for text in batch], "relationships": proposals(batch)}
            answer = await client.post("/v1/remember", json=body, headers={"Authorization": f"Bearer {key}"})
            answer.raise_for_status()

    started = time.perf_counter()
    await asyncio.gather(*(one(texts[start : start + 20]) for start in range(0, len(texts), 20)))
    return time.perf_counter() - started


@dataclass(frozen=True)
class Copied:
    """Teams that are filled by copying. The first `embedded` texts have the model's own vectors."""

    embedder: TableEmbedder
    embedded: int

    @classmethod
    def of(cls, texts: Sequence[str], embedded: int, cache: Path | None) -> Copied:
        first = texts[:embedded]
        return cls(TableEmbedder(embedded_vectors(first, cache), texts[embedded:], LocalEmbedder(threads=2)), len(first))

    async def load(self, database: Database, key: str, texts: Sequence[str]) -> float:
        """As `load`: every fifth text with its relationship by the service's own way of writing, the others copied."""
        plain = [text for place, text in enumerate(texts) if place % 5]
        seconds = copy_texts(database.admin_conninfo, key, plain, self.embedder)
        return seconds + await fill(database.serving_conninfo, key, texts[::5], _request, self.embedder)


def _request(batch: Sequence[str]) -> dict[str, Any]:
    return {"evidence": [{"content": text} for text in batch], "relationships": proposals(batch, every=1)}


async def remember_ms(client: httpx.AsyncClient, key: str, texts: Sequence[str]) -> list[float]:
    """Milliseconds of remembering one short text with two relationships."""
    samples = []
    for number, text in enumerate(texts):
        body = {
            "evidence": [{"content": f"Nora{number} uses Zig and Rust{number}. {text[:60]}"}],
            "relationships": [
                {
                    "ref": f"r{place}",
                    "subject": {"name": f"Nora{number}", "entity_kind": "person"},
                    "predicate": {"proposed_key": "uses"},
                    "object": {"entity": {"name": name, "entity_kind": "product"}},
                    "evidence_indices": [0],
                }
                for place, name in enumerate(("Zig", f"Rust{number}"))
            ],
        }
        started = time.perf_counter()
        answer = await client.post("/v1/remember", json=body, headers={"Authorization": f"Bearer {key}"})
        samples.append((time.perf_counter() - started) * 1000)
        answer.raise_for_status()
    return samples


async def other_teams(home: Path, count: int) -> list[str]:
    """Keys of new small teams."""
    with open_database(read_settings({"COMMONLORE_HOME": str(home)})) as database:
        pool = tenancy.owner_pool(database.owner_conninfo)
        await pool.open()
        try:
            made = [await make_team(pool, f"other {number}", member="m", key="k", scopes=("read", "write")) for number in range(count)]
        finally:
            await pool.close()
    return [issued.text for issued in made]


def overlap(admin: str, team_id: str, queries: Sequence[str]) -> float:
    """The share of the exact nearest 60 by 32-bit floats that are in the first 60 of a search as recalls make it: by an index where there is one."""
    embedder = LocalEmbedder(threads=1)

    async def embed() -> list[Any]:
        return [await embedder.embed_query(query) for query in queries]

    vectors = asyncio.run(embed())
    embedder.close()
    shares = []
    with psycopg.connect(admin) as connection:
        connection.execute("set search_path = commonlore, public")
        row = connection.execute("select space_epoch from space where team_id = %s::uuid and space_kind = 'team_shared'", (team_id,)).fetchone()
        assert row is not None
        values = {"team_id": team_id, "space_epoch": row[0], "depth": 60}
        near = in_one_space(statements("vector_index")["nearest_evidence"], UUID(team_id), row[0])
        exact = statements("vector_index")["nearest_evidence"].replace(
            "v.embedding <#> %(vector)s::halfvec", "v.embedding::vector <#> %(vector)s::vector"
        )
        connection.execute(statements("session")["search_by_index"], {"ef_search": 400})
        for vector in vectors:
            text = "[" + ",".join(map(repr, vector.tolist())) + "]"
            ranked = [set(connection.execute(statement.encode(), {**values, "vector": text}).fetchall()) for statement in (near, exact)]
            shares.append(len(ranked[0] & ranked[1]) / 60)
    return statistics.mean(shares)


async def measure(
    service: Service, texts: Sequence[str], spare: Sequence[str], others: int, database: Database, copied: Copied | None
) -> list[Result]:
    results: list[Result] = []
    admin = database.admin_conninfo
    timeout, limits = httpx.Timeout(120), httpx.Limits(max_connections=16)
    async with httpx.AsyncClient(base_url=service.url, timeout=timeout, limits=limits) as client:
        beside = await other_teams(service.home, others)
        for number, key in enumerate(beside):
            theirs = spare[number * 100 : (number + 1) * 100]
            await (load(client, key, theirs) if copied is None else copied.load(database, key, theirs))
        before = _bytes(admin)
        with Floor(short_queries(texts)) as floor:
            (seconds,), floor_ms = await floor.beside(
                [lambda: load(client, service.key, texts) if copied is None else copied.load(database, service.key, texts)]
            )
        after = _bytes(admin)
        if copied is None:
            results.append(Result("ingest with embedding, 20 a call", len(texts) / seconds, "texts/s", ">= 100", floor_ms))
        results.append(Result("bytes per evidence, all included", (after - before) / len(texts), "bytes", "<= 8192"))
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("vacuum analyze")
        results += await _indexed(admin, len(texts))
        results += await recall_rows(service.url, service.key, texts if copied is None else texts[: copied.embedded], len(texts))
        with Floor(short_queries(texts)) as floor:
            parts, floor_ms = await floor.beside([partial(remember_ms, client, service.key, part) for part in split(texts[:60], _TEXTS_A_PART)])
        results.append(
            Result(
                "remember p50, one text and two relationships",
                percentile([sample for part in parts for sample in part], 0.5),
                "ms",
                "<= 45",
                floor_ms,
            )
        )
    results += [Result(f"RSS of the {name}", size, "MB", "<= 450" if name != "postgres" else "") for name, size in service.rss_mb().items()]
    return results


async def _indexed(admin: str, parts: int) -> list[Result]:
    """Wait for the vector index of the large space, where it gets one; how long that took, and what the worker measured."""
    if parts < VectorIndexPolicy().build_from:
        return []
    began = time.perf_counter()
    with psycopg.connect(admin, autocommit=True) as connection:
        while True:
            row = connection.execute(
                "select overlap, state from commonlore.vector_index where frontier = 'evidence' and state <> 'building' order by row_count desc limit 1"
            ).fetchone()
            if row is not None:
                break
            if time.perf_counter() - began > _INDEX_WAIT_S:
                raise RuntimeError("the worker built no vector index")
            await asyncio.sleep(1)
    return [
        Result("until the vector index was built and measured", time.perf_counter() - began, "s"),
        Result(f"overlap as the worker measured it ({row[1]})", row[0] / 1000, "", ">= .99"),
    ]


def _bytes(admin: str) -> float:
    with psycopg.connect(admin, autocommit=True) as connection:
        row = connection.execute("select pg_database_size(current_database())").fetchone()
        assert row is not None
        return float(row[0])


def bytes_by_table(admin: str, texts: int, *, least: float = 20.0) -> list[str]:
    """Lines of a table: what each table takes for each text of the database, the largest first, those below `least` bytes in one line."""
    with psycopg.connect(admin, autocommit=True) as connection:
        found = connection.execute(
            "select c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid), pg_indexes_size(c.oid) from pg_class c "
            "join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('commonlore', 'procrastinate') and c.relkind = 'r' order by 3 desc"
        ).fetchall()
    lines = [
        f"| `{name}` | {rows:,} | {size / texts:,.0f} | {indexes / texts:,.0f} |" for name, rows, size, indexes in found if size / texts >= least
    ]
    rest = [(size, indexes) for _, _, size, indexes in found if size / texts < least]
    lines.append(f"| {len(rest)} others | | {sum(size for size, _ in rest) / texts:,.0f} | {sum(indexes for _, indexes in rest) / texts:,.0f} |")
    lines.append(f"| all | | {sum(size for _, _, size, _ in found) / texts:,.0f} | {sum(indexes for *_, indexes in found) / texts:,.0f} |")
    return lines


def with_floors(results: list[Result], admin: str, key: str, texts: Sequence[str]) -> list[Result]:
    team_id = str(UUID(key.split("_")[1]))
    queries = [query for query, _ in fragments(texts, 40, seed=9)]
    embedding, round_trip = floors.embed_ms(queries), floors.select_one_ms(admin)
    vector = "[" + ",".join(["0.05"] * 384) + "]"
    evidence = floors.exact_scan_ms(admin, team_id, "evidence_vector_1", vector)
    relationships = floors.exact_scan_ms(admin, team_id, "relationship_vector_1", vector)
    by_name = {result.name: result.value for result in results}
    floor = evidence + relationships + 5 * round_trip
    return [
        *results,
        Result("overlap with exact 32-bit nearest 60", overlap(admin, team_id, queries[:20]), "", "1.0" if len(texts) <= 10_000 else ">= .99"),
        Result("floor: embed a query", embedding, "ms"),
        Result("floor: round trip", round_trip, "ms"),
        Result("floor: bare exact scan of evidence vectors", evidence, "ms"),
        Result("floor: bare exact scan of relationship vectors", relationships, "ms"),
        Result("ratio: cached recall p50 / (two bare scans + 5 round trips)", by_name["recall p50, query cached"] / floor, "x"),
        Result("ratio: recall p50 with embedding / (the same + one embedding)", by_name["recall p50, with embedding"] / (floor + embedding), "x"),
    ]


def _peer(python: Path, texts: Sequence[str], spare: Sequence[str], others: int, ours: dict[str, Result]) -> list[Result]:
    beside = [spare[number * 100 : (number + 1) * 100] for number in range(others)]
    found = peer_numbers(python, texts, beside, fragments(texts, QUERIES, seed=3))
    floor = found["floor_ms"]
    rows = [
        Result("chromadb with a filter by tenant: p50, with embedding", found["p50"], "ms", "", floor),
        Result("chromadb: p95, with embedding", found["p95"], "ms", "", floor),
        Result("chromadb: calls/s, 8 clients, with embedding", found["calls"], "", "", floor),
        Result("chromadb: known-item hit@10", found["hits"], ""),
    ]
    ratios = [
        ("recall p50, with embedding", rows[0], "<= 0.51"),
        ("recall p50, query cached", rows[0], "<= 0.29"),
        ("calls/s, 8 clients, with embedding", rows[2], ">= 1.83"),
        ("calls/s, 8 clients, cached", rows[2], ">= 3.33"),
    ]
    return rows + [
        Result(f"ratio to chromadb, both by the floor: {name}", ours[name].by_floor / row.by_floor, "x", bound) for name, row, bound in ratios
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--parts", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=50)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--copy", action="store_true", help="copy the rows instead of remembering each text")
    parser.add_argument("--embedded", type=int, default=10_000, help="with --copy: texts that get the model's own vectors")
    parser.add_argument("--vectors", type=Path, help="with --copy: a .npz file that keeps those vectors for the next run")
    parser.add_argument("--peer", type=Path, help="a Python that has chromadb: it is measured on the same texts beside the service")
    arguments = parser.parse_args()
    every = pieces(arguments.datasets, arguments.parts + arguments.others * 100)
    texts, spare = every[: arguments.parts], every[arguments.parts :]
    copied = Copied.of(every, arguments.embedded, arguments.vectors) if arguments.copy else None
    with running() as service, open_database(read_settings({"COMMONLORE_HOME": str(service.home)})) as database:
        admin = database.admin_conninfo
        results = with_floors(asyncio.run(measure(service, texts, spare, arguments.others, database, copied)), admin, service.key, texts)
        sizes = bytes_by_table(admin, len(every))
    if arguments.peer is not None:
        results += _peer(arguments.peer, texts, spare, arguments.others, {result.name: result for result in results})
    how = f"; copied, {copied.embedded} with the model's own vectors" if copied else ""
    print(f"{arguments.parts} parts in one team, {arguments.others} teams of 100 beside it{how}; the service started in {service.started_s:.1f} s\n")
    print("| what | measured | by the floor of embedding | bound |\n|---|---|---|---|")
    for result in results:
        print(result.shown())
    print("\n| table | rows | bytes per evidence | of it indexes |\n|---|---|---|---|")
    for line in sizes:
        print(line)
    if arguments.json:
        arguments.json.write_text(json.dumps([result.__dict__ for result in results], indent=1))


if __name__ == "__main__":
    main()
