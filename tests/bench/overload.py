"""Several times more calls than the service serves: what is refused is refused at once, what is taken stays quick, and nothing taken is lost.

    python -m tests.bench.overload --datasets DIR [--parts 2000] [--clients 64] [--seconds 20]

Everything is compared within the run: times under load with the quiet ones of the same machine. It ends with exit code 1 where a
bound is passed. Outside the default test run: it wants a quiet machine; `tests/integration/limits/test_overload.py` is the small form.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.bench.caller import Caller
from tests.bench.corpus import pieces
from tests.bench.floors import percentile
from tests.bench.recalls import fragments
from tests.bench.run import load
from tests.bench.service import running

_MOST_SLOWER, _MOST_REFUSAL_MS = 3.0, 50.0
# Clients that wait as they are told would soon be few; these come back at once, as a crowd of others would.
_AGAIN_S = 0.05


@dataclass
class Seen:
    """What the clients met: milliseconds of calls that were served and of those that were refused, and every text that was stored."""

    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    others: list[int] = field(default_factory=list)


class Client(Caller):
    """A caller that tells the status instead of failing."""

    async def ask(self, path: str, body: dict[str, object]) -> tuple[int, float]:
        content = json.dumps(body).encode()
        started = time.perf_counter()
        self._writer.write(f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        elapsed = (time.perf_counter() - started) * 1000
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await self._reader.readexactly(length)
        return int(head.split(b" ", 2)[1]), elapsed


async def crowd(url: str, key: str, queries: Sequence[str], clients: int, seconds: float) -> Seen:
    """`clients` at once, a tenth of them writers, until the time is over."""
    seen, end = Seen(), time.perf_counter() + seconds

    async def one(number: int) -> None:
        async with Client(url, key) as client:
            turn = 0
            while time.perf_counter() < end:
                turn += 1
                text = f"Crowd {number} wrote sentence {turn}."
                writes = number % 10 == 0
                path, body = (
                    ("/v1/remember", {"evidence": [{"content": text}]}) if writes else ("/v1/recall_memory", {"query": queries[turn % len(queries)]})
                )
                status, elapsed = await client.ask(path, body)
                if status == 200:
                    seen.stored += [text] if writes else []
                    if not writes:
                        seen.served.append(elapsed)
                elif status == 503:
                    seen.refused.append(elapsed)
                    await asyncio.sleep(_AGAIN_S)
                else:
                    seen.others.append(status)

    await asyncio.gather(*(one(number) for number in range(clients)))
    return seen


async def lost(url: str, key: str, texts: Sequence[str]) -> int:
    """How many of the stored texts a recall of their own words does not find."""
    missing = 0
    async with Caller(url, key) as caller:
        for text in texts:
            await asyncio.sleep(0)
            answer = json.loads(await caller.post("/v1/recall_memory", {"query": text, "limit": 50}))
            missing += not any(item["context"] == text for item in answer["results"])
    return missing


async def measure(url: str, key: str, texts: Sequence[str], clients: int, seconds: float) -> list[tuple[str, float, str, bool]]:
    async with httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(120)) as client:
        await load(client, key, texts)
    queries = [query for query, _ in fragments(texts, 100, seed=3)]
    await crowd(url, key, queries, 1, 3)  # the model and the plans are warm
    quiet = await quiet_ms(url, key, queries)
    seen = await crowd(url, key, queries, clients, seconds)
    await asyncio.sleep(3)
    after = await quiet_ms(url, key, queries)
    ratio, refusal = percentile(seen.served, 0.95) / percentile(quiet, 0.95), percentile(seen.refused, 0.95) if seen.refused else 0.0
    missing = await lost(url, key, seen.stored[:: max(1, len(seen.stored) // 200)])
    return [
        ("served recalls", float(len(seen.served)), "> 0", len(seen.served) > 0),
        ("refused calls", float(len(seen.refused)), "> 0", len(seen.refused) > 0),
        ("other answers", float(len(seen.others)), "0", not seen.others),
        ("quiet recall p95, ms", percentile(quiet, 0.95), "", True),
        ("served recall p95 / quiet p95", ratio, f"<= {_MOST_SLOWER}", ratio <= _MOST_SLOWER),
        ("refusal p95, ms", refusal, f"< {_MOST_REFUSAL_MS}", refusal < _MOST_REFUSAL_MS),
        ("stored texts that are missing", float(missing), "0", missing == 0),
        ("recall p95 after it / quiet p95", percentile(after, 0.95) / percentile(quiet, 0.95), "", True),
    ]


async def quiet_ms(url: str, key: str, queries: Sequence[str]) -> list[float]:
    async with Client(url, key) as client:
        return [(await client.ask("/v1/recall_memory", {"query": query}))[1] for query in queries * 3]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--parts", type=int, default=2_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    texts = pieces(arguments.datasets, arguments.parts)
    with running() as service:
        rows = asyncio.run(measure(service.url, service.key, texts, arguments.clients, arguments.seconds))
    print("| what | measured | bound | |\n|---|---|---|---|")
    for name, value, bound, holds in rows:
        print(f"| {name} | {value:,.3g} | {bound} | {'' if holds else 'passed'} |")
    return 0 if all(holds for *_, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
