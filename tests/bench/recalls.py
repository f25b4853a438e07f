"""Recalls over HTTP by one client and by several, each row beside the machine's own floor."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from tests.bench.caller import Caller
from tests.bench.floors import percentile
from tests.bench.result import Floor, Result

T = TypeVar("T")
QUERIES = 200
# Recalls of one client and of eight between two looks at the floor.
_RECALLS_A_PART, _CALLS_A_PART = 20, 100
# The upkeep of a process looks each second whether there is something to keep.
_KEPT_AFTER_S, _ROUNDS_UNTIL_KEPT = 3.0, 3
# What the project set itself, by parts in the team: p50 and p95 with embedding, p50 and p95 cached, calls/s cached and with embedding.
_BOUNDS = {10_000: ("14", "20", "8", "14", "200", "110"), 100_000: ("26", "48", "20", "40", "80", "60")}


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


async def recall(caller: Caller, query: str) -> tuple[float, bytes]:
    """Milliseconds until the last byte of one full recall, and the answer."""
    started = time.perf_counter()
    answer = await caller.post("/v1/recall_memory", {"query": query})
    return (time.perf_counter() - started) * 1000, answer


async def recalls(caller: Caller, known: Sequence[tuple[str, str]]) -> tuple[list[float], float]:
    """Milliseconds of each recall, and the share of queries whose text is among the ten results."""
    samples, hits = [], 0
    for query, text in known:
        elapsed, answer = await recall(caller, query)
        samples.append(elapsed)
        hits += any(text in item["context"] for item in json.loads(answer)["results"])
    return samples, hits / len(known)


async def throughput(url: str, key: str, queries: Sequence[str], clients: int = 8) -> float:
    """Recalls a second with several clients, each on its own connection."""

    async def one(number: int) -> None:
        async with Caller(url, key) as caller:
            for query in queries[number::clients]:
                await recall(caller, query)

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    return len(queries) / (time.perf_counter() - started)


def short_queries(texts: Sequence[str]) -> list[str]:
    """Queries by which the floor of embedding is measured."""
    return [query for query, _ in fragments(texts, 30, seed=9)]


def split(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


async def _one_client(floor: Floor, caller: Caller, known: Sequence[tuple[str, str]]) -> tuple[list[float], float, float]:
    """Milliseconds of each recall, the floor meanwhile, and the share of texts that were found."""
    parts, floor_ms = await floor.beside([partial(recalls, caller, part) for part in split(known, _RECALLS_A_PART)])
    return [sample for samples, _ in parts for sample in samples], floor_ms, statistics.mean(hits for _, hits in parts)


async def _several_clients(floor: Floor, url: str, key: str, queries: Sequence[str]) -> tuple[float, float]:
    """Recalls a second, and the floor meanwhile."""
    rates, floor_ms = await floor.beside([partial(throughput, url, key, part) for part in split(queries, _CALLS_A_PART)])
    return statistics.harmonic_mean(rates), floor_ms


async def recall_rows(url: str, key: str, texts: Sequence[str], parts: int) -> list[Result]:
    """Of a team with so many parts; the queries are taken from `texts`, which are among them."""
    p50, p95, cached_p50, cached_p95, calls, calls_embedding = _BOUNDS.get(parts, ("",) * 6)

    def at(sign: str, bound: str) -> str:
        return f"{sign} {bound}" if bound else ""

    known = fragments(texts, QUERIES, seed=3)
    others = [query for query, _ in fragments(texts, QUERIES, seed=7)]
    for _ in range(2):  # each process keeps a space after some
        await throughput(url, key, others)
        await asyncio.sleep(_KEPT_AFTER_S)
    with Floor(short_queries(texts)) as floor:
        async with Caller(url, key) as caller:
            uncached, uncached_floor, hits = await _one_client(floor, caller, known)
            cached, cached_floor, _ = await _one_client(floor, caller, known)
        for _ in range(_ROUNDS_UNTIL_KEPT):  # each process keeps the vectors of queries for itself
            await throughput(url, key, [query for query, _ in known])
        rate, rate_floor = await _several_clients(floor, url, key, [query for query, _ in known] * 2)
        fresh = [query for query, _ in fragments(texts, QUERIES, seed=5)]
        fresh_rate, fresh_floor = await _several_clients(floor, url, key, fresh)
    return [
        Result("recall p50, with embedding", percentile(uncached, 0.5), "ms", at("<=", p50), uncached_floor),
        Result("recall p95, with embedding", percentile(uncached, 0.95), "ms", at("<=", p95), uncached_floor),
        Result("recall p50, query cached", percentile(cached, 0.5), "ms", at("<=", cached_p50), cached_floor),
        Result("recall p95, query cached", percentile(cached, 0.95), "ms", at("<=", cached_p95), cached_floor),
        Result("known-item hit@10", hits, "", ">= .96"),
        Result("calls/s, 8 clients, cached", rate, "", at(">=", calls), rate_floor),
        Result("calls/s, 8 clients, with embedding", fresh_rate, "", at(">=", calls_embedding), fresh_floor),
    ]
