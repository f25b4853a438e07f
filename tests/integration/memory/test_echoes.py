"""A text that quotes a recall back is said to be an echo, and makes nothing more certain."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from commonlore.db import echoes
from commonlore.domain.ledger.echo import RETENTION_S, runs_of
from tests.support.memory import Holder, Memory, a_relationship, contexts

SAID = "Mark works on Atlas since the first day of June."
WORKS = a_relationship("Mark", "works_on", "Atlas")
COUNTS = "select support_count, source_group_count from commonlore.relationship order by known_from, relationship_id"


async def recalled_by(memory: Memory, holder: Holder, text: str = SAID, **fields: Any) -> str:
    """A text of another source that the holder has just recalled; its id."""
    author = await memory.key(member="Ada")
    answer = await memory.remember(author, content=text, source="minutes", **fields)
    found = await memory.recall(holder, text)
    assert found["results"]
    return str(answer["evidence"][0]["evidence_id"])


async def test_a_quotation_of_a_recall_is_flagged_and_stored(memory: Memory) -> None:
    ben = await memory.key(member="Ben")
    source = await recalled_by(memory, ben)

    echo = (await memory.remember(ben, content=f"I recall that {SAID}"))["evidence"][0]
    other = (await memory.remember(ben, content="Mark likes the harbour at night."))["evidence"][0]

    assert ("stored", [source], False) == (echo["disposition"], echo["echo_of"], "echo_of" in other)
    assert [(source, "minutes")] == memory.sql("select echoed_evidence_id::text, source_group_key from commonlore.evidence_echo")
    assert f"I recall that {SAID}" in contexts(await memory.recall(ben, "Mark Atlas June"))


async def test_without_a_recall_the_same_words_are_no_echo(memory: Memory) -> None:
    ada, ben = await memory.key(member="Ada"), await memory.key(member="Ben")
    await memory.remember(ada, content=SAID)

    assert "echo_of" not in (await memory.remember(ben, content=SAID))["evidence"][0]


async def test_an_echo_is_no_independent_support(memory: Memory) -> None:
    """One author reads a text and repeats it: two texts, one source. Said without having been recalled they are two."""
    ada = await memory.key(member="Ada")
    await memory.remember(ada, content=SAID, source="minutes", relationships=[WORKS])
    await memory.recall(ada, SAID)
    await memory.remember(ada, content=f"From memory: {SAID}", source="notes", relationships=[WORKS])
    assert [(2, 1)] == memory.sql(COUNTS)

    await memory.remember(ada, content="At the desk of Atlas sits Mark.", source="letters", relationships=[WORKS])
    assert [(3, 2)] == memory.sql(COUNTS)


async def test_an_echo_that_is_cited_later_still_counts_as_its_source(memory: Memory) -> None:
    ada = await memory.key(member="Ada")
    await memory.remember(ada, content=SAID, source="minutes", relationships=[WORKS])
    await memory.recall(ada, SAID)
    echo = (await memory.remember(ada, content=f"From memory: {SAID}", source="notes"))["evidence"][0]["evidence_id"]

    cited = {**WORKS, "evidence_indices": [], "known_evidence_ids": [echo]}
    await memory.remember(ada, content="See there.", relationships=[cited])

    assert [(2, 1)] == memory.sql(COUNTS)


async def test_an_event_of_a_session_may_be_an_echo(memory: Memory) -> None:
    ben = await memory.key(member="Ben")
    source = await recalled_by(memory, ben)

    answer = await memory.ingest(ben, "What do you know?", f"You told me: {SAID}")

    assert [None, [source]] == [event.get("echo_of") for event in answer["events"]]


async def test_an_echo_of_a_private_text_leaves_no_trace_of_it(memory: Memory) -> None:
    """Whoever wrote it is told; what is kept in the shared space names neither the text nor its source."""
    ada = await memory.key(member="Ada")
    private = (await memory.remember(ada, content=SAID, source="diary", target_space="private"))["evidence"][0]["evidence_id"]
    await memory.recall(ada, SAID)

    echo = (await memory.remember(ada, content=f"I heard that {SAID}"))["evidence"][0]

    assert [private] == echo["echo_of"]
    [(kept, group)] = memory.sql("select echoed_evidence_id, source_group_key from commonlore.evidence_echo")
    assert kept is None and "diary" not in group and private not in group


async def test_what_another_member_reads_privately_makes_no_echo(memory: Memory) -> None:
    """The private texts of one member are compared with nothing that another stores: an answer would tell of them."""
    ada, ben = await memory.key(member="Ada"), await memory.key(member="Ben")
    await memory.remember(ada, content=SAID, target_space="private")
    await memory.recall(ada, SAID)

    assert "echo_of" not in (await memory.remember(ben, content=SAID))["evidence"][0]


async def test_another_process_learns_of_recalls_by_the_next_batch(memory: Memory) -> None:
    """Ids alone are kept; after a day they are forgotten, and the next batch takes them away."""
    ben = await memory.key(member="Ben")
    source = await recalled_by(memory, ben)
    other = memory.with_timeout(20_000)
    assert "echo_of" not in (await other.remember(ben, content=f"One: {SAID}"))["evidence"][0]

    await memory.operations.flush_recalls()

    assert [(source,)] == memory.sql("select evidence_id::text from commonlore.recalled_evidence")
    assert [source] == (await other.remember(ben, content=f"Two: {SAID}"))["evidence"][0]["echo_of"]
    memory.clock.advance(seconds=RETENTION_S + 60)
    assert "echo_of" not in (await other.remember(ben, content=f"Three: {SAID}"))["evidence"][0]
    found = await memory.recall(ben, "pelican " + SAID, limit=1)
    await memory.operations.flush_recalls()
    assert [(found["results"][0]["evidence_id"],)] == memory.sql("select evidence_id::text from commonlore.recalled_evidence")


async def test_a_recall_writes_nothing(memory: Memory) -> None:
    """Noting what was recalled takes no statement: it waits in memory for the next batch."""
    ben = await memory.key(member="Ben")
    await recalled_by(memory, ben)

    for _ in range(3):
        await memory.recall(ben, SAID)

    assert [(0,)] == memory.sql("select count(*) from commonlore.recalled_evidence")


async def test_a_repeated_call_says_so_again(memory: Memory) -> None:
    """Under its key the first answer comes back; a later sighting of the same text is no new text and no echo."""
    ben = await memory.key(member="Ben")
    source = await recalled_by(memory, ben)
    first = await memory.remember(ben, content=f"I recall: {SAID}", idempotency_key="one")

    assert first == await memory.remember(ben, content=f"I recall: {SAID}", idempotency_key="one")
    again = (await memory.remember(ben, content=f"I recall: {SAID}"))["evidence"][0]
    assert ([source], "duplicate_occurrence", False) == (first["evidence"][0]["echo_of"], again["reason"], "echo_of" in again)


async def test_texts_are_compared_away_from_the_loop_and_from_any_transaction(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ben = await memory.key(member="Ben")
    source = await recalled_by(memory, ben)
    held: list[bool] = []

    def observed(text: str) -> list[int]:
        stats = memory.adapters.pool.get_stats()
        held.append(stats["pool_available"] < stats["pool_size"] or threading.current_thread() is threading.main_thread())
        return runs_of(text)

    monkeypatch.setattr(echoes, "runs_of", observed)

    assert [source] == (await memory.remember(ben, content=f"Once more: {SAID}"))["evidence"][0]["echo_of"]
    assert [False] == held


async def test_what_is_kept_in_memory_changes_no_answer(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for the runs of one text alone, each recalled text is found again and again."""
    monkeypatch.setattr(echoes, "_MOST_KNOWN", 1)
    ada = await memory.key(member="Ada")
    texts = (SAID, "Mark sold the old mill of Atlas in a week of rain.")
    ids = [(await memory.remember(ada, content=text))["evidence"][0]["evidence_id"] for text in texts]
    assert set(texts) == set(contexts(await memory.recall(ada, "Mark Atlas")))

    for number in range(2):
        for key, text in zip(ids, texts, strict=True):
            assert [key] == (await memory.remember(ada, content=f"Number {number}: {text}"))["evidence"][0]["echo_of"]
