"""Feedback on recalls: kept where the team wants it, taken from who asked, reported by lane, gone with what is erased; no ranking sees it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psycopg
import pytest

from commonlore.api.admin import ADMIN
from commonlore.api.administration import TeamAdministration
from commonlore.db import feedback
from commonlore.db.session import TeamTransaction, make_pool, team_transaction
from commonlore.domain.feedback.request import SubmitFeedbackRequest
from tests.support.memory import Holder, Memory

ALL = ("read", "write", "admin")
TABLES = ("feedback_recall", "feedback_result", "recall_feedback", "feedback_mark")


async def administer(memory: Memory, holder: Holder, name: str, /, **fields: Any) -> dict[str, Any]:
    spec = ADMIN[name]
    return dict(
        await spec.of(TeamAdministration(memory.adapters, lambda _: None))(holder.key, msgspec.convert(fields, spec.request), correlation_id="t")
    )


async def say(memory: Memory, holder: Holder, *recalls: dict[str, Any]) -> dict[str, Any]:
    plain = {"used": True, "answer_supported": True, "quality": "high"}
    request = msgspec.convert({"recalls": [plain | recall for recall in recalls]}, SubmitFeedbackRequest)
    return await memory.operations.submit_recall_session_feedback(holder.key, request, correlation_id="test")


def counts(memory: Memory) -> list[int]:
    return [memory.sql(f"select count(*) from commonlore.{table}")[0][0] for table in TABLES]


@asynccontextmanager
async def as_worker(memory: Memory, holder: Holder) -> AsyncIterator[TeamTransaction]:
    async with (
        make_pool(memory.database.worker_conninfo, size=1, name="test-worker") as pool,
        team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction,
    ):
        yield transaction


@pytest.fixture
async def boss(memory: Memory) -> Holder:
    """An administrator of a team that keeps its recalls, with something to recall."""
    holder = await memory.key(scopes=ALL)
    await memory.remember_all(holder, ["Orion moved to Lisbon.", "Orion moved from Oslo."])
    await memory.relate(holder, "Mark works on Orion.", "Mark", "works_on", "Orion")
    await administer(memory, holder, "update_feedback", enabled=True)
    return holder


async def test_nothing_is_kept_of_a_team_that_did_not_ask(memory: Memory) -> None:
    ann = await memory.key()
    await memory.remember(ann, content="Orion moved to Lisbon.")
    answer = await memory.recall(ann, "Orion Lisbon")

    assert ([], [0, 0, 0, 0]) == (answer["suggested_actions"], counts(memory))


async def test_an_answer_is_the_same_with_feedback_and_after_it(memory: Memory, boss: Holder) -> None:
    """Byte by byte, but for its own id and the offer; also after the worst is said of every result."""

    def shown(answer: dict[str, Any]) -> str:
        return json.dumps({name: value for name, value in answer.items() if name not in ("recall_id", "suggested_actions")})

    kept = await memory.recall(boss, "Orion moved to Lisbon", limit=2)
    refs = [{"type": "evidence", "id": item["evidence_id"], "rank": item["rank"]} for item in kept["results"]]
    refs += [{"type": "relationship", "id": item["relationship_id"]} for item in kept["related_relationships"]]
    said = {"recall_event_id": kept["recall_id"], "used": False, "quality": "low", "irrelevant": True, "feedback_comment": "all wrong"}
    receipt = await say(memory, boss, {**said, "irrelevant_result_refs": refs})
    after = await memory.recall(boss, "Orion moved to Lisbon", limit=2)
    await administer(memory, boss, "update_feedback", enabled=False)
    without = await memory.recall(boss, "Orion moved to Lisbon", limit=2)

    assert ({"recorded": 1}, 3) == (receipt, len(refs))
    assert shown(kept) == shown(after) == shown(without)
    assert [{"action": "submit_recall_session_feedback", "recall_event_id": kept["recall_id"]}] == kept["suggested_actions"]
    assert [] == without["suggested_actions"]


async def test_what_is_kept_holds_ids_alone(memory: Memory, boss: Holder) -> None:
    """No word of a query, of a text or of a comment."""

    kept = await memory.recall(boss, "Who works on Orion?")
    await say(memory, boss, {"recall_event_id": kept["recall_id"], "quality": "low", "feedback_comment": "Orion is no zebra"})
    rows = [row for table in TABLES for row in memory.sql(f"select t::text from commonlore.{table} t")]

    assert len(rows) > 4
    assert [] == [row for (row,) in rows if any(word in row for word in ("Orion", "works", "zebra", "Mark"))]


async def test_a_recall_that_cannot_be_kept_is_an_answer_all_the_same(memory: Memory, boss: Holder) -> None:
    memory.sql("revoke insert on commonlore.feedback_recall from commonlore_app")
    answer = await memory.recall(boss, "Who works on Orion?")

    assert [("feedback", "recall_feedback_snapshot_unavailable")] == [(item["frontier"], item["code"]) for item in answer["degradations"]]
    assert ([], True) == (answer["suggested_actions"], len(answer["results"]) == 3)


async def test_feedback_is_taken_in_order_up_to_the_first_that_does_not_fit(memory: Memory, boss: Holder) -> None:
    one, two = await memory.recall(boss, "Orion"), await memory.recall(boss, "Lisbon")
    strange = [{"type": "evidence", "id": one["recall_id"].removeprefix("rec_")}]
    receipt = await say(
        memory,
        boss,
        {"recall_event_id": one["recall_id"]},
        {"recall_event_id": two["recall_id"], "irrelevant_result_refs": strange},
        {"recall_event_id": "x"},
    )
    again = await say(memory, boss, {"recall_event_id": one["recall_id"], "used": False}, {"recall_event_id": two["recall_id"]})

    refused = {"error_code": "invalid_input", "reason_code": "result_reference_invalid", "next_action": "correct_and_resubmit"}
    assert {"recorded": 1, "failed_index": 1, **refused} == receipt
    assert {"recorded": 2} == again
    assert [(True,), (True,)] == memory.sql("select used from commonlore.recall_feedback")  # what was said first stays


async def test_only_who_asked_may_judge(memory: Memory, boss: Holder) -> None:
    """Another key of the same member, another member and another team find nothing, all alike."""

    kept = await memory.recall(boss, "Orion")
    others = [await memory.key(), await memory.key("elsewhere"), await memory.key(member="member-0", scopes=ALL)]
    receipts = [await say(memory, other, {"recall_event_id": kept["recall_id"]}) for other in others]

    assert ["reference_not_found"] * 3 == [receipt["reason_code"] for receipt in receipts]
    assert 0 == counts(memory)[2]


async def test_the_report_counts_by_ranking_and_lane(memory: Memory, boss: Holder) -> None:
    """Lanes count recalls of which something was said."""

    kept = [await memory.recall(boss, query, limit=limit) for query, limit in (("Orion", 3), ("Orion moved to Lisbon", 2), ("Lisbon", 3))]
    first = {"type": "fragment", "id": kept[0]["results"][0]["evidence_id"], "rank": 1}
    third = {"type": "fragment", "id": kept[0]["results"][2]["evidence_id"], "rank": 3}
    complaint = {"quality": "low", "answer_supported": False, "irrelevant": True, "feedback_comment": "no"}
    await say(memory, boss, {"recall_event_id": kept[0]["recall_id"], **complaint, "irrelevant_result_refs": [first, third]})
    await say(memory, boss, {"recall_event_id": kept[1]["recall_id"]})
    [found] = (await administer(memory, boss, "describe_feedback"))["rankings"]
    nothing = await administer(memory, boss, "describe_feedback", until="2020-01-01T00:00:00Z")

    numbers = [found[name] for name in ("recalls", "answered", "used", "supported", "high", "medium", "low", "missing_context", "irrelevant")]
    lanes = {lane.pop("lane"): lane for lane in found["lanes"]}
    assert [3, 2, 2, 1, 1, 0, 1, 0, 1] == numbers
    assert (2, 1, 4) == tuple(lanes["evidence"][name] for name in ("irrelevant", "irrelevant_first", "irrelevant_ranks"))
    assert 0 == lanes["relationship"]["irrelevant"]
    assert (feedback.ranking_of(memory.adapters.policy), []) == (found["ranking"], nothing["rankings"])


async def test_recalls_go_when_they_are_old_and_with_their_key(memory: Memory, boss: Holder) -> None:
    """The worker may, the serving role may not. What goes with an erased text has its test in tests/integration/erasure."""

    kept = [await memory.recall(boss, "Who works on Orion?") for _ in range(3)]
    complaint = {
        "quality": "low",
        "feedback_comment": "no",
        "irrelevant_result_refs": [{"type": "evidence", "id": kept[0]["results"][0]["evidence_id"]}],
    }
    await say(memory, boss, *({"recall_event_id": item["recall_id"], **complaint} for item in kept))
    with psycopg.connect(memory.database.serving_conninfo, autocommit=True) as connection:
        for table in TABLES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"delete from commonlore.{table}".encode())
    async with as_worker(memory, boss) as transaction:
        old = await feedback.remove_old_recalls(transaction, memory.clock.now.replace(year=2030), batch=1)
        theirs = await feedback.remove_recalls_of(transaction, credential_ids=[boss.credential_id])

    assert (1, 2, [0, 0, 0, 0]) == (old, theirs, counts(memory))
