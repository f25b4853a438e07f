"""The command line on a real database: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonlore.api.cli.main import SUBCOMMANDS, cli, main
from commonlore.db.isolation import locks
from commonlore.db.session import actor_transaction, make_pool
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import parse
from commonlore.domain.time import system_clock
from tests.support.audit import entries
from tests.support.databases import TestDatabase, passwords

Run = Callable[..., tuple[int, str, str]]


def url(conninfo: str) -> str:
    parts = {key: str(value) for key, value in conninfo_to_dict(conninfo).items()}
    host = parts.pop("host")
    query = "&".join(f"{key}={value}" for key, value in {**parts, "host": host}.items())
    return f"postgresql:///?{query}"


@pytest.fixture
def run(database: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("COMMONLORE_DATABASE_URL", url(database.admin_conninfo))
    monkeypatch.setenv("COMMONLORE_SERVING_URL", url(database.serving_conninfo))
    monkeypatch.setenv("COMMONLORE_HOME", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def document(run: Run, *words: str, code: int = 0) -> Any:
    found, out, err = run(*words, "--json")
    assert (found, err) == (code, "")
    return json.loads(out)


async def actor_of(database: TestDatabase, text: str) -> Actor:
    key = parse(text)
    assert key is not None
    async with (
        make_pool(database.serving_conninfo, size=1, name="app") as pool,
        actor_transaction(pool, key, clock=system_clock, timeout_ms=5000) as (actor, _),
    ):
        return actor


def test_from_nothing_to_a_key_by_names_alone(run: Run) -> None:
    code, out, _ = run("team", "create", "  Support ")
    assert code == 0
    assert "Support" in out
    assert run("member", "add", "Ada")[0] == 0
    code, out, _ = run("key", "create", "--member", "Ada", "--scope", "admin", "--scope", "read", "--expires", "90d", "--name", "laptop")

    [text] = [word for word in out.split() if word.startswith("cl_")]
    assert code == 0
    assert "shown only now" in out
    assert parse(text) is not None
    for words in (("key", "list"), ("key", "list", "--json"), ("member", "list"), ("space", "list"), ("team", "list")):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        assert text.rsplit("_", 1)[1] not in out
    assert "laptop" in run("key", "list")[1]
    assert "90d" not in run("key", "list")[1]


def test_json_carries_the_key_once_and_it_authenticates(run: Run, database: TestDatabase) -> None:
    document(run, "team", "create", "Support")
    member = document(run, "member", "add", "Ada", "--kind", "agent")
    made = document(run, "key", "create", "--member", member["profile_id"])
    rotated = document(run, "key", "rotate", made["prefix"])

    assert made["scopes"] == ["read", "write"]
    assert made["credential_id"] == rotated["credential_id"]
    assert asyncio.run(actor_of(database, rotated["key"])).profile_id.hex == member["profile_id"].replace("-", "")
    assert [("key" in entry, "secret_sha256" in entry, entry["state"]) for entry in document(run, "key", "list")] == [(False, False, "active")]
    assert document(run, "key", "revoke", made["credential_id"])["state"] == "revoked"


def test_several_teams_need_a_choice_and_an_ambiguous_name_lists_the_ids(run: Run) -> None:
    teams = [document(run, "team", "create", "Support") for _ in range(2)]

    missing, ambiguous = document(run, "member", "list", code=1), document(run, "member", "list", "--team", "Support", code=1)

    assert (missing["code"], missing["errors"][0]["pointer"]) == ("invalid_input", "/team")
    assert all(team["team_id"] in ambiguous["message"] for team in teams)
    assert document(run, "member", "list", "--team", teams[1]["team_id"].upper()) == []


def test_a_failure_says_what_to_do_next_and_exits_with_1(run: Run) -> None:
    document(run, "team", "create", "Support")
    document(run, "member", "add", "Ada")
    document(run, "key", "create", "--member", "Ada", "--scope", "admin", "--name", "only")

    code, out, err = run("key", "revoke", "only")

    assert (code, out) == (1, "")
    assert "last active admin key" in err
    assert "Make another key" in err
    assert document(run, "member", "retire", "Ada", code=1)["code"] == "last_admin"
    assert document(run, "member", "retire", str(uuid4()), code=1)["code"] == "not_found"
    assert document(run, "member", "add", "Ada", code=1)["code"] == "name_taken"
    assert document(run, "member", "add", "a\nb", code=1)["code"] == "invalid_input"
    assert document(run, "key", "create", "--member", "Ada", "--expires", "1w", code=1)["errors"][0]["pointer"] == "/expires"


def test_a_team_is_retired_only_after_a_yes(run: Run) -> None:
    team = document(run, "team", "create", "Support")

    assert document(run, "team", "retire", "Support", code=1)["errors"][0]["pointer"] == "/yes"
    assert document(run, "team", "retire", "Support", "--yes")["team_id"] == team["team_id"]
    assert document(run, "team", "retire", team["team_id"], "--yes", code=1)["code"] == "not_found"
    assert document(run, "team", "list")[0]["retired_at"] is not None


def test_a_wrong_command_line_exits_with_2_as_text_and_as_json(run: Run) -> None:
    code, out, err = run("team", "nothing")
    assert (code, out) == (2, "")
    assert "No such command" in err
    assert document(run, "team", "nothing", code=2)["code"] == "invalid_input"


def test_isolation_is_verified_on_the_live_database(run: Run, database: TestDatabase) -> None:
    code, out, _ = run("verify-isolation")
    assert code == 0
    assert "Isolation holds." in out
    assert document(run, "verify-isolation")["passed"] is True


def test_a_broken_lock_is_named_and_exits_with_1(run: Run, database: TestDatabase) -> None:
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        connection.execute("alter table commonlore.evidence no force row level security")

    code, out, _ = run("verify-isolation")
    found = document(run, "verify-isolation", code=1)

    assert code == 1
    assert "FAIL" in out
    assert [check["subject"] for check in found["live"] if not check["passed"]] == ["evidence"]


def test_a_scratch_proof_makes_and_drops_its_own_database(run: Run, database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With some of the statements; `tests/integration/isolation` runs them all."""
    some = list(locks.named_statements())[::20]
    monkeypatch.setattr(locks, "named_statements", lambda: iter(some))
    (tmp_path / "roles.json").write_text(json.dumps(passwords()), "utf-8")
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        found = document(run, "verify-isolation", "--scratch")
        rows = connection.execute("select from commonlore.team").fetchall()
        left = connection.execute("select datname from pg_database where datname like %s", (f"commonlore\\_scratch\\_{os.getpid()}%",)).fetchall()

    assert found["passed"] is True
    assert len(found["scratch"]) > 500
    assert (rows, left) == ([], [])


def test_a_scratch_proof_with_stale_passwords_is_refused_and_changes_none(run: Run, database: TestDatabase, tmp_path: Path) -> None:
    (tmp_path / "roles.json").write_text(json.dumps(dict.fromkeys(passwords(), "stale")), "utf-8")

    assert document(run, "verify-isolation", "--scratch", code=1)["code"] == "settings_invalid"
    psycopg.connect(database.worker_conninfo).close()


def test_a_scratch_proof_needs_the_roles_passwords(run: Run) -> None:
    assert document(run, "verify-isolation", "--scratch", code=1)["code"] == "settings_invalid"


def test_a_database_that_is_not_migrated_says_so(run: Run, monkeypatch: pytest.MonkeyPatch, database: TestDatabase) -> None:
    monkeypatch.setenv("COMMONLORE_DATABASE_URL", url(make_conninfo(database.admin_conninfo, dbname="postgres")))

    assert document(run, "team", "list", code=1)["code"] == "migration_needed"


def test_an_unreachable_database_says_so_without_its_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONLORE_DATABASE_URL", "postgresql://someone:marker-secret@127.0.0.1:1/nowhere")

    code, out, err = run("team", "list")

    assert code == 1
    assert "database" in err
    assert "marker-secret" not in out + err


def test_every_subcommand_that_answers_has_json(run: Run) -> None:
    """`worker` and `mcp` run until they are stopped; what `mcp` says is its protocol."""
    context = cli.make_context("commonlore", ["team"], resilient_parsing=True)
    for name in SUBCOMMANDS.keys() - {"worker", "mcp"}:
        command = cli.get_command(context, name)
        assert command is not None
        for leaf in getattr(command, "commands", {"": command}).values():
            assert "--json" in [option for parameter in leaf.params for option in parameter.opts], f"{name} {leaf.name}"


def test_help_imports_little_and_nothing_heavy() -> None:
    """A bare interpreter has about forty modules, the database's driver alone brings a hundred and fifty."""
    script = (
        "import sys; from commonlore.api.cli.main import main; code = main(['--help']); "
        "heavy = [name for name in ('onnxruntime', 'alembic', 'sqlalchemy', 'psycopg', 'litestar', 'rich', 'numpy') if name in sys.modules]; "
        "print('modules', len(sys.modules)); sys.exit(f'imported {heavy}' if heavy else code)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (result.returncode, result.stderr) == (0, "")
    assert "verify-isolation" in result.stdout
    assert int(result.stdout.split("modules ")[1]) < 220


def test_an_act_on_names_is_repeated_by_its_key(run: Run, database: TestDatabase) -> None:
    """`--idempotency-key` without a credential: the second call renames nothing and shows the first answer."""
    team = document(run, "team", "create", "atlas")
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        entity_id, name_id = uuid4(), uuid4()
        place = connection.execute("select team_id, space_epoch from commonlore.space where space_kind = 'team_shared'").fetchone()
        assert place is not None and str(place[0]) == team["team_id"]
        connection.execute(
            "insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from) "
            "values (%s, %s, %s, 'project', 'active', 1, now())",
            (*place, entity_id),
        )
        connection.execute(
            "insert into commonlore.entity_name (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, "
            "known_from) values (%s, %s, %s, %s, 'project', 'Orion', 'orion', 'canonical', now())",
            (*place, name_id, entity_id),
        )

    words = ("entity", "rename", str(entity_id), "Orion Two", "--reason", "a test", "--idempotency-key", "k")
    first, again = document(run, *words), document(run, *words)

    assert first == again and "Orion" == first["former_name"]
    assert "idempotency_conflict" == document(run, *words[:3], "Orion Three", *words[4:], code=1)["code"]
    assert "invalid_input" == document(run, *words[:-1], "k" * 129, code=1)["code"]


def test_the_log_names_the_command_that_wrote(run: Run, database: TestDatabase) -> None:
    """One that only looks is not in it; the words of a name are not either."""
    run("--json", "team", "create", "atlas")
    run("member", "add", "key", "--json")
    run("member", "list")

    assert [("team create", "operator"), ("member add", "operator")] == [(entry.act, entry.actor_kind) for entry in entries(database)]
