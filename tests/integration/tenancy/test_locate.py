"""Finding and preparing the database: embedded and external."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from commonlore.db.locate import open_database, require_migrated, revision
from commonlore.db.migrate import head_revision
from commonlore.db.settings import Settings
from commonlore.domain.errors import OperatorError
from tests.integration.tenancy.test_command_line import url
from tests.support.databases import TestDatabase, drop, passwords, server_conninfo


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="commonlore-home-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


def who(conninfo: str) -> tuple[str, bool, bool]:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("select current_user::text, rolsuper, rolbypassrls from pg_roles where rolname = current_user").fetchone()
    assert row is not None
    return row


def test_an_embedded_database_is_made_prepared_and_found_again(home: Path) -> None:
    """B004-d: the serving connection is no owner and no superuser in embedded mode too."""
    settings = Settings(home=home)
    with open_database(settings, prepare=True) as database:
        assert database.embedded
        assert revision(database.admin_conninfo) == head_revision()
        assert who(database.serving_conninfo) == ("commonlore_app", False, False)
        assert who(database.worker_conninfo) == ("commonlore_worker", False, False)
        assert who(database.owner_conninfo) == ("commonlore_migrator", False, False)
        with open_database(settings) as again:
            assert again == database
        assert who(database.serving_conninfo)[0] == "commonlore_app"
        for secret in (database.serving_conninfo, database.admin_conninfo):
            assert secret not in repr(database)
    with open_database(settings) as database:
        require_migrated(database.serving_conninfo)


def test_an_external_database_is_prepared_once_and_alembic_stays_out_afterwards(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "test_locate_external"
    drop(name)
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    try:
        settings = Settings(home=home, database_url=url(f"{server_conninfo()} dbname={name}"))
        with open_database(settings) as database, pytest.raises(OperatorError) as refused:
            require_migrated(database.owner_conninfo)
        assert refused.value.code == "migration_needed"

        home.mkdir()
        (home / "roles.json").write_text(json.dumps(passwords()), "utf-8")
        with open_database(settings, prepare=True) as database:
            assert who(database.serving_conninfo)[0] == "commonlore_app"

        monkeypatch.setitem(sys.modules, "alembic", None)
        with open_database(settings, prepare=True) as database:
            require_migrated(database.serving_conninfo)
    finally:
        drop(name)


def test_an_address_that_is_not_known_names_its_setting(home: Path, database: TestDatabase) -> None:
    with open_database(Settings(home=home, serving_url=database.serving_conninfo)) as found:
        assert found.serving_conninfo == database.serving_conninfo
        for name, setting in (("worker_conninfo", "COMMONLORE_WORKER_URL"), ("admin_conninfo", "COMMONLORE_DATABASE_URL")):
            with pytest.raises(OperatorError) as refused:
                getattr(found, name)
            assert setting in refused.value.message
    assert not (home / "roles.json").exists()


def test_an_external_database_never_gets_new_passwords_unasked(home: Path, database: TestDatabase) -> None:
    with open_database(Settings(home=home, database_url=url(database.admin_conninfo))) as found, pytest.raises(OperatorError):
        _ = found.serving_conninfo

    assert not (home / "roles.json").exists()
