"""What the reliable-recall page asks of any recall, one test each, on the real service.

Sections 4 and 8, and the nine invariants of section 7, whose number is in the docstring. Section 7 is written of an exit that
composes items; here each is held by the recall itself, which is what there is. Cues, associations and chains are not built: there
is nothing in the answer of theirs, and a request that names them is refused.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import psycopg
import pytest

from commonlore.api.service import MemoryOperations
from commonlore.db.session import team_transaction
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.request import RecallRequest
from tests.support.memory import Holder, Memory, ServedHashEmbedder, contexts, shown
from tests.support.planned import PlannedEmbedder, codes


def with_policy(memory: Memory, **numbers: Any) -> Memory:
    """The same memory under other numbers of the ranking policy."""
    adapters = replace(memory.adapters, policy=RankingPolicy(**numbers))
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


async def herd(memory: Memory, holder: Holder, size: int = 40) -> list[str]:
    return await memory.remember_all(holder, [f"Zebra {'runs ' * (number % 5)}over field {number}." for number in range(size)])


def candidates(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Every candidate that a trace names, with its place in each branch."""
    return [(item["evidence_id"], item.get("lexical_rank"), item.get("vector_rank")) for item in answer["trace"]["evidence"]]


async def test_depth_is_not_count(memory: Memory) -> None:
    """Section 4, and invariant 7 of section 7: the count alone changes neither the candidates nor their order, and no depth is read off it."""
    deep = with_policy(memory, depth_rows=60)
    ann = await memory.key()
    await herd(memory, ann)
    answers = {limit: await deep.recall(ann, "zebra runs", limit=limit, relationship_limit=0, trace=True) for limit in (1, 2, 10, 40)}

    assert [40] * 4 == [len(candidates(answer)) for answer in answers.values()]
    assert 1 == len({msgspec.json.encode(candidates(answer)) for answer in answers.values()})
    assert [{"rows": 60, "refills": 0}] * 4 == [answer["trace"]["depth"]["evidence"] for answer in answers.values()]
    for limit, answer in answers.items():
        assert contexts(answers[40])[:limit] == contexts(answer)


async def test_a_recall_changes_nothing_that_is_stored(own: Memory) -> None:
    """Invariant 1. Every row of every table is the same after recalls of every kind, and the transaction could not have changed one."""
    ann = await own.key()
    await herd(own, ann, 5)
    kim = await own.relate(ann, "Kim likes zebra.", "Kim", "likes", "zebra")
    tables = [row[0] for row in own.sql("select relname from pg_class where relnamespace = 'commonlore'::regnamespace and relkind = 'r' order by 1")]

    def state() -> list[Any]:
        return [own.sql(f"select count(*), md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from commonlore.{name} t") for name in tables]

    before = state()
    for fields in ({}, {"trace": True}, {"known_at": "2026-07-02T00:00:00Z"}, {"known_relationship_ids": [kim]}):
        await own.recall(ann, "zebra runs", **fields)
    await own.trace(ann, kim)

    assert before == state()
    async with team_transaction(own.adapters.pool, ann.team_id, timeout_ms=1000, snapshot=True) as transaction:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            await transaction.connection.execute("update commonlore.profile set name = 'x'")


async def test_a_recall_embeds_its_query_once_and_asks_no_model(memory: Memory) -> None:
    """Invariant 2. One embedding a request however often a lane looks deeper, none of a stored text; what is shown is quoted."""
    embedder = ServedHashEmbedder()
    asked = with_policy(memory.with_embedder(embedder), depth_rows=2)
    ann = await memory.key()
    await herd(memory, ann)
    stored = {row[0] for row in memory.sql("select content from commonlore.evidence where team_id = %s", ann.team_id)}
    answer = await asked.recall(ann, "zebra runs", limit=30, relationship_limit=20)

    assert (["zebra runs"], []) == (embedder.queries, embedder.texts)
    assert 30 == len(answer["results"]) and set(contexts(answer)) <= stored


async def test_one_state_one_question_one_answer(memory: Memory) -> None:
    """Invariant 3. To the byte; candidates with equal words and equal meaning are ordered by their ids."""
    ann = await memory.key()
    alike = memory.with_embedder(PlannedEmbedder({"zebra": 0.7}))
    twins = await alike.remember_all(ann, [f"Zebra runs {name}." for name in ("aa", "bb", "cc", "dd", "ee")])
    query = {"query": "zebra", "limit": 50, "relationship_limit": 20}

    first = await alike.recall(ann, **query)
    assert [shown(first)] * 3 == [shown(await alike.recall(ann, **query)) for _ in range(3)]
    by_words = await alike.recall(ann, "zebra runs", limit=50)
    assert sorted(twins) == [item["evidence_id"] for item in by_words["results"]]


async def test_every_bound_that_cuts_is_stated(memory: Memory) -> None:
    """Invariant 4. The cap of depth, the length of a context, the equivalents and the limit: each is kept, and each says so."""
    ann, twin = await memory.key(), "Giraffe stands."
    await herd(memory, ann)
    gone = await memory.key(member="gone")
    await memory.remember_all(gone, [f"Okapi {number}." for number in range(20)])
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)
    capped = await with_policy(memory, depth_rows=2, depth_cap_rows=4).recall(ann, "okapi", limit=20, relationship_limit=0)
    await memory.remember_all(ann, ["Okapi. " + "And a long tale of it. " * 60])
    short = await with_policy(memory, context_chars=450).recall(ann, "okapi tale", limit=1)
    for _ in range(4):
        await memory.remember(ann, content=twin, force_insert=True)
    few = await with_policy(memory, equivalents_limit=2).recall(ann, "giraffe", limit=1, trace=True)

    assert [("evidence", "evidence_bound_reached")] == codes(capped)
    assert (True, True) == (short["results"][0]["context_truncated"], len(short["results"][0]["context"]) <= 450)
    assert (2, True) == (len(few["results"][0]["equivalent_evidence_ids"]), few["results"][0]["equivalents_truncated"])
    assert [("limit", 1)] == [(item["name"], item["value"]) for item in few["trace"]["limits"] if item["name"] == "limit"]
    assert [] == codes(await memory.recall(ann, "okapi", limit=20, relationship_limit=0))


async def test_every_candidate_says_why(memory: Memory) -> None:
    """Invariant 5, and section 8: what was returned says by which branch it came, what was not says the one reason."""
    ann = await memory.key()
    ids = await herd(memory, ann, 12)
    [gone] = await memory.remember_all(ann, ["Zebra runs away."])
    await memory.retract(ann, gone)
    answer = await memory.recall(ann, "zebra runs", limit=5, known_evidence_ids=ids[:2], trace=True)
    said = {item["evidence_id"]: item for item in answer["trace"]["evidence"]}

    assert {gone: "retracted", ids[0]: "already_known", ids[1]: "already_known"} == {
        key: item["outcome"] for key, item in said.items() if item["outcome"] not in ("returned", "beyond_limit")
    }
    assert {*ids, gone} == set(said)
    for item in answer["results"]:
        assert "returned" == said[item["evidence_id"]]["outcome"] and {"lexical_rank", "vector_rank"} & set(said[item["evidence_id"]])


async def test_explaining_and_depth_leave_the_answer_as_it_was(memory: Memory) -> None:
    """Invariant 6. With a trace, and under any depth that suffices, the rest of the answer has the same bytes."""
    ann = await memory.key()
    await herd(memory, ann)
    await memory.relate(ann, "Kim likes zebra.", "Kim", "likes", "zebra")
    query: dict[str, Any] = {"query": "zebra runs likes", "limit": 7, "relationship_limit": 3}
    plain = await memory.recall(ann, **query)
    traced = await memory.recall(ann, **query, trace=True)
    del traced["trace"]

    assert shown(plain) == shown(traced)
    for depth in (60, 100, 400):
        assert shown(plain) == shown(await with_policy(memory, depth_rows=depth).recall(ann, **query))


async def test_a_short_lane_is_not_padded(memory: Memory) -> None:
    """Invariant 8. Equal texts and the parts of one text are one result; what is not there is not made up to fill a limit."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    long = " ".join(f"The zebra of chapter {number} runs far and tells what it saw there." for number in range(60))
    for holder in (ann, ben):
        await memory.remember(holder, content="Zebra runs.")
    await memory.remember(ann, content=long)
    answer = await memory.recall(ann, "zebra runs chapter", limit=50, relationship_limit=20)

    assert (2, []) == (len(answer["results"]), answer["related_relationships"])
    assert 2 == len({item["evidence_id"] for item in answer["results"]})
    assert 1 < memory.sql("select max(part_count) from commonlore.evidence where team_id = %s", ann.team_id)[0][0]
    assert [] == (await memory.recall(await memory.key(team="nobody"), "zebra", limit=50))["results"]


async def test_a_smaller_context_omits_no_result(memory: Memory) -> None:
    """Invariant 9. The size of what is quoted changes neither which results come nor their order; a larger one takes nothing away."""
    ann = await memory.key()
    tale = "The zebra runs far over the hills. " * 40
    await memory.remember_all(ann, [f"Number {number}. {tale}" for number in range(6)])
    answers = [await with_policy(memory, context_chars=size).recall(ann, "zebra runs number", limit=4) for size in (50, 420, 900, 2000)]
    ids = [[item["evidence_id"] for item in answer["results"]] for answer in answers]

    assert 4 == len(ids[0]) and [ids[0]] * 4 == ids
    lengths = [[len(text) for text in contexts(answer)] for answer in answers]
    assert all(smaller <= larger for few, more in pairwise(lengths) for smaller, larger in zip(few, more, strict=True))
    assert lengths[0] < lengths[-1]


@pytest.mark.parametrize("field", ["time_cue", "count", "budget", "fusion_weights", "rrf_k", "depth"])
def test_a_caller_declares_beliefs_not_weights(field: str) -> None:
    """Section 2: no field sets a weight, a depth or a budget; one that is not known is refused rather than ignored."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"query": "zebra", field: 1}, RecallRequest)
