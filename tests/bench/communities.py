"""Communities over 100,000 relationships: each stage of a run, memory, publication, and what the lane costs a recall.

    nice -n 10 python -m tests.bench.communities [--relationships 100000] [--hub] [--markdown FILE]

Needs no service: a database is made on the test server, filled in SQL, and one run is made by the worker role in this process.
Outside the default test run. Wall times are those of this machine at this load; `cpu` is what this process and the
database's backends spent, so that a busy machine can be told from a slow program.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg

from commonlore.db import community_runs
from commonlore.domain.community.gate import RunStatus
from commonlore.workers import detect_communities
from commonlore.workers.detect_communities import run_detection
from tests.support.communities import as_worker, codes, enable, space_of
from tests.support.databases import clone, drop, make_template
from tests.support.memory import Holder, Memory

TOPIC = 40
_IDS = """
create function pg_temp.id(kind text, number bigint) returns uuid language sql immutable as $$ select md5(kind || number)::uuid $$;
create function pg_temp.share(number bigint, salt text) returns float8 language sql immutable as
    $$ select (hashtextextended(salt || number, 0) & 1048575) / 1048576.0 $$;
create temp table made as
select n, n / %(topic)s as topic,
       -- One relationship in ten reaches into another topic; with a hub one in two names the same entity.
       (case when pg_temp.share(n, 'other') < 0.1 then floor(pg_temp.share(n, 'which') * %(count)s / %(topic)s) else n / %(topic)s end)::bigint * 20
           + floor(pg_temp.share(n, 'subject') * 20)::bigint as subject,
       case when %(hub)s and pg_temp.share(n, 'hub') < 0.5 then 0
            else 1 + (n / %(topic)s)::bigint * 20 + floor(pg_temp.share(n, 'object') * 20)::bigint end as object
from generate_series(0, %(count)s - 1) n;
"""
_FILL = (
    (
        "insert into commonlore.submission (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, request_sha256, known_from) "
        "values (%(team)s, %(epoch)s, %(submission)s, 'remember', %(profile)s, %(credential)s, sha256('x'), now())"
    ),
    (
        "insert into commonlore.predicate_definition (team_id, space_epoch, predicate_key, version, aliases, subject_kinds, object_kinds, relationship_kind, "
        "current_cardinality, lifecycle_state, known_from) "
        "select %(team)s, %(epoch)s, 'p' || n, 1, '{}', '{}', '{}', 'state', 'many', 'active', now() from generate_series(0, 19) n"
    ),
    (
        "insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from) "
        "select %(team)s, %(epoch)s, pg_temp.id('e', e), 'concept', 'active', 1, now() from (select subject as e from made union select object from made) d"
    ),
    (
        "insert into commonlore.entity_name (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, known_from) "
        "select team_id, space_epoch, entity_id, entity_id, entity_kind, 'Entity ' || left(entity_id::text, 8), 'entity ' || entity_id, 'canonical', now() "
        "from commonlore.entity where team_id = %(team)s"
    ),
    (
        "insert into commonlore.evidence (team_id, space_epoch, evidence_id, submission_id, evidence_index, owner_profile_id, content, content_sha256, source_type, "
        "authority, labels, part_count, known_from) "
        "select %(team)s, %(epoch)s, pg_temp.id('t', n), %(submission)s, n, %(profile)s, 'A text of topic ' || n / 20 || ', number ' || n || '.', "
        "sha256(n::text::bytea), 'manual', 'unknown', '{}', 1, now() from generate_series(0, %(count)s / 2) n"
    ),
    (
        "insert into commonlore.relationship (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key, "
        "predicate_version, object_entity_id, relationship_kind, current_cardinality, status, polarity, valid_from, support_count, source_group_count, version, "
        "known_from) "
        "select %(team)s, %(epoch)s, pg_temp.id('r', n), %(profile)s, 'sg:' || encode(sha256(n::text::bytea), 'hex'), pg_temp.id('e', subject), 'p' || n %% 20, 1, "
        "pg_temp.id('e', object), 'state', 'many', 'active', '+', 'epoch'::timestamptz + n * interval '1 second', 1, 1, 1, now() from made"
    ),
    (
        "insert into commonlore.relationship_support (team_id, space_epoch, support_id, relationship_id, observation_id, verification_event_id, evidence_id, "
        "source_group_key, span_start, span_end, quote, authority, known_from) "
        "select %(team)s, %(epoch)s, pg_temp.id('s', n), pg_temp.id('r', n), pg_temp.id('o', n), pg_temp.id('v', n), pg_temp.id('t', n / 2), 'g', 0, 10, "
        "'A text of topic ' || n / 40 || ', number ' || n / 2 || '.', 'unknown', now() from made"
    ),
    (
        "insert into commonlore.support_decision_event (team_id, space_epoch, event_id, support_id, decision, reason, actor_profile_id, known_from) "
        "select %(team)s, %(epoch)s, pg_temp.id('d', n), pg_temp.id('s', n), 'grant', 'a benchmark', %(profile)s, now() from made"
    ),
)


def fill(memory: Memory, holder: Holder, *, relationships: int, hub: bool) -> None:
    """Topics of forty relationships among twenty entities, two relationships a text."""
    space_id, epoch = space_of(memory, holder)
    values: dict[str, Any] = {
        "team": holder.team_id, "epoch": epoch, "submission": UUID(int=1), "profile": holder.profile_id, "credential": holder.credential_id,
        "count": relationships, "topic": TOPIC, "hub": hub,
    }  # fmt: skip
    with psycopg.connect(memory.database.admin_conninfo) as connection:
        connection.execute("set local session_replication_role = replica")
        client = psycopg.ClientCursor(connection)
        client.execute(_IDS.encode(), values)
        for statement in _FILL:
            connection.execute(statement.encode(), values)
        connection.execute("update commonlore.space set content_from = now() where space_id = %s", (space_id,))
        connection.commit()
        connection.autocommit = True
        connection.execute("analyze")


class Stopwatch:
    """Wall and CPU seconds of each function it was put around; `backends` are the processes of the database."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.backends: list[psutil.Process] = []

    def spent(self) -> float:
        return time.process_time() + sum(sum(process.cpu_times()[:2]) for process in self.backends)

    def around(self, owner: Any, name: str) -> None:
        function = getattr(owner, name)
        is_async = asyncio.iscoroutinefunction(function)

        async def later(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter(), self.spent()
            found = await function(*arguments, **named)
            self._add(name, begun)
            return found

        def now(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter(), self.spent()
            found = function(*arguments, **named)
            self._add(name, begun)
            return found

        setattr(owner, name, later if is_async else now)

    def _add(self, name: str, begun: tuple[float, float]) -> None:
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - begun[0]
        self.cpu[name] = self.cpu.get(name, 0.0) + self.spent() - begun[1]


async def measure(relationships: int, *, hub: bool) -> list[tuple[str, str, str]]:
    """Rows of (what, measured, bound)."""
    template = make_template()
    database = clone(template)
    watch = Stopwatch()
    for owner, name in (
        (community_runs.SpaceRuns, "measure"), (community_runs.SpaceRuns, "read_source"), (community_runs.SpaceRuns, "publish"),
        (detect_communities, "build_graph"), (detect_communities, "detect"), (detect_communities, "describe"),
    ):  # fmt: skip
        watch.around(owner, name)
    try:
        async with Memory.open(database) as memory:
            ada = await memory.key()
            fill(memory, ada, relationships=relationships, hub=hub)
            await memory.remember(ada, content="A text about every topic.", target_space="team_shared")
            await enable(memory, ada)
            space_id, _ = space_of(memory, ada)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            async with as_worker(memory) as adapters:
                async with adapters.pool.connection(), adapters.pool.connection(), adapters.pool.connection():
                    pids = memory.sql("select pid from pg_stat_activity where datname = %s and usename = 'commonlore_worker'", database.name)
                watch.backends = [psutil.Process(pid) for (pid,) in pids]
                begun, spent = time.perf_counter(), watch.spent()
                status = await run_detection(adapters, team_id=ada.team_id, space_id=space_id)
                wall, cpu = time.perf_counter() - begun, watch.spent() - spent
                watch.backends = []
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            memory.sql("analyze")  # as the embedded server does by itself within seconds
            rows = _rows(watch, status, wall, cpu, before, peak)
            return rows + _counts(memory, ada) + await _recalls(memory, ada)
    finally:
        drop(database.name)
        drop(template)


def _rows(watch: Stopwatch, status: RunStatus | None, wall: float, cpu: float, before: int, peak: int) -> list[tuple[str, str, str]]:
    def both(*names: str) -> str:
        return f"{sum(watch.wall[name] for name in names):.2f} s (cpu {sum(watch.cpu[name] for name in names):.2f})"

    return [
        ("status", str(status), "completed"),
        ("read the source", both("measure", "read_source"), ""),
        ("detection: graph and Leiden", both("build_graph", "detect"), "<= 3 s"),
        ("describe", both("describe"), ""),
        ("publish", both("publish"), "<= 2 s"),
        ("snapshot end to end", f"{wall:.2f} s (cpu {cpu:.2f})", "<= 15 s"),
        ("peak memory of the process", f"{peak / 1024:.0f} MB, {before / 1024:.0f} MB before", "<= 1,000 MB"),
        ("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", ""),
    ]


def _counts(memory: Memory, holder: Holder) -> list[tuple[str, str, str]]:
    [(groups, ties, communities, largest)] = memory.sql(
        "select r.group_count, r.tie_count, r.community_count, (select max(group_count) from commonlore.community) "
        "from commonlore.community_run r where r.team_id = %s",
        holder.team_id,
    )
    return [("groups, ties", f"{groups:,}, {ties:,}", ""), ("communities, the largest", f"{communities:,}, {largest:,} groups", "")]


async def _recalls(memory: Memory, holder: Holder) -> list[tuple[str, str, str]]:
    """The lane seeded by ten relationships that the caller has, against the same recall without the lane."""
    known = [str(key) for (key,) in memory.sql("select relationship_id from commonlore.relationship order by relationship_id limit 10")]

    async def timed(**fields: Any) -> tuple[float, Mapping[str, Any]]:
        times, answer = [], {}
        for _ in range(40):
            begun = time.perf_counter()
            answer = await memory.recall(holder, "topic", known_relationship_ids=known, **fields)
            times.append(time.perf_counter() - begun)
        return 1000 * sorted(times)[len(times) // 2], answer

    off, _ = await timed(community_limit=0)
    on, answer = await timed()
    shown = f"{len(answer['related_communities'])} communities, {codes(dict(answer)) or 'no degradation'}"
    return [("recall p50 without and with the lane", f"{off:.1f} and {on:.1f} ms ({shown})", "")]


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--relationships", type=int, default=100_000)
    parser.add_argument("--hub", action="store_true", help="every second relationship names one entity")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    rows = asyncio.run(measure(options.relationships, hub=options.hub))
    text = "\n".join(["| what | measured | bound |", "|---|---|---|", *(f"| {name} | {value} | {bound} |" for name, value, bound in rows)])
    say(text)
    if options.markdown:
        options.markdown.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
