"""Ingest and recall at 1,000 and 10,000 parts in one team with 50 small teams beside it, over HTTP, policies on.

    python -m tests.bench.run --datasets DIR --parts 10000 [--others 50] [--markdown docs/reference/benchmarks.md]

Every time stands beside its floor, measured in the same run: the machine's own cost of an embedding, of a round trip and
of the bare exact scan. Outside the default test run: it takes minutes and wants a quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg

from commonlore.api.cli.first_key import make_team
from commonlore.db import tenancy
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.db.locate import open_database
from commonlore.db.settings import read_settings
from tests.bench import floors
from tests.bench.corpus import pieces
from tests.bench.floors import percentile
from tests.bench.service import Service, running

QUERIES = 200


@dataclass(frozen=True)
class Result:
    """One line of the table: what, how much, in which unit, against which bound (empty where there is none)."""

    name: str
    value: float
    unit: str
    bound: str = ""

    def shown(self) -> str:
        return (
            f"| {self.name} | {self.value:,.3g} {self.unit} | {self.bound} |"
            if self.value < 1000
            else f"| {self.name} | {self.value:,.0f} {self.unit} | {self.bound} |"
        )


def fragments(texts: Sequence[str], count: int, *, seed: int) -> list[tuple[str, str]]:
    """Known items: (query of about 50 characters in whole words, the text it was taken from)."""
    chooser = random.Random(seed)
    made = []
    for text in chooser.sample(list(texts), count):
        words = text.split()
        start = chooser.randrange(max(1, len(words) - 9))
        query = words[start]
        for word in words[start + 1 :]:
            if len(query) + len(word) + 1 > 55:
                break
            query += " " + word
        made.append((query, text))
    return made


def proposals(texts: Sequence[str]) -> list[dict[str, Any]]:
    """A relationship in every fifth text: its first and last longer words, which the text carries."""
    made = []
    for index in range(0, len(texts), 5):
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


async def recall(client: httpx.AsyncClient, key: str, query: str) -> tuple[float, dict[str, Any]]:
    """Milliseconds and the answer of one full recall."""
    started = time.perf_counter()
    answer = await client.post("/v1/recall_memory", json={"query": query}, headers={"Authorization": f"Bearer {key}"})
    elapsed = (time.perf_counter() - started) * 1000
    answer.raise_for_status()
    return elapsed, answer.json()


async def recalls(client: httpx.AsyncClient, key: str, known: Sequence[tuple[str, str]]) -> tuple[list[float], float]:
    """Milliseconds of each recall, and the share of queries whose text is among the ten results."""
    samples, hits = [], 0
    for query, text in known:
        elapsed, answer = await recall(client, key, query)
        samples.append(elapsed)
        hits += any(text in item["context"] for item in answer["results"])
    return samples, hits / len(known)


async def throughput(client: httpx.AsyncClient, key: str, queries: Sequence[str], clients: int = 8) -> float:
    """Recalls a second with several clients."""

    async def one(number: int) -> None:
        for query in queries[number::clients]:
            await recall(client, key, query)

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    return len(queries) / (time.perf_counter() - started)


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
    """The share of the exact nearest 60 by 32-bit floats that the stored halves rank in their first 60."""
    embedder = LocalEmbedder(threads=1)

    async def embed() -> list[Any]:
        return [await embedder.embed_query(query) for query in queries]

    vectors = asyncio.run(embed())
    embedder.close()
    shares = []
    with psycopg.connect(admin) as connection:
        connection.execute("set search_path = commonlore, public")
        for vector in vectors:
            text = "[" + ",".join(map(repr, vector.tolist())) + "]"
            ranked = [
                {row[0] for row in connection.execute(statement, (team_id, text)).fetchall()}
                for statement in (
                    "select evidence_id from evidence_vector_1 where team_id = %s order by embedding <#> %s::halfvec(384), evidence_id limit 60",
                    "select evidence_id from evidence_vector_1 where team_id = %s order by embedding::vector(384) <#> %s::vector(384), evidence_id limit 60",
                )
            ]
            shares.append(len(ranked[0] & ranked[1]) / 60)
    return statistics.mean(shares)


async def measure(service: Service, texts: Sequence[str], spare: Sequence[str], others: int, admin: str) -> list[Result]:
    results: list[Result] = []
    timeout, limits = httpx.Timeout(120), httpx.Limits(max_connections=16)
    async with httpx.AsyncClient(base_url=service.url, timeout=timeout, limits=limits) as client:
        beside = await other_teams(service.home, others)
        for number, key in enumerate(beside):
            await load(client, key, spare[number * 100 : (number + 1) * 100])
        before = _bytes(admin)
        seconds = await load(client, service.key, texts)
        after = _bytes(admin)
        results.append(Result("ingest with embedding, 20 a call", len(texts) / seconds, "texts/s", ">= 100"))
        results.append(Result("bytes per evidence, all included", (after - before) / len(texts), "bytes", "<= 8192"))
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("vacuum analyze")
        known = fragments(texts, QUERIES, seed=3)
        uncached, hits = await recalls(client, service.key, known)
        cached, _ = await recalls(client, service.key, known)
        results += [
            Result("recall p50, with embedding", percentile(uncached, 0.5), "ms", "<= 14"),
            Result("recall p95, with embedding", percentile(uncached, 0.95), "ms", "<= 20"),
            Result("recall p50, query cached", percentile(cached, 0.5), "ms", "<= 8"),
            Result("recall p95, query cached", percentile(cached, 0.95), "ms", "<= 14"),
            Result("known-item hit@10", hits, "", ">= .96"),
            Result("calls/s, 8 clients, cached", await throughput(client, service.key, [query for query, _ in known] * 2), "", ">= 200"),
        ]
        fresh = [query for query, _ in fragments(texts, QUERIES, seed=5)]
        results.append(Result("calls/s, 8 clients, with embedding", await throughput(client, service.key, fresh), "", ">= 110"))
        results.append(
            Result("remember p50, one text and two relationships", percentile(await remember_ms(client, service.key, texts[:60]), 0.5), "ms", "<= 45")
        )
    results += [Result(f"RSS of the {name}", size, "MB", "<= 450" if name != "postgres" else "") for name, size in service.rss_mb().items()]
    return results


def _bytes(admin: str) -> float:
    with psycopg.connect(admin, autocommit=True) as connection:
        row = connection.execute("select pg_database_size(current_database())").fetchone()
        assert row is not None
        return float(row[0])


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
        Result("overlap with exact 32-bit nearest 60", overlap(admin, team_id, queries[:20]), "", "1.0"),
        Result("floor: embed a query", embedding, "ms"),
        Result("floor: round trip", round_trip, "ms"),
        Result("floor: bare exact scan of evidence vectors", evidence, "ms"),
        Result("floor: bare exact scan of relationship vectors", relationships, "ms"),
        Result("ratio: cached recall p50 / (two bare scans + 5 round trips)", by_name["recall p50, query cached"] / floor, "x"),
        Result("ratio: recall p50 with embedding / (the same + one embedding)", by_name["recall p50, with embedding"] / (floor + embedding), "x"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--parts", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=50)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    every = pieces(arguments.datasets, arguments.parts + arguments.others * 100)
    texts, spare = every[: arguments.parts], every[arguments.parts :]
    with running() as service, open_database(read_settings({"COMMONLORE_HOME": str(service.home)})) as database:
        admin = database.admin_conninfo
        results = with_floors(asyncio.run(measure(service, texts, spare, arguments.others, admin)), admin, service.key, texts)
    print(f"{arguments.parts} parts in one team, {arguments.others} teams of 100 beside it; the service started in {service.started_s:.1f} s\n")
    print("| what | measured | bound |\n|---|---|---|")
    for result in results:
        print(result.shown())
    if arguments.json:
        arguments.json.write_text(json.dumps([result.__dict__ for result in results], indent=1))


if __name__ == "__main__":
    main()
