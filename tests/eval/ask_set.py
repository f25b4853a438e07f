"""Load an evaluation set through the public API, ask every question, and write the ranked document ids.

    python -m tests.eval.ask_set --datasets DIR --set locomo --run run.json [--limit 20]

Each space of the set is a team of its own, so a wrong row in an answer would be a leak between teams. Scores come from
`evaluate_runs.py score`, which lies beside the sets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from commonlore.api.app import create_app
from commonlore.db.embedding.cache import QueryVectorCache
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.db.settings import read_settings
from tests.support.databases import clone, drop, make_template
from tests.support.memory import Memory


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def aware(text: str | None) -> str | None:
    """RFC 3339 in UTC; the sets hold naive UTC times."""
    return None if text is None else datetime.fromisoformat(text).isoformat() + ("" if "+" in text or text.endswith("Z") else "Z")


def an_evidence(document: dict[str, Any], place: int) -> dict[str, Any]:
    fields = {
        "content": document["text"],
        "source_type": "conversation" if document.get("speaker") else "document",
        "speaker": document.get("speaker"),
        "session": document.get("session"),
        "occurred_at": aware(document.get("timestamp")),
        "sequence": place,
    }
    return {name: value for name, value in fields.items() if value is not None}


async def load(client: httpx.AsyncClient, key: str, documents: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Evidence id -> the documents it stands for; equal texts of one speaker are one evidence."""
    found: dict[str, list[str]] = defaultdict(list)
    for start in range(0, len(documents), 20):
        batch = documents[start : start + 20]
        body = {"evidence": [an_evidence(document, start + place) for place, document in enumerate(batch)]}
        answer = await client.post("/v1/remember", json=body, headers={"Authorization": f"Bearer {key}"})
        answer.raise_for_status()
        for document, item in zip(batch, answer.json()["evidence"], strict=True):
            found[item["evidence_id"]].append(document["id"])
    return found


async def ask(client: httpx.AsyncClient, key: str, query: dict[str, Any], documents: dict[str, list[str]], limit: int) -> list[str]:
    body = {"query": query["text"][:512], "limit": limit, "relationship_limit": 0}
    answer = await client.post("/v1/recall_memory", json=body, headers={"Authorization": f"Bearer {key}"})
    answer.raise_for_status()
    excluded = set(query.get("exclude") or ())
    return [name for item in answer.json()["results"] for name in documents[item["evidence_id"]] if name not in excluded]


async def run(folder: Path, limit: int) -> dict[str, list[str]]:
    documents, queries = lines(folder / "corpus.jsonl"), lines(folder / "queries.jsonl")
    by_space: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    asked: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    has_spaces = json.loads((folder / "meta.json").read_text())["spaces"] > 1
    for document in documents:
        by_space[document.get("space") if has_spaces else None].append(document)
    for query in queries:
        asked[query.get("space") if has_spaces else None].append(query)
    template = make_template()
    database = clone(template)
    ranked: dict[str, list[str]] = {}
    try:
        async with Memory.open(database, QueryVectorCache(LocalEmbedder(threads=2)), pool_size=6) as memory:

            async def ready() -> None: ...

            app = create_app(memory.operations, settings=read_settings({"HOME": "/nonexistent"}), ready=ready)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", timeout=120) as client:  # type: ignore[arg-type]
                for number, (space, rows) in enumerate(sorted(by_space.items(), key=str)):
                    started = time.monotonic()
                    holder = await memory.key(team=f"team-{number}", binding="shared_only")
                    known = await load(client, holder.text, rows)
                    await memory.run_embedding(holder)
                    gate = asyncio.Semaphore(4)

                    async def one(query: dict[str, Any], gate: asyncio.Semaphore = gate, key: str = holder.text, known: dict[str, list[str]] = known) -> list[str]:
                        async with gate:
                            return await ask(client, key, query, known, limit)

                    answers = await asyncio.gather(*(one(query) for query in asked[space]))
                    ranked.update({query["id"]: answer for query, answer in zip(asked[space], answers, strict=True)})
                    print(f"{space}: {len(rows)} texts, {len(asked[space])} questions, {time.monotonic() - started:.1f} s", flush=True)
    finally:
        drop(database.name)
        drop(template)
    return ranked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--set", required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=20)
    arguments = parser.parse_args()
    arguments.run.write_text(json.dumps(asyncio.run(run(arguments.datasets / arguments.set, arguments.limit))))


if __name__ == "__main__":
    main()
