"""pooling: a pooler in transaction mode before the service, and runners that die while they hold what others wait for.

There is no PgBouncer here; `tests/support/pooler.py` gives each transaction another server connection, as it does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from psycopg import sql

from commonlore.db.migrate import current_revision, head_revision
from commonlore.db.provision import provision
from tests.cases.adapter import Actor, World, case, split_of
from tests.cases.area_operation import _environment, _url
from tests.support.databases import TestDatabase, _addresses, clone, drop, passwords, server_conninfo
from tests.support.embedders import FailingEmbedder
from tests.support.memory import a_relationship
from tests.support.pooler import transaction_pooler
from tests.support.server import Service, running_service


def _run(service: Service, team: str) -> list[Any]:
    """Writes and reads of every kind, each more often than a driver waits before it prepares a statement."""
    holder = service.key(team, scopes=("read", "write", "admin"))
    ann = Actor(holder, service.client(holder))
    made = [ann.ingest(f"Mark works on Orion, note {number}.", relationships=[a_relationship("Mark", "works_on", "Orion")]) for number in range(8)]
    seen: list[Any] = []
    for number in range(8):
        answer = ann.recall(f"who works on Orion, note {number}", limit=3)
        seen.append(
            [[(item["context"], len(item["relationship_ids"])) for item in answer["results"]], answer["degradations"], answer["search_states"]]
        )
    trace = ann.trace(split_of(made[0])["relationship_id"])
    seen.append(
        [trace["relationship"]["support_count"], [item["quote"] for item in trace["evidence_supports"]], trace["transitions"][0]["to_status"]]
    )
    retracted = ann.post("/v1/retract_evidence", {"evidence_ids": [made[0]["evidence"][0]["evidence_id"]], "reason": "a test"})
    seen.append([retracted.status_code, [item["disposition"] for item in retracted.json()["evidence"]], ann.contexts("note 0", limit=8)])
    seen.append([item["profile_kind"] for item in ann.post("/v1/admin/list_members", {}).json()["members"]])
    return seen


@case("B116-b")
def a_pooler_changes_no_answer(world: World) -> None:
    """Directly, directly without prepared statements, and without them by way of a pooler whose connections change with each transaction."""
    found = {}
    database = clone(world.template)
    try:
        ways: dict[str, dict[str, Any]] = {"direct": {}, "unprepared": {"prepared_statements": "off"}}
        for name, settings in ways.items():
            with running_service(database, **settings) as service:
                found[name] = _run(service, name)
        with transaction_pooler(database.serving_conninfo) as pooler, _pooled(database, pooler.conninfo) as service:
            found["pooled"] = _run(service, "pooled")
            turns = list(pooler.turns.values())
    finally:
        drop(database.name)

    expected = found["direct"]
    assert 8 == expected[8][0] and len(expected[0][0]) == 3
    assert {"unprepared": expected, "pooled": expected} == {name: found[name] for name in ("unprepared", "pooled")}
    assert 2 == len(turns) and min(turns) > 10


def _pooled(database: TestDatabase, conninfo: str) -> Any:
    """The service by way of the pooler; keys and migrations go to the database itself."""
    return running_service(replace(database, serving=conninfo), prepared_statements="off")


_MIGRATE = "import sys; from commonlore.db.migrate import upgrade; upgrade(sys.stdin.readline().strip())"


@contextmanager
def _process(*command: str, said: str = "", **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **options)
    assert process.stdin is not None
    try:
        process.stdin.write(said)
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()


def _until(what: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def _advisory_locks(database: TestDatabase) -> list[bool]:
    """Whether each advisory lock of the database is held (or else waited for)."""
    with psycopg.connect(database.admin_conninfo, autocommit=True) as admin:
        rows = admin.execute(
            "select granted from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) order by 1"
        ).fetchall()
    return [granted for (granted,) in rows]


@case("B115-a")
def a_runner_that_dies_lets_the_others_go_on(world: World) -> None:
    """Migrations go to the database itself, requests by way of the pooler. What is killed holds the lock, or may have taken a job."""
    name = f"test_runners_{world._mark}"
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template template0 encoding 'UTF8'").format(sql.Identifier(name)))
    try:
        database = _addresses(name)
        provision(database.admin_conninfo, passwords())
        migrate = {"said": database.migrator_conninfo + "\n"}
        with _process(sys.executable, "-c", _MIGRATE, **migrate) as first:
            _until(lambda: _advisory_locks(database) == [True])
            first.send_signal(signal.SIGSTOP)
            with _process(sys.executable, "-c", _MIGRATE, **migrate) as second:
                _until(lambda: _advisory_locks(database) == [False, True])
                first.kill()
                _until(lambda: second.poll() is not None)
                assert 0 == second.returncode
        with psycopg.connect(database.admin_conninfo) as admin:
            assert head_revision() == current_revision(admin)
        assert [] == _advisory_locks(database)
        state = _two_workers(world, database)
    finally:
        drop(name)

    assert ("current", []) == state


def _two_workers(world: World, database: TestDatabase) -> tuple[str, list[bool]]:
    """Two workers, one of them killed; the state of a text that is stored then, once the other had time for it, and the advisory locks that are left."""
    environment = _environment(
        world.folder, COMMONLORE_SERVING_URL=_url(database.serving_conninfo), COMMONLORE_WORKER_URL=_url(database.worker_conninfo)
    )
    command = (sys.executable, "-m", "commonlore.workers.main")
    logs = [world.folder / f"worker{number}.log" for number in range(2)]
    with transaction_pooler(database.serving_conninfo) as pooler, _pooled(database, pooler.conninfo) as service:
        with ExitStack() as stack:
            files = [stack.enter_context(log.open("w")) for log in logs]
            first, _ = [stack.enter_context(_process(*command, env=environment, stderr=file)) for file in files]
            _until(lambda: all("takes jobs" in log.read_text("utf-8") for log in logs))
            os.kill(first.pid, signal.SIGKILL)
            holder = service.key("one")
            ann = Actor(holder, service.client(holder))
            service.embedder.inner = FailingEmbedder()
            assert "pending" == ann.ingest("kumquat")["search_state"]
            _until(lambda: ann.recall("kumquat")["search_states"]["evidence"] == "current")
            state = ann.recall("kumquat")["search_states"]["evidence"]
        _until(lambda: _advisory_locks(database) == [])
        return state, _advisory_locks(database)
