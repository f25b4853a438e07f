"""How fast a generation of relationship documents is rebuilt, and what recalls and writes feel of it.

    python -m tests.bench.projections [--relationships 50000] [--clients 1]

The database of the tests, one worker in a process of its own, recalls and writes through the service's own code in this
one. Relationships of people with names of their own are copied into the tables. Generations are rebuilt twice: alone, with
nobody calling, and beside the clients and a writer. The second is paused every other few seconds, so that recalls during it and
quiet ones are of the same minute. Prints a line a stage: texts a second, the 50th and 95th percentile of a recall of either
kind and their ratio, and what was wrong, which is to be nothing. With `--clients 0` only the first rebuild is done.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psutil
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from commonlore.db.settings import read_settings
from commonlore.domain.ids import new_id
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.projection.posting import PostedText, blocks, count_terms, text_postings
from commonlore.workers import main as worker_main
from tests.support.copies import unchecked
from tests.support.databases import clone, drop, make_template
from tests.support.memory import START, Holder, Memory, ServedHashEmbedder
from tests.support.projection import ask

PREDICATES = ("works_on", "likes", "lives_in", "owns", "teaches", "visits")
WINDOW_S = 3.0
SYLLABLES = ("ka", "lo", "mi", "ru", "ten", "vas", "zor", "bel", "dun", "fi", "gar", "hes", "jo", "ni", "pra", "qui")


def name_of(number: int, kind: str) -> str:
    """A name of two words, one of which a few others share."""
    first, second = number % 16**3, number * 7919 % 16**3
    words = ("".join(SYLLABLES[value >> shift & 15] for shift in (0, 4, 8)) for value in (first, second))
    return " ".join(word.capitalize() for word in words) + (" " + kind if kind else "")


def load(memory: Memory, ann: Holder, count: int) -> None:
    """Relationships between people and places, eligible, with documents, words, vectors and statistics."""
    team, embedder = ann.team_id, ServedHashEmbedder()
    people, places = max(1, count // 5), max(1, count // 10)
    with unchecked(memory.database) as connection:
        register_vector(connection)
        [(epoch,)] = connection.execute(
            "select space_epoch from commonlore.space where team_id = %s and space_kind = 'team_shared'", (team,)
        ).fetchall()
        base = connection.execute("select * from commonlore.relationship where team_id = %s limit 1", (team,))
        columns = [column.name for column in base.description or ()]
        pattern = dict(zip(columns, base.fetchone() or (), strict=True))
        entities = [(UUID(int=1 + number), name_of(number, "")) for number in range(people)]
        entities += [(UUID(int=10**9 + number), name_of(number + 3, "Hall")) for number in range(places)]
        with connection.cursor() as cursor:
            with cursor.copy(
                "copy commonlore.entity_name (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, known_from) from stdin"
            ) as rows:
                for key, name in entities:
                    rows.write_row((team, epoch, new_id(), key, "person", name, name.casefold(), "canonical", START))
            made = []
            for number in range(count):
                subject, target = entities[number % people], entities[people + number * 31 % places]
                predicate = PREDICATES[number // people % len(PREDICATES)]
                text = render(RelationshipWording(subject[1], predicate.replace("_", " "), target[1], "+"))
                made.append((new_id(), subject[0], target[0], predicate, text))
            with cursor.copy(f"copy commonlore.relationship ({', '.join(columns)}) from stdin") as rows:
                for key, subject_id, target_id, predicate, _ in made:
                    own = {
                        "relationship_id": key,
                        "subject_entity_id": subject_id,
                        "object_entity_id": target_id,
                        "predicate_key": predicate,
                        "semantic_group_key": "sg:" + hashlib.sha256(key.bytes).hexdigest(),
                    }
                    rows.write_row([own.get(column, pattern[column]) for column in columns])
            with cursor.copy(
                "copy commonlore.relationship_document (team_id, space_epoch, generation, relationship_id, source_version, document_text, search_state) from stdin"
            ) as rows:
                for key, _, _, _, text in made:
                    rows.write_row((team, epoch, 1, key, 1, text, "current"))
            posted = [
                PostedText(str(key), 0, counted.length, counted.frequencies) for key, counted in ((row[0], count_terms(row[4])) for row in made)
            ]
            with cursor.copy(
                "copy commonlore.relationship_posting (team_id, space_epoch, generation, term, entries, relationship_ids, codes) from stdin"
            ) as rows:
                for block in blocks(text_postings(posted)):
                    rows.write_row((team, epoch, 1, block.term, len(block.keys), list(map(UUID, block.keys)), list(block.codes)))
            with cursor.copy(
                "copy commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding) from stdin"
            ) as rows:
                for key, _, _, _, text in made:
                    rows.write_row((team, epoch, 1, key, HalfVector(embedder.vector(text))))
            cursor.execute(
                "insert into commonlore.relationship_statistic values (%s, %s, 1, %s, %s, %s)",
                (team, epoch, new_id(), count, sum(text.length for text in posted)),
            )
    with psycopg.connect(memory.database.admin_conninfo, autocommit=True) as connection:
        connection.execute("vacuum analyze")


@dataclass
class Felt:
    """What one phase felt like."""

    recalls: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    writes: int = 0

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.recalls, n=20)[18]

    def line(self) -> str:
        p50 = statistics.median(self.recalls)
        return f"recall p50 {p50:.1f} ms, p95 {self.p95:.1f} ms over {len(self.recalls)}; {self.writes} writes; wrong: {self.wrong[:3] or 'nothing'}"


async def client(memory: Memory, ann: Holder, felt: Felt, until: asyncio.Event, number: int) -> None:
    while not until.is_set():
        begun = time.perf_counter()
        answer = await memory.recall(ann, f"What does {name_of(number * 13 % 1000, '')} like?")
        felt.recalls.append(1000 * (time.perf_counter() - begun))
        number += 1
        codes = {item["code"] for item in answer["degradations"]} - {"relationship_bound_reached"}
        if codes or answer["search_states"]["relationships"] != "current":
            felt.wrong.append(f"{sorted(codes)} {answer['search_states']}")
        groups = [item["relationship_id"] for item in answer["related_relationships"]]
        if len(groups) != len(set(groups)):
            felt.wrong.append("a relationship twice")
        await asyncio.sleep(0.01)


async def writer(memory: Memory, ann: Holder, felt: Felt, until: asyncio.Event, name: str) -> None:
    while not until.is_set():
        await memory.relate(ann, f"{name}{felt.writes} works on Orion 1.", f"{name}{felt.writes}", "works_on", "Orion 1")
        felt.writes += 1
        await asyncio.sleep(0.2)


async def phase(memory: Memory, ann: Holder, clients: int, felt: Felt, name: str, work: Any) -> Felt:
    """Clients and one writer for as long as the work takes."""
    until = asyncio.Event()
    running = [asyncio.ensure_future(client(memory, ann, felt, until, len(felt.recalls) + number)) for number in range(clients)]
    running.append(asyncio.ensure_future(writer(memory, ann, felt, until, name)))
    await work()
    until.set()
    await asyncio.gather(*running)
    return felt


def spent(memory: Memory, worker: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Seconds of the processor that the worker and its connections in the database have used."""
    pids = memory.sql("select pid from pg_stat_activity where usename = 'commonlore_worker' and datname = current_database()")
    used = [psutil.Process(pid).cpu_times() for pid in (worker.pid, *(pid for (pid,) in pids))]
    own, *others = [times.user + times.system for times in used]
    return own, sum(others)


async def rebuild(memory: Memory, ann: Holder, relationships: int, worker: subprocess.Popen[bytes]) -> None:
    """A generation from its start until it stands by. Its state is read past the service: asking it would be a call that the worker yields to."""
    await ask(memory, ann, "start")
    load, before, after = load_average(), spent(memory, worker), None
    begun, texts = time.perf_counter(), 0.0
    while (state := newest(memory)) != "standby":
        assert state != "failed"
        if state == "embedding" and not texts:
            texts, after = time.perf_counter() - begun, spent(memory, worker)
        await asyncio.sleep(0.01)
    whole = time.perf_counter() - begun
    own, database = (1e6 * (late - early) / relationships for early, late in zip(before, after or spent(memory, worker), strict=True))
    print(
        f"texts: {relationships / (texts or whole):,.0f}/s, {own:.0f} us of the worker's processor and {database:.0f} us of the database's for each; "
        f"whole: {whole:.1f} s; load {load} to {load_average()}",
        flush=True,
    )


def newest(memory: Memory) -> str:
    [(state,)] = memory.sql("select state from commonlore.projection_generation order by generation desc limit 1")
    return str(state)


def load_average() -> str:
    return f"{os.getloadavg()[0]:.1f}"


async def cleared(memory: Memory, ann: Holder) -> None:
    """Give the newest generation up, and wait until nothing of it is left."""
    await ask(memory, ann, "retire")
    while True:
        if not memory.sql("select from commonlore.relationship_document where generation > 1 limit 1"):
            return
        await asyncio.sleep(0.2)


def a_worker(conninfo: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.bench.projections", "--worker", conninfo])


async def measure(relationships: int, clients: int) -> None:
    database = clone(make_template())
    try:
        async with Memory.open(database, pool_size=8) as memory:
            ann = await memory.key(scopes=("read", "write", "admin"))
            await memory.relate(ann, "Uma works on Orion.", "Uma", "works_on", "Orion")
            load(memory, ann, relationships)
            worker = a_worker(database.worker_conninfo)
            try:
                await asyncio.sleep(5)
                print("alone: ", end="")
                await rebuild(memory, ann, relationships, worker)
                if clients:
                    await beside(memory, ann, relationships, clients)
            finally:
                worker.terminate()
                worker.wait(30)
    finally:
        drop(database.name)


async def beside(memory: Memory, ann: Holder, relationships: int, clients: int) -> None:
    """The same beside clients and a writer, with pauses; then the switch and the way back."""
    await cleared(memory, ann)
    quiet, busy, texts = Felt(), Felt(), 0.0

    async def some() -> None:
        nonlocal texts
        begun, was = time.perf_counter(), newest(memory)
        for _ in range(int(50 * WINDOW_S)):
            if newest(memory) != was:
                break
            await asyncio.sleep(0.02)
        texts += time.perf_counter() - begun if was == "projecting_text" else 0.0

    await ask(memory, ann, "start")
    while True:
        await phase(memory, ann, clients, busy, "Busy", some)
        if newest(memory) == "standby":
            break
        await ask(memory, ann, "pause")
        await phase(memory, ann, clients, quiet, "Quiet", lambda: asyncio.sleep(WINDOW_S))
        await ask(memory, ann, "resume")
    print(f"beside: texts: {relationships / texts:,.0f}/s; load {load_average()}")
    print(f"quiet: {quiet.line()}\nduring: {busy.line()}; p95 {busy.p95 / quiet.p95:.2f} times the quiet one", flush=True)
    for step in ("activate", "roll_back"):
        await ask(memory, ann, step)
        felt = await phase(memory, ann, clients, Felt(), step, lambda: asyncio.sleep(WINDOW_S))
        print(f"{step}: {felt.line()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--relationships", type=int, default=50_000)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        asyncio.run(worker_main.run(read_settings({}), given.worker, make_embedder=ServedHashEmbedder))
    else:
        asyncio.run(measure(given.relationships, given.clients))


if __name__ == "__main__":
    main()
