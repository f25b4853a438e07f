"""Recalls a second with one API process and with several, in turns on one home, so that both meet the same machine.

    python -m tests.bench.processes [--datasets DIR] [--parts 3000] [--processes 2] [--clients 8] [--turns 3]

The first line of each turn is with one process. What counts is the ratio of the same turn. Outside the default test run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from tests.bench.corpus import pieces
from tests.bench.recalls import fragments, throughput
from tests.bench.run import load
from tests.bench.service import Service, running


def seconds_of(service: Service) -> list[float]:
    """Seconds of the processor that each API process has used."""
    api = psutil.Process(service.process.pid)
    siblings = [child for child in api.children() if "sibling" in " ".join(child.cmdline())]
    return [sum(found.cpu_times()[:2]) for found in (api, *siblings)]


async def measure(home: Path, key: str, processes: int, queries: list[str], clients: int) -> tuple[float, list[float]]:
    """Calls a second, and how busy each API process was, as a share of one core."""
    os.environ["COMMONLORE_API_PROCESSES"] = str(processes)
    with running(home) as service:
        await throughput(service.url, key, queries, clients)  # every process is warm
        before, began = seconds_of(service), time.perf_counter()
        found = await throughput(service.url, key, queries, clients)
        spent = time.perf_counter() - began
        return found, [round((after - then) / spent, 2) for after, then in zip(seconds_of(service), before, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--parts", type=int, default=3_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    texts = pieces(arguments.datasets, arguments.parts)
    queries = [query for query, _ in fragments(texts, 400, seed=3)] * 2
    with tempfile.TemporaryDirectory(prefix="commonlore-bench-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)
        home = Path(folder) / "home"
        os.environ["COMMONLORE_API_PROCESSES"] = "1"
        with running(home) as service:
            key = service.key

            async def fill() -> None:
                async with httpx.AsyncClient(base_url=service.url, timeout=httpx.Timeout(120)) as client:
                    await load(client, key, texts)

            asyncio.run(fill())
        ratios = []
        print("| turn | API processes | calls/s | busy, share of a core | load |\n|---|---|---|---|---|")
        for turn in range(1, arguments.turns + 1):
            rates = []
            for processes in (1, arguments.processes):
                rate, busy = asyncio.run(measure(home, key, processes, queries, arguments.clients))
                rates.append(rate)
                print(f"| {turn} | {processes} | {rate:.1f} | {', '.join(map(str, busy))} | {os.getloadavg()[0]:.1f} |", flush=True)
            ratios.append(rates[1] / rates[0])
        print(f"\nmedian ratio: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
