"""`commonlore hypothesis` and the administration of hypotheses against a running service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from commonlore.api.cli.main import main
from commonlore.db.assemble import Adapters
from commonlore.db.backlog import open_space, sweep
from commonlore.db.hypothesis_runs import is_proposal_due
from commonlore.db.job_queue import JobQueue
from commonlore.db.session import make_pool, team_transaction
from commonlore.domain.jobs.kind import PROPOSE_HYPOTHESES
from commonlore.domain.policy import RankingPolicy
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.run import Outcome
from tests.support.databases import TestDatabase
from tests.support.embedders import FailingEmbedder
from tests.support.jobs import Unqueued, a_turn
from tests.support.memory import Holder, a_relationship
from tests.support.server import Service, running_service


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database, FailingEmbedder()) as running:
        yield running


def run(service: Service, holder: Holder, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["hypothesis", *words, "--url", service.url, "--key", holder.text])
    written = capsys.readouterr()
    return code, written.out + written.err


def ask(service: Service, holder: Holder, operation: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = service.client(holder).post(f"/v1/{operation}", json=body)
    return answer.status_code, answer.json()


def tell(service: Service, holder: Holder, text: str, *relationship: str) -> None:
    body = {"evidence": [{"content": text}], "relationships": [a_relationship(*relationship, kinds=("person", "person"))]}
    assert 200 == ask(service, holder, "remember", **body)[0]


def test_from_off_to_a_decision(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule of the space's own, asked for by the sweep, done by the handler of its kind, listed, shown, confirmed."""
    admin = service.key(scopes=("read", "write", "admin"))
    tell(service, admin, "Ada reports to Ben.", "Ada", "reports_to", "Ben")
    tell(service, admin, "Ben reports to Cleo.", "Ben", "reports_to", "Cleo")

    assert "off; at most 20 a run; none yet" in run(service, admin, capsys, "status")[1]
    assert (1, True) == _has(run(service, admin, capsys, "run"), "switch them on first")
    assert (0, True) == _has(run(service, admin, capsys, "rule", "add", "transitive", "reports to"), "reports_to")
    assert (0, True) == _has(run(service, admin, capsys, "enable", "--outputs", "3"), "daily at 03:00 UTC", "at most 3 a run")
    assert ([("walking", 1, 3), ("proposing", 2, 3)], 1, False) == asyncio.run(_work(service, admin))
    assert (0, True) == _has(run(service, admin, capsys, "list"), "proposed", "0.420", "Ada reports to Cleo")
    [found] = json.loads(run(service, admin, capsys, "list", "--json")[1])["dreams"]
    shown = run(service, admin, capsys, "show", found["hypothesis_id"])
    assert (0, True) == _has(shown, "1. Ada reports to Ben: Ada reports to Ben.", "Likelihood 0.420 = 0.700", "proposed by a run")
    unheard = run(service, admin, capsys, "decide", found["hypothesis_id"], "confirm_true", "--evidence", "It rains.")
    assert (0, True) == _has(unheard, "do not carry it", "Ada reports to Cleo: proposed")
    told = run(
        service, admin, capsys, "decide", found["hypothesis_id"], "confirm_true", "--evidence", "Ada reports to Cleo.", "--reason", "she said so"
    )
    assert (0, True) == _has(told, "Ada reports to Cleo: submitted")
    assert (1, True) == _has(run(service, admin, capsys, "decide", found["hypothesis_id"], "reject"), "the hypothesis is over: submitted")
    assert (0, True) == _has(run(service, admin, capsys, "disable"), "off", "1 submitted", "completed")


def _has(found: tuple[int, str], *texts: str) -> tuple[int, bool]:
    return found[0], all(text in found[1] for text in texts)


async def _work(service: Service, holder: Holder) -> tuple[list[Any], int, bool]:
    """The last stages that a turn told; how many jobs of the kind a sweep asked for, and whether another is due after the run."""
    pool = make_pool(service.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        await sweep(pool, JobQueue(pool))
        waiting = await _waiting(pool)
        adapters = Adapters(pool=pool, embedder=service.embedder, policy=RankingPolicy(), timeout_ms=10_000)
        turn = a_turn(adapters, PROPOSE_HYPOTHESES, holder.team_id, UUID(waiting[0]))
        assert Outcome.DONE == await HANDLERS[PROPOSE_HYPOTHESES.name](turn)
        await turn.flush()
        assert isinstance(turn.queue, Unqueued)
        async with team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
            await open_space(transaction, UUID(waiting[0]))
            return turn.queue.told[-2:], len(waiting), await is_proposal_due(transaction, adapters.clock())
    finally:
        await pool.close()


async def _waiting(pool: Any) -> list[Any]:
    async with pool.connection() as connection:
        rows = await (await connection.execute("select args from procrastinate.procrastinate_jobs where task_name = 'propose_hypotheses'")).fetchall()
    return [row["args"]["space_id"] for row in rows]


def test_the_wrong_key_and_wrong_fields_change_nothing(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    admin, writer = service.key(scopes=("read", "write", "admin")), service.key()
    shared = service.key(scopes=("admin",), binding="shared_only")

    for operation in ("describe_hypotheses", "update_hypotheses", "run_hypotheses"):
        assert 403 == ask(service, writer, f"admin/{operation}", **({"enabled": True} if operation.startswith("update") else {}))[0]
    for body in ({}, {"outputs": 0}, {"outputs": 51}, {"enabled": "yes"}, {"add_rules": [{"kind": "none", "first": "a"}]}, {"enable": True}):
        assert "invalid_input" == ask(service, admin, "admin/update_hypotheses", **body)[1]["code"], body
    assert "invalid_input" == ask(service, shared, "admin/update_hypotheses", target_space="private", enabled=True)[1]["code"]
    assert 2 == run(service, admin, capsys, "rule", "add", "inverse", "owns")[0]
    found = ask(service, admin, "admin/describe_hypotheses")[1]
    assert (False, []) == (found["enabled"], [rule for rule in found["rules"] if rule["own"]])


def test_a_team_has_its_own_switch_and_rules(service: Service) -> None:
    """Neither another team nor a private space has what one space was given; a rule of the service can be taken away and given back."""
    ada, eve = service.key(scopes=("read", "write", "admin")), service.key(team="other", scopes=("read", "write", "admin"))
    rule, seed = {"kind": "transitive", "first": "reports_to"}, {"kind": "transitive", "first": "part_of"}
    before = ask(service, eve, "admin/describe_hypotheses")[1]["rules"]
    changed = ask(service, ada, "admin/update_hypotheses", enabled=True, add_rules=[rule], remove_rules=[seed])[1]

    assert ([True], []) == (
        [item["own"] for item in changed["rules"] if item["first"] == "reports_to"],
        [item for item in changed["rules"] if item["kind"] == "transitive" and item["first"] == "part_of"],
    )
    for holder, space in ((eve, "team_shared"), (ada, "private")):
        found = ask(service, holder, "admin/describe_hypotheses", target_space=space)[1]
        assert (False, before) == (found["enabled"], found["rules"])
    ask(service, ada, "admin/update_hypotheses", add_rules=[seed], remove_rules=[rule])
    assert before == ask(service, ada, "admin/describe_hypotheses")[1]["rules"]
