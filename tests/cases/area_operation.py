"""pooling, migrations, bootstrap, workers: connections, locks, starts and refusals to start."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonlore.db.locate import open_database, prepare_database
from commonlore.db.migrate import head_revision, scripts
from commonlore.db.settings import Settings
from commonlore.domain.errors import Unavailable
from tests.cases.adapter import ROOT, World, case
from tests.support.databases import _addresses, clone, drop, passwords, server_conninfo


def _url(conninfo: str) -> str:
    parts = conninfo_to_dict(conninfo)
    place = f"host={quote(str(parts['host']), safe='')}&port={parts['port']}"  # a folder of sockets has no place before the slash
    return f"postgresql://{parts['user']}:{quote(str(parts['password']))}@/{parts['dbname']}?{place}"


def _until_idle(own: World) -> None:
    """Wait until no connection of the service is in a transaction."""
    end = time.monotonic() + 60
    with own.admin() as admin:
        while admin.execute(
            "select distinct state from pg_stat_activity where application_name = 'commonlore-api' and datname = current_database()"
        ).fetchall() != [("idle",)]:
            assert time.monotonic() < end
            time.sleep(0.05)


def _environment(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMMONLORE_")}
    return {**kept, "COMMONLORE_HOME": str(home), **variables}


@case("B004-b")
def a_worker_with_a_bypassing_role_refuses(world: World) -> None:
    role, password = f"bypass_{world._mark}", "bypass-password"
    with world.admin() as admin:
        statement = sql.SQL("create role {} login bypassrls password {} in role commonlore_worker")
        admin.execute(statement.format(sql.Identifier(role), sql.Literal(password)))
    try:
        address = _url(make_conninfo(world.service.database.admin_conninfo, user=role, password=password))
        environment = _environment(world.folder, COMMONLORE_SERVING_URL=_url(world.service.database.serving_conninfo), COMMONLORE_WORKER_URL=address)
        done = subprocess.run(
            [sys.executable, "-m", "commonlore.workers.main"], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        with world.admin() as admin:
            admin.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))

    assert 1 == done.returncode, done.stderr
    assert "role_unsafe" in done.stderr
    assert "takes jobs" not in done.stderr
    assert password not in done.stderr


@contextlib.contextmanager
def _home() -> Iterator[Path]:
    """A folder that the account of an embedded server may enter."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="commonlore-case-"))
    folder.chmod(0o711)
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@case("B004-d")
def the_embedded_service_runs_as_a_plain_role(world: World) -> None:
    with _home() as home, open_database(Settings(home=home), prepare=True) as database:
        found = []
        for conninfo in (database.serving_conninfo, database.worker_conninfo):
            with psycopg.connect(conninfo) as connection:
                row = connection.execute(
                    "select current_user::text, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, "
                    "exists (select from pg_class c where c.relowner = r.oid) from pg_roles r where rolname = current_user"
                ).fetchone()
                found.append(row)
        with psycopg.connect(database.admin_conninfo) as connection:
            member = connection.execute("select pg_has_role('commonlore_app', 'commonlore_owner', 'member')").fetchone()

    assert [("commonlore_app", *[False] * 5), ("commonlore_worker", *[False] * 5)] == found
    assert (False,) == member


@case("B117-a")
def one_file_sets_the_team(world: World) -> None:
    """By a bound parameter, local to the transaction that `team_transaction` has begun."""
    calls = {}
    for room in ("api", "db", "domain", "workers"):
        for path in (ROOT / room).rglob("*"):
            if path.suffix in (".py", ".sql") and "isolation" not in str(path):
                text = re.sub(r"--.*", "", path.read_text("utf-8"))
                found = re.findall(r"set_config\(('commonlore\.[^)]*(?:\([^)]*\))*[^)]*)\)|set local commonlore\.\w+", text, re.IGNORECASE)
                if found:
                    calls[path.relative_to(ROOT).as_posix()] = found
    session = (ROOT / "db" / "queries" / "session.sql").read_text("utf-8")

    assert ["db/queries/session.sql"] == list(calls)
    assert "set_config('commonlore.team_id', %(team_id)s::uuid::text, true)" in session
    assert "set_config('commonlore.space_epoch', '', true)" in session


@case("B118-b")
def a_connection_that_the_server_closed_is_replaced(world: World) -> None:
    """500 ms of idleness instead of 2 s."""
    database = clone(world.template)
    try:
        with psycopg.connect(database.admin_conninfo, autocommit=True) as admin:
            admin.execute(sql.SQL("alter database {} set idle_session_timeout = '500ms'").format(sql.Identifier(database.name)))
        from tests.support.server import running_service

        with running_service(database) as service:
            own = World(world.case, service, world.template, world.folder)
            with psycopg.connect(database.admin_conninfo, autocommit=True) as admin:
                admin.execute("set idle_session_timeout = 0")
                ann = own.actor()
                statuses = []
                for _ in range(3):
                    time.sleep(1.2)
                    statuses.append(ann.http.post("/v1/recall_memory", json={"query": "kumquat"}).status_code)
    finally:
        drop(database.name)

    assert [200] * 3 == statuses


@case("B119-a")
def cancelled_requests_leave_their_connections(world: World) -> None:
    """100 instead of 500."""
    with world.own() as own:
        ann = own.actor()
        ann.ingest_all([f"kumquat {number}" for number in range(40)])
        chance = random.Random(119)
        delays = [chance.uniform(0, 0.02) for _ in range(100)]

        def cancel(delay_s: float) -> None:
            body = b'{"query":"kumquat"}'
            head = f"POST /v1/recall_memory HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {ann.holder.text}\r\n"
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", own.service.port)) as connection:
                connection.sendall(head.encode() + body)
                time.sleep(delay_s)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(cancel, delays))
        end = time.monotonic() + 60
        while (answer := ann.post("/v1/recall_memory", {"query": "kumquat 7", "limit": 1})).status_code == 503:
            assert time.monotonic() < end  # the last of those that were given up may still run
        found = [item["context"] for item in answer.json()["results"]]
        _until_idle(own)

    assert ["kumquat 7"] == found


@case("B122-b")
def a_notification_carries_no_content(world: World) -> None:
    ann = world.actor()
    with world.admin() as admin:
        channels = [f"procrastinate_{kind}_v1" for kind in ("any_queue", "queue#embedding")]
        for channel in channels:
            admin.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        with world.embedder_off():
            made = ann.ingest("kumquat " * 2600)
        notes = list(admin.notifies(timeout=1.0, stop_after=2))

    assert "pending" == made["search_state"]
    assert notes
    assert max(len(note.payload.encode()) for note in notes) < 1024
    assert [] == [note.payload for note in notes if "kumquat" in note.payload]


@case("B219-a")
def a_locked_table_is_a_stated_wait(world: World) -> None:
    """Under lock until the last of 20 recalls is answered, with a deadline of 1 s."""
    with world.own(request_timeout_ms=1000) as own:
        ann = own.actor()
        ann.ingest("kumquat")

        def ask(_: int) -> tuple[int, str | None]:
            answer = ann.http.post("/v1/recall_memory", json={"query": "kumquat"})
            return answer.status_code, answer.headers.get("retry-after")

        with psycopg.connect(own.service.database.admin_conninfo) as locker, ThreadPoolExecutor(20) as threads:
            locker.execute("lock table commonlore.evidence in access exclusive mode")
            answers = list(threads.map(ask, range(20)))
            locker.rollback()
        after = ann.contexts("kumquat")
        _until_idle(own)

    assert {status for status, _ in answers} <= {503, 504}
    assert [] == [answer for answer in answers if answer[1] is None]
    assert ["kumquat"] == after


@case("B133-b")
def migrations_wait_briefly_for_locks(world: World) -> None:
    text = (scripts() / "env.py").read_text("utf-8")

    assert re.search(r"set lock_timeout = '\d+s'", text)
    assert text.index("set lock_timeout") < text.rindex("run_migrations()")


@case("B136-a")
def there_is_one_head(world: World) -> None:
    config = Config()
    config.set_main_option("script_location", str(scripts()))

    assert [head_revision()] == ScriptDirectory.from_config(config).get_heads()


@case("B138-a")
def the_extension_may_stand_in_its_own_schema(world: World) -> None:
    """Made before by a superuser; the migrator itself is a plain role."""
    name = f"test_extension_{world._mark}"
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template template0 encoding 'UTF8'").format(sql.Identifier(name)))
    try:
        database = _addresses(name)
        with psycopg.connect(database.admin_conninfo, autocommit=True) as admin:
            admin.execute("create schema extensions")
            admin.execute("create extension vector schema extensions")
        prepare_database(database, passwords())
        from tests.support.server import running_service

        with running_service(database) as service:
            ann = World(world.case, service, world.template, world.folder).actor()
            ann.ingest("kumquat policy")
            answer = ann.recall("policy kumquat")
        with psycopg.connect(database.migrator_conninfo) as migrator:
            plain = migrator.execute("select rolsuper from pg_roles where rolname = session_user").fetchone()
    finally:
        drop(name)

    assert (False,) == plain
    assert (["kumquat policy"], []) == ([item["context"] for item in answer["results"]], answer["degradations"])


@case("B222-a")
def an_unreachable_database_is_no_reason_for_another(world: World) -> None:
    settings = Settings(home=world.folder, database_url="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unavailable) as caught, open_database(settings, prepare=True):
        pass

    assert "database_unavailable" == caught.value.code
    assert [] == [path.name for path in world.folder.iterdir() if path.name != "roles.json"]


@case("B224-a")
def all_addresses_need_a_key_first(world: World) -> None:
    database = clone(world.template)
    try:
        (world.folder / "roles.json").write_text(json.dumps(passwords()))
        environment = _environment(world.folder, COMMONLORE_DATABASE_URL=_url(database.admin_conninfo))
        command = [str(Path(sys.executable).with_name("commonlore")), "up", "--host", "0.0.0.0", "--port", "0", "--no-worker", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        with psycopg.connect(database.admin_conninfo) as admin:
            keys = admin.execute("select count(*) from commonlore.credential").fetchone()
    finally:
        drop(database.name)

    assert 1 == done.returncode, done.stderr
    assert "there is no key yet" in done.stdout + done.stderr
    assert (0,) == keys
