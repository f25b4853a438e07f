"""A peer on the same texts and queries in the same run: chromadb, one collection with a filter by tenant, the same model inside each call.

It runs in an environment of its own, whose Python has `chromadb`; this module is also what runs there:

    python -m venv PEER && PEER/bin/pip install chromadb==1.5.9
    python -m tests.bench.run --datasets DIR --parts 10000 --peer PEER/bin/python
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.floors import embed_once_ms, percentile

_CLIENTS, _RESULTS, _BATCH = 8, 10, 500


def peer_numbers(python: Path, texts: Sequence[str], others: Sequence[Sequence[str]], known: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Milliseconds of a recall with embedding (`p50`, `p95`), `calls` a second of eight clients, `hits` and the floor meanwhile (`floor_ms`).

    Each of `others` is a tenant beside that of `texts`.
    """
    mine = next(path for path in sys.path if path.endswith("site-packages"))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"texts": list(texts), "others": list(map(list, others)), "known": list(known)}, file)
        file.flush()
        # What the peer brings comes first; of ours it takes the model.
        script = f"import sys; sys.path.append({mine!r}); sys.path.insert(0, {os.getcwd()!r}); from tests.bench import peer; peer.run({file.name!r})"
        environment = {**os.environ, "PYTHONPATH": str(Path(".editable").resolve()), "ANONYMIZED_TELEMETRY": "False"}
        done = subprocess.run([str(python), "-c", script], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(file: str) -> None:
    """In the peer's environment."""
    import chromadb

    from commonlore.db.embedding.local import LocalEmbedder

    given = json.loads(Path(file).read_text())
    model = LocalEmbedder(threads=2)

    def embedded(texts: Sequence[str]) -> Any:
        return asyncio.run(model.embed_texts(texts))

    with tempfile.TemporaryDirectory() as folder:
        collection = chromadb.PersistentClient(path=folder).create_collection("memories", metadata={"hnsw:space": "ip"})
        for tenant, texts in enumerate([given["texts"], *given["others"]]):
            for start in range(0, len(texts), _BATCH):
                part = texts[start : start + _BATCH]
                ids = [f"{tenant}-{start + place}" for place in range(len(part))]
                collection.add(ids=ids, documents=part, embeddings=embedded(part), metadatas=[{"tenant": tenant}] * len(part))
        print(json.dumps(_measured(collection, model, given["known"])))


def _measured(collection: Any, model: Any, known: Sequence[tuple[str, str]]) -> dict[str, Any]:
    def recall(query: str) -> list[str]:
        vector = asyncio.run(model.embed_query(query))
        found: list[str] = collection.query(query_embeddings=[vector], n_results=_RESULTS, where={"tenant": 0})["documents"][0]
        return found

    samples, floor, hits = [], [], 0
    for query, _ in known[:20]:
        recall(query)
    for place, (query, text) in enumerate(known):
        started = time.perf_counter()
        hits += text in recall(query)
        samples.append((time.perf_counter() - started) * 1000)
        if place % 5 == 0:
            floor.append(asyncio.run(embed_once_ms(model, query)))

    def client(number: int) -> None:
        for query, _ in known[number::_CLIENTS]:
            recall(query)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(_CLIENTS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = len(known) / (time.perf_counter() - started)
    return {
        "p50": percentile(samples, 0.5),
        "p95": percentile(samples, 0.95),
        "calls": calls,
        "hits": hits / len(known),
        "floor_ms": percentile(floor, 0.5),
    }
