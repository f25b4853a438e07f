"""Postings in differences and in blocks: a search finds the same whatever was folded, to the byte of every score."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import UUID

import pytest

from commonlore.db import postings
from commonlore.db.postings import remove_parts
from commonlore.db.session import TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.statements import OPEN_FRONTIER
from commonlore.domain.projection.posting import count_terms
from commonlore.domain.recall.lexical import LexicalStatistics, weigh
from tests.support.folding import folding
from tests.support.memory import Holder, Memory, contexts, shown
from tests.support.postings import DOCUMENT_POSTINGS, PART_POSTINGS

WORDS = [f"w{chr(97 + number)}x" for number in range(26)]
K1, B = 1.2, 0.4


def forms(memory: Memory) -> tuple[int, int]:
    """Rows of blocks and of differences, of both frontiers."""
    rows = memory.sql(
        "select (select count(*) from commonlore.evidence_posting) + (select count(*) from commonlore.relationship_posting), "
        "(select count(*) from commonlore.evidence_posting_difference) + (select count(*) from commonlore.relationship_posting_difference)"
    )
    return rows[0]  # type: ignore[return-value]


def some_text(chooser: random.Random) -> str:
    return " ".join(chooser.choices(WORDS, weights=range(26, 0, -1), k=chooser.randrange(1, 30)))


async def searched(memory: Memory, holder: Holder, terms: list[str]) -> list[tuple[Any, ...]]:
    """What the statement of the lexical branch finds: ids, parts and scores."""
    epoch = memory.sql("select space_epoch from commonlore.space where team_id = %s and space_kind = 'team_shared'", holder.team_id)[0][0]
    texts = dict(memory.sql("select evidence_id, content from commonlore.evidence where space_epoch = %s", epoch))
    counted = [count_terms(text) for text in texts.values()]
    found = LexicalStatistics(
        len(counted), sum(item.length for item in counted), {term: sum(term in item.frequencies for item in counted) for term in terms}
    )
    chosen = weigh(terms, found, postings_budget=20_000)
    async with team_transaction(memory.adapters.pool, holder.team_id, timeout_ms=10_000) as transaction:
        await transaction.connection.execute("select set_config('commonlore.space_epoch', %s, true)", (str(epoch),))
        transaction.space_epoch = epoch
        cursor = await transaction.execute_tuples(
            OPEN_FRONTIER["evidence_lexical"],
            terms=list(chosen.terms),
            weights=[weight * (K1 + 1) for weight in chosen.weights],
            average_length=found.average_length,
            k1=K1,
            b=B,
            depth=1000,
        )
        return await cursor.fetchall()


def computed(memory: Memory, holder: Holder, terms: list[str]) -> list[tuple[Any, ...]]:
    """The same by the page's formula, from the texts of one part each."""
    texts = dict(memory.sql("select evidence_id, content from commonlore.evidence where team_id = %s", holder.team_id))
    counted = {key: count_terms(text) for key, text in texts.items()}
    found = LexicalStatistics(
        len(counted), sum(item.length for item in counted.values()), {t: sum(t in item.frequencies for item in counted.values()) for t in terms}
    )
    chosen = weigh(terms, found, postings_budget=20_000)
    scores: dict[UUID, int] = {}
    for key, item in counted.items():
        for term, weight in zip(chosen.terms, chosen.weights, strict=True):
            if frequency := item.frequencies.get(term):
                score = weight * (K1 + 1) * 10_000_000 * frequency / (frequency + K1 * (1 - B + B * item.length / found.average_length))
                scores[key] = scores.get(key, 0) + round(score)
    return sorted(((key, 0, float(score)) for key, score in scores.items()), key=lambda row: (-row[2], row[0]))


async def test_scores_are_those_of_the_formula_whatever_was_folded(memory: Memory) -> None:
    chooser = random.Random(7)
    ann = await memory.key()
    async with folding(memory, ann) as space:
        for turn in range(6):
            for _ in range(chooser.randrange(1, 4)):
                await memory.remember_all(ann, [some_text(chooser) + f" n{turn} {chooser.random()}" for _ in range(chooser.randrange(1, 20))])
            for terms in (["wax"], ["wax", "wzx"], chooser.sample(WORDS, 5)):
                assert computed(memory, ann, terms) == await searched(memory, ann, terms)
            if turn in (1, 3):
                await space.fold()

    assert min(forms(memory)) > 0


async def test_a_recall_is_the_same_before_and_after_folding(memory: Memory) -> None:
    """Both frontiers, a replaced document among them."""
    ann = await memory.key()
    for name in ("Uma", "Vic", "Wes", "Zoe"):
        await memory.relate(ann, f"{name} likes zebra.", name, "likes", "zebra")
    async with folding(memory, ann) as space:
        await space.fold()
        await memory.relate(ann, "Uma likes zebra until July.", "Uma", "likes", "zebra", valid_to="2026-07-31T00:00:00Z")
        await memory.relate(ann, "Vic likes quagga.", "Vic", "likes", "quagga")
        queries = ("zebra", "Uma zebra", "valid_to", "likes quagga", "positive")
        before = [shown(await memory.recall(ann, query, limit=2, relationship_limit=20)) for query in queries]
        half = (memory.sql(f"select term, relationship_id, code from {DOCUMENT_POSTINGS} order by 1, 2"), forms(memory)[1])
        await space.fold()
        after = [shown(await memory.recall(ann, query, limit=2, relationship_limit=20)) for query in queries]

    assert before == after
    assert half[0] == memory.sql(f"select term, relationship_id, code from {DOCUMENT_POSTINGS} order by 1, 2")
    assert half[1] > 0 == forms(memory)[1]
    assert [(5, 5)] == memory.sql(
        "select (select count(*) from commonlore.relationship_document), (select sum(documents)::int from commonlore.relationship_statistic)"
    )


async def test_blocks_are_filled_up_and_no_fuller_than_they_may_be(memory: Memory) -> None:
    ann = await memory.key()
    async with folding(memory, ann) as space:
        for turn in range(12):
            await memory.remember_all(ann, [f"Zebra {turn} {number}." for number in range(15)])
            await space.fold()

    sizes = [size for (size,) in memory.sql("select entries from commonlore.evidence_posting where term = 'zebra' order by block_no")]
    assert (180, 3, True) == (sum(sizes), len(sizes), all(size <= 64 for size in sizes))
    assert [(True,)] == memory.sql(
        "select bool_and(entries = cardinality(codes) and entries = cardinality(evidence_ids)) from commonlore.evidence_posting"
    )


async def test_a_text_of_many_parts_goes_into_blocks_at_once(memory: Memory) -> None:
    """And is found as before by its words, with the part that has them."""
    ann = await memory.key()
    text = "\n\n".join(f"Part {number} tells of word{number} and of zebras, at some length. " * 5 for number in range(100))
    await memory.remember(ann, content=text)
    answer = await memory.recall(ann, "word77 zebras")

    assert (True, 0) == (forms(memory)[0] > 100, forms(memory)[1])
    assert "word77 and of zebras" in contexts(answer)[0]
    assert memory.sql("select count(*) from commonlore.evidence_part") == memory.sql(f"select count(*) from {PART_POSTINGS} where term = 'zebra'")


async def test_what_a_folding_that_is_cut_off_did_is_undone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = await memory.key()
    for name in ("Uma", "Vic"):
        await memory.relate(ann, f"{name} likes zebra.", name, "likes", "zebra")
    before = memory.sql(f"select term, evidence_id, code from {PART_POSTINGS} order by 1, 2"), forms(memory)

    def cut_off(_: object) -> None:
        raise asyncio.CancelledError

    async with folding(memory, ann) as space:
        with monkeypatch.context() as patched:
            patched.setattr(postings, "net", cut_off)
            with pytest.raises(asyncio.CancelledError):
                await space.fold()
        assert before == (memory.sql(f"select term, evidence_id, code from {PART_POSTINGS} order by 1, 2"), forms(memory))
        await space.fold()

    assert (before[0], 0) == (memory.sql(f"select term, evidence_id, code from {PART_POSTINGS} order by 1, 2"), forms(memory)[1])


async def test_nothing_is_left_of_parts_that_are_taken_out(memory: Memory) -> None:
    """For an erasure: out of blocks and differences, terms that nothing else has included."""
    ann = await memory.key()
    kept = ["Zebra one.", "Quagga two."]
    await memory.remember_all(ann, [*kept, "Zebra secretword."])
    async with folding(memory, ann) as space:
        await space.fold()
        await memory.remember_all(ann, ["Quagga otherword.", "Quagga three."])
        gone = [key for (key,) in memory.sql("select evidence_id from commonlore.evidence where content like '%%word.'")]
        async with team_transaction(space.pool, ann.team_id, timeout_ms=10_000) as transaction:
            await _opened(transaction, space.space_id)
            await transaction.execute(statements("folding")["wait_for_folding"])
            await remove_parts(transaction, gone)

    assert 2 == len(gone)
    assert [] == memory.sql(f"select term from {PART_POSTINGS} where evidence_id = any(%s::uuid[])", gone)
    assert [] == memory.sql("select term from commonlore.evidence_posting where term like '%%word' or entries = 0")
    assert ["Zebra one."] == contexts(await memory.recall(ann, "zebra", limit=1))
    assert [(2, 2)] == memory.sql(
        f"select (select count(*) from {PART_POSTINGS} where term = 'quagga'), (select sum(entries) from commonlore.evidence_posting where term = 'quagga')::int"
    )


async def _opened(transaction: TeamTransaction, space_id: UUID) -> None:
    rows = await (await transaction.execute(statements("worker")["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    await transaction.enter(space_id)


async def test_a_write_asks_for_folding_when_many_differences_wait(memory: Memory) -> None:
    ann = await memory.key()
    memory.sql("truncate procrastinate.procrastinate_jobs cascade")
    for number in range(postings.FOLD_FROM):
        await memory.remember(ann, content=f"Zebra {number}.")
    before = memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'fold_statistics'")
    for number in range(postings.FOLD_FROM, postings.FOLD_FROM + 10):
        await memory.remember(ann, content=f"Zebra {number}.")

    assert ([(0,)], [(1,)]) == (before, memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'fold_statistics'"))
