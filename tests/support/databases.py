"""Databases for tests: one server, one migrated template for each test process, a clone for each test.

`COMMONLORE_TEST_SERVER` is a superuser's conninfo of a server to use. With `COMMONLORE_TEST_DATABASE=containers` one is started in
a container, and tests that need it are skipped where no engine answers. Without both an embedded one is started in a temporary
home, without fsync, and stopped at exit.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.locate import Database, prepare_database
from commonlore.db.provision import PROVISION_LOCK, ROLES, role_passwords
from tests.support import containers

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200", "scram_iterations": "1"}


@dataclass(frozen=True)
class TestDatabase(Database):
    """A database of one test."""

    __test__ = False
    name: str = field(default="", kw_only=True)


@cache
def server_conninfo() -> str:
    """The superuser's conninfo of the server under test."""
    given = os.environ.get("COMMONLORE_TEST_SERVER")
    if given:
        return given
    kind = os.environ.get("COMMONLORE_TEST_DATABASE", "embedded")
    if kind not in ("embedded", "containers"):
        raise RuntimeError(f"COMMONLORE_TEST_DATABASE must be embedded or containers, not {kind}")
    if kind == "containers":
        if (reason := containers.missing_engine()) is not None:
            pytest.skip(reason)
        return containers.start()
    folder = Path(tempfile.mkdtemp(prefix="commonlore-test-"))
    folder.chmod(0o711)  # where root runs the tests, the server runs as another account and must get in
    server = EmbeddedPostgres(folder / "home", parameters=_FAST)

    def stop() -> None:
        try:
            server.release()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    server.start()
    return server.superuser_conninfo()


@cache
def passwords() -> dict[str, str]:
    """Passwords of the roles. Roles belong to the server, so every process that uses it must know the same ones.

    A server that is used for more than tests has others: `COMMONLORE_TEST_HOME` names the folder of its roles.json.
    """
    home = os.environ.get("COMMONLORE_TEST_HOME")
    if home:
        return role_passwords(Path(home))
    known = {role: f"test-only-{role}" for role in ROLES}
    with psycopg.connect(server_conninfo()) as connection:
        exists = connection.execute("select from pg_roles where rolname = 'commonlore_app'").fetchone() is not None
    if exists:
        try:
            psycopg.connect(make_conninfo(server_conninfo(), user="commonlore_app", password=known["commonlore_app"])).close()
        except psycopg.OperationalError as error:
            raise RuntimeError("the roles of this server have other passwords; set COMMONLORE_TEST_HOME to the folder of its roles.json") from error
    return known


def _addresses(name: str) -> TestDatabase:
    admin = make_conninfo(server_conninfo(), dbname=name)

    def of(role: str) -> str:
        return make_conninfo(admin, user=role, password=passwords()[role])

    return TestDatabase(
        embedded=False,
        admin=admin,
        migrator=of("commonlore_migrator"),
        serving=of("commonlore_app"),
        worker=of("commonlore_worker"),
        name=name,
    )


def make_template() -> str:
    """A migrated database to clone. Its name holds the xdist worker and the process, so that processes never share one."""
    name = f"test_template_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    drop(name)
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        # Roles are the server's, and two processes that alter them at once fail.
        connection.execute("select pg_advisory_lock(%s::bigint)", (PROVISION_LOCK,))
        prepare_database(_addresses(name), passwords())
    return name


_SETTINGS_OF_ROLES = """
select format('alter role %%I in database %%I set %%I = %%s', r.rolname, %s::text, split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1))
from pg_db_role_setting s join pg_roles r on r.oid = s.setrole cross join unnest(s.setconfig) setting
where s.setdatabase = (select oid from pg_database where datname = %s)
"""


def clone(template: str) -> TestDatabase:
    """A copy of the template. Role settings belong to a database and are not copied, so they are made again."""
    name = f"test_{os.getpid()}_{uuid4().hex[:12]}"
    connection = administrator()
    connection.execute(sql.SQL("create database {} template {} strategy file_copy").format(sql.Identifier(name), sql.Identifier(template)))
    settings = connection.execute(_SETTINGS_OF_ROLES, (name, template)).fetchall()
    connection.execute(b"; ".join(statement.encode() for (statement,) in settings))
    return _addresses(name)


def drop(name: str) -> None:
    administrator().execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


_administrators: dict[tuple[str, int], psycopg.Connection] = {}


def administrator() -> psycopg.Connection:
    """The connection by which this process makes and drops databases; connecting takes as long as half the making of one."""
    key = (server_conninfo(), os.getpid())  # a forked process leaves alone what it was born with
    found = _administrators.get(key)
    if found is None or found.closed:
        found = _administrators[key] = psycopg.connect(key[0], autocommit=True)
        atexit.register(found.close)
    return found
