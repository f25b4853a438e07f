"""Hints of a query through the whole recall, under the contract that reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonlore.api.service import MemoryOperations
from commonlore.domain.policy import RankingPolicy
from tests.support.databases import TestDatabase, clone, drop
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Memory, contexts

OLD, NEW = "Theresa Bronn has performed as a soprano soloist in concerts.", "Theresa Bronn has performed as a bass soloist in concerts."
VOICE = "Which voice part has Theresa Bronn performed as a soloist in concerts, soprano?"


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    """One database for the module: each test has a team of its own, and teams do not meet."""
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    """Words alone rank, so that what a hint does is plain."""
    async with Memory.open(shared) as opened:
        yield under(opened.with_embedder(FailingEmbedder()), "zscore-2")


def under(memory: Memory, contract: str) -> Memory:
    adapters = replace(memory.adapters, policy=replace(RankingPolicy(), evidence_contract=contract))
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


def a_turn(content: str, speaker: str, sequence: int, day: str) -> dict[str, Any]:
    return {
        "content": content,
        "speaker": speaker,
        "session": "s",
        "sequence": sequence,
        "occurred_at": f"{day}T09:00:00Z",
        "source_type": "conversation",
    }


async def test_the_later_of_two_states_goes_first_and_a_trace_says_why(memory: Memory) -> None:
    ann = await memory.key()
    await memory.remember(ann, content=OLD, occurred_at="2025-01-08T09:00:00Z")
    await memory.remember(ann, content=NEW, occurred_at="2025-04-08T09:00:00Z")
    answer = await memory.recall(ann, VOICE, trace=True)

    assert [OLD, NEW] == contexts(await under(memory, "zscore-1").recall(ann, VOICE))
    assert [NEW, OLD] == contexts(answer)
    moved = {item["rank"]: item.get("moves") for item in answer["trace"]["evidence"]}
    assert {1: [{"factor": "said_later", "before": 2, "after": 1}], 2: None} == moved
    assert ["Theresa Bronn"] == answer["trace"]["hints"]["names"]


async def test_a_view_before_the_update_keeps_the_old_first(memory: Memory) -> None:
    ann = await memory.key("view")
    await memory.remember(ann, content=NEW, occurred_at="2025-04-08T09:00:00Z")
    await memory.remember(ann, content=OLD, occurred_at="2025-01-08T09:00:00Z")

    query = VOICE.replace("soprano", "bass")
    assert [NEW, OLD] == contexts(await memory.recall(ann, query))
    assert [OLD, NEW] == contexts(await memory.recall(ann, query, valid_at="2025-02-01T00:00:00Z"))


async def test_a_shorter_answer_is_the_beginning_of_a_longer_one(memory: Memory) -> None:
    """Also where an item beyond the limit is put before those within."""
    ann = await memory.key("prefix")
    for number in range(14):
        await memory.remember(
            ann,
            content=f"The office of the Orion project moved to building {'soprano ' * (14 - number)}",
            occurred_at=f"2025-01-{number + 1:02}T09:00:00Z",
        )
    whole = contexts(await memory.recall(ann, "soprano office Orion", limit=14))

    assert [whole[:limit] for limit in (1, 3, 10, 12)] == [
        contexts(await memory.recall(ann, "soprano office Orion", limit=limit)) for limit in (1, 3, 10, 12)
    ]
    assert "soprano " * 14 not in whole[0]


async def test_who_and_when_of_a_talk_count(memory: Memory) -> None:
    ann = await memory.key("talk")
    turns = [
        a_turn("The rafting trip was fun.", "Bo", 1, "2023-05-01"),
        a_turn("Did you enjoy rafting?", "Cy", 20, "2023-05-02"),
        a_turn("The rafting guide was late again, they say.", "Cy", 40, "2023-06-03"),
    ]
    await memory.remember(ann, evidence=turns)
    await memory.remember_all(ann, [f"Something else, number {number}." for number in range(12)])

    async def first(query: str) -> str:
        return contexts(await memory.recall(ann, query))[0]

    assert turns[0]["content"] == await first("rafting")
    assert turns[2]["content"] == await first("What did Cy say of rafting?")
    assert turns[2]["content"] == await first("rafting in June")
    trace = (await memory.recall(ann, "What did Cy say of rafting in June 2023?", trace=True))["trace"]
    assert [["named_speaker", "named_period"], ["named_speaker", "question"]] == sorted(
        item["factors"] for item in trace["evidence"] if "factors" in item
    )
    assert [{"text": "June 2023", "start": "2023-06-01T00:00:00Z", "end": "2023-07-01T00:00:00Z"}] == trace["hints"]["periods"]


async def test_yesterday_counts_from_the_view_else_from_now(memory: Memory) -> None:
    ann = await memory.key("yesterday")
    now = memory.clock()
    await memory.remember_all(ann, [f"Something else, number {number}." for number in range(12)])
    for days, content in ((40, "The market opened."), (1, "The market closed, and much else happened on that long day.")):
        await memory.remember(ann, content=content, occurred_at=(now - timedelta(days=days)).isoformat())

    async def first(**fields: Any) -> str:
        return contexts(await memory.recall(ann, "yesterday at the market", **fields))[0][:17]

    assert "The market closed" == await first()
    assert "The market opened" == await first(valid_at=(now - timedelta(days=39)).isoformat())


async def test_hints_change_nothing_under_other_contracts(memory: Memory) -> None:
    """Byte for byte: a query with every hint orders as its words do."""
    ann = await memory.key("others")
    await memory.remember(
        ann, evidence=[a_turn(f"rafting {'again ' * number}", "Bo" if number % 2 else "Cy", number, f"2023-05-0{number}") for number in range(1, 7)]
    )
    for contract in ("rrf-1", "zscore-1"):
        plain, hinted = [contexts(await under(memory, contract).recall(ann, query)) for query in ("rafting again", "rafting again?")]
        assert plain == hinted
        trace = (await under(memory, contract).recall(ann, "rafting now, Cy?", trace=True))["trace"]
        assert ("latest", []) == (trace["hints"]["order"], [item for item in trace["evidence"] if "factors" in item or "moves" in item])
