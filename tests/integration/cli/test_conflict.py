"""`commonlore conflict` against a running service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from commonlore.api.cli.main import main
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, a_relationship
from tests.support.server import Service, running_service

CONFLICT = "What is the current primary database of Orion?"


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        yield running


def state(service: Service, holder: Holder, product: str) -> None:
    """One member's word about Orion's database."""
    statement = a_relationship("Orion", "primary_database", product, kinds=("project", "product"))
    body = {"evidence": [{"content": f"The primary database of Orion is {product}."}], "relationships": [statement]}
    assert service.client(holder).post("/v1/remember", json=body).status_code == 200


def run(service: Service, key: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of a command and what it wrote."""
    code = main(["conflict", *words, "--url", service.url, "--key", key])
    written = capsys.readouterr()
    return code, written.out + written.err


def test_a_conflict_is_found_shown_and_decided(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """By an administrator's key; its second decision is refused, since the case has moved on."""

    ann, ben, ada = service.key(), service.key(), service.key(scopes=("read", "write", "admin"))
    state(service, ann, "PostgreSQL")
    state(service, ben, "MySQL")
    code, listed = run(service, ada.text, capsys, "list", "--json")
    [case] = json.loads(listed)["conflicts"]
    shown = run(service, ada.text, capsys, "show", case["conflict_id"])
    words = ("resolve", case["conflict_id"], "--position", case["positions"][0]["position_id"], "--expected-version", "1", "--reason", "asked")
    decided, again = run(service, ada.text, capsys, *words), run(service, ada.text, capsys, *words)

    assert (0, CONFLICT) == (code, case["question"])
    assert (0, True, True) == (shown[0], "PostgreSQL" in shown[1], CONFLICT in shown[1])
    assert (0, f"{case['conflict_id']}: resolved; 1 relationship superseded\n") == decided
    assert (1, True) == (again[0], "no open case of this version" in again[1])
    assert (0, True) == ((found := run(service, ada.text, capsys, "list", "--status", "resolved"))[0], "resolved" in found[1])


def test_a_conflict_is_dismissed(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Both statements stand; a member without the scope is refused."""

    ann, ben, ada = service.key(), service.key(), service.key(scopes=("read", "write", "admin"))
    state(service, ann, "PostgreSQL")
    state(service, ben, "MySQL")
    [case] = json.loads(run(service, ada.text, capsys, "list", "--json")[1])["conflicts"]
    words = ("dismiss", case["conflict_id"], "--expected-version", "1", "--reason", "both are right")
    refused, dismissed = run(service, ann.text, capsys, *words), run(service, ada.text, capsys, *words)

    assert (1, True) == (refused[0], "scope admin" in refused[1])
    assert (0, f"{case['conflict_id']}: dismissed; 0 relationships superseded\n") == dismissed
    assert (0, "There is no conflict.\n") == run(service, ada.text, capsys, "list", "--status", "open")


@pytest.mark.parametrize("wrong", [{"key": "nonsense"}, {"url": "ftp://127.0.0.1"}, {"url": "http://127.0.0.1:9"}], ids=["key", "scheme", "nobody"])
def test_a_service_that_cannot_be_called_is_named(wrong: dict[str, Any], capsys: pytest.CaptureFixture[str], service: Service) -> None:
    """With exit code 1 and what to do."""

    ada = service.key(scopes=("admin",))
    code = main(["conflict", "list", "--url", wrong.get("url", service.url), "--key", wrong.get("key", ada.text)])

    assert (1, True) == (code, capsys.readouterr().err.startswith("Error: "))
