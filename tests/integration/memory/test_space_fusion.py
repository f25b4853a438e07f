"""The evidence of several spaces as one list: by turns, and by signals that compare across spaces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from commonlore.api.service import MemoryOperations
from commonlore.domain.policy import RankingPolicy
from tests.support.databases import TestDatabase, clone, drop
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Memory, contexts

QUERY = "When does the pelican sail to Madeira?"
ANSWERS = ["The pelican sails to Madeira on Monday.", "A pelican that sails goes to Madeira."]
ASIDES = ["The boat is blue.", "A pelican is a bird.", "Lunch is at noon."]


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


def by_signals(memory: Memory) -> Memory:
    adapters = replace(memory.adapters, policy=replace(RankingPolicy(), space_fusion="spaces-signal-1"))
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


@pytest.mark.parametrize("words_alone", [False, True])
@pytest.mark.parametrize("answers_in", ["private", "team_shared"])
async def test_what_answers_goes_first_wherever_it_lies(memory: Memory, answers_in: str, words_alone: bool) -> None:
    """By turns an aside of the private space comes first or second; by signals both answers do, in either space, with and without vectors."""
    ann = await memory.key(f"{answers_in} {words_alone}")
    other = "private" if answers_in == "team_shared" else "team_shared"
    for content in ANSWERS:
        await memory.remember(ann, content=content, target_space=answers_in)
    for content in ASIDES:
        await memory.remember(ann, content=content, target_space=other)
    seen = memory.with_embedder(FailingEmbedder()) if words_alone else memory

    assert set(ANSWERS) != set(contexts(await seen.recall(ann, QUERY))[:2])
    assert set(ANSWERS) == set(contexts(await by_signals(seen).recall(ann, QUERY))[:2])


async def test_one_space_is_the_same_under_both(memory: Memory) -> None:
    """A caller with the shared space alone has the same answer, and a trace says which rule was used and lists by it."""
    ann, bot = await memory.key("one", member="ann"), await memory.key("one", member="bot", binding="shared_only")
    await memory.remember_all(ann, [*ASIDES, *ANSWERS])
    await memory.remember(ann, content="Pelican, my own note.", target_space="private")
    one, other = await memory.recall(bot, QUERY), await by_signals(memory).recall(bot, QUERY)
    traced = (await by_signals(memory).recall(ann, QUERY, trace=True))["trace"]

    assert one | {"recall_id": ""} == other | {"recall_id": ""}
    assert "spaces-signal-1" == traced["policy"]["space_fusion"]
    assert list(range(1, 7)) == [item["rank"] for item in traced["evidence"]]
    assert "spaces-rrf-1" == (await memory.recall(ann, QUERY, trace=True))["trace"]["policy"]["space_fusion"]
