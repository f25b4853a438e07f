"""`commonlore community` and the administration of communities against a running service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from commonlore.api.cli.main import main
from tests.support.databases import TestDatabase
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Holder, a_relationship
from tests.support.server import Service, running_service


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database, FailingEmbedder()) as running:
        yield running


def run(service: Service, holder: Holder, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["community", *words, "--url", service.url, "--key", holder.text])
    written = capsys.readouterr()
    return code, written.out + written.err


def ask(service: Service, holder: Holder, operation: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = service.client(holder).post(f"/v1/admin/{operation}", json=body)
    return answer.status_code, answer.json()


def test_from_off_to_a_run_that_waits(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Off by default; switched on it says what a recall lacks; a run is asked for once, and the time is the team's."""
    admin = service.key(scopes=("read", "write", "admin"))

    assert (0, True) == _has(run(service, admin, capsys, "show"), "team_shared: off", "There was no run yet.")
    assert (1, True) == _has(run(service, admin, capsys, "run"), "switch them on first")
    assert (0, True) == _has(run(service, admin, capsys, "enable"), "daily at 03:00 UTC", "A recall says: community_snapshot_unavailable")
    assert (0, True) == _has(run(service, admin, capsys, "run"), "commonlore jobs watch ")
    assert (0, True) == _has(run(service, admin, capsys, "run"), "A run waits already.")
    assert (0, True) == _has(run(service, admin, capsys, "schedule", "--time-zone", "Asia/Tokyo", "--start", "04:30"), "04:30 Asia/Tokyo")
    assert (0, True) == _has(run(service, admin, capsys, "disable"), "team_shared: off")
    code, written = run(service, admin, capsys, "show", "--json")
    shown = json.loads(written)
    assert (0, False, "Asia/Tokyo", "04:30", None, None, []) == (
        code, *(shown[name] for name in ("enabled", "time_zone", "start", "snapshot", "next_run_at", "runs"))
    )  # fmt: skip


def _has(found: tuple[int, str], *texts: str) -> tuple[int, bool]:
    return found[0], all(text in found[1] for text in texts)


def test_the_wrong_key_and_wrong_fields_change_nothing(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    admin, writer = service.key(scopes=("read", "write", "admin")), service.key()
    shared = service.key(scopes=("admin",), binding="shared_only")

    for operation in ("describe_communities", "update_communities", "run_communities"):
        assert 403 == ask(service, writer, operation, **({"enabled": True} if operation.startswith("update") else {}))[0]
    for body in (
        {},
        {"time_zone": "Europe/Atlantis"},
        {"start": "24:00"},
        {"enabled": "yes"},
        {"target_space": "named", "enabled": True},
        {"enable": True},
    ):
        assert "invalid_input" == ask(service, admin, "update_communities", **body)[1]["code"], body
    assert "invalid_input" == ask(service, shared, "update_communities", target_space="private", enabled=True)[1]["code"]
    assert (1, True) == _has(run(service, admin, capsys, "schedule"), "expected at least one of")
    assert not ask(service, admin, "describe_communities")[1]["enabled"]


def test_a_team_sees_its_own_communities_alone(service: Service) -> None:
    """Switched on for one team and its shared space: neither another team nor a private space has them."""
    ada, eve = service.key(scopes=("read", "write", "admin")), service.key(team="other", scopes=("read", "write", "admin"))
    relationships = [a_relationship("Ada", "works_on", "Atlas")]
    service.client(ada).post("/v1/remember", json={"evidence": [{"content": "Ada works on Atlas."}], "relationships": relationships})
    ask(service, ada, "update_communities", enabled=True, start="05:00")

    assert (False, "03:00") == tuple(ask(service, eve, "describe_communities")[1][name] for name in ("enabled", "start"))
    assert (False, "05:00") == tuple(ask(service, ada, "describe_communities", target_space="private")[1][name] for name in ("enabled", "start"))
    assert ask(service, ada, "describe_communities")[1]["enabled"]
