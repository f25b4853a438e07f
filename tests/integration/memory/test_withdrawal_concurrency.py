"""Withdrawals at once, against each other and against writers. What is cut off inside one is in `test_cut_off.py`."""

from __future__ import annotations

import asyncio
import random

from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.ledger_checks import mismatches
from tests.support.memory import Holder, Memory, a_relationship, contexts

WORKS = a_relationship("Mark", "works_on", "Atlas")


async def test_one_retraction_at_once_is_written_once(database: TestDatabase) -> None:
    """Eight calls with one key are one answer; eight with keys of their own retract once and say the rest."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        first, second = [
            (await memory.remember(ann, content=f"Mark works on Atlas, {number}.", relationships=[WORKS]))["evidence"][0]["evidence_id"]
            for number in range(2)
        ]

        same = await asyncio.gather(*(memory.retract(ann, first, idempotency_key="k") for _ in range(8)))
        apart = await asyncio.gather(*(memory.retract(ann, second) for _ in range(8)))

        assert 1 == len({answer["submission_id"] for answer in same})
        assert ["already_retracted"] * 7 + ["retracted"] == sorted(answer["evidence"][0]["disposition"] for answer in apart)
        assert [(2, 2, 2)] == memory.sql(
            "select (select count(*) from commonlore.evidence_lifecycle_event), (select count(*) from commonlore.evidence_exclusion where reason = 'retracted'), "
            "(select count(*) from commonlore.support_decision_event where decision = 'revoke')"
        )
        assert [] == mismatches(memory)


async def test_retractions_in_opposite_orders_all_end(database: TestDatabase) -> None:
    """Over both spaces, with writers who cite the same texts and say them anew: nobody waits for one who waits for them."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key(member="ann", binding="profile_private")
        others = [await memory.key(member="ann", binding="profile_private") for _ in range(3)]
        draw = random.Random(5)

        async def write(holder: Holder, number: int) -> None:
            for turn in range(4):
                ids = []
                for space in ("private", "team_shared") if turn % 2 else ("team_shared", "private"):
                    answer = await memory.remember(
                        holder,
                        evidence=[{"content": "Mark works on Atlas."}, {"content": f"Mark works on Atlas: {number}, {turn}."}],
                        relationships=[{**WORKS, "evidence_indices": [0, 1]}],
                        target_space=space,
                    )
                    ids += [item["evidence_id"] for item in answer["evidence"]]
                draw.shuffle(ids)
                await memory.retract(holder, *ids)

        await asyncio.wait_for(asyncio.gather(*(write(holder, number) for number, holder in enumerate([ann, *others]))), 60)

        assert [] == mismatches(memory)
        assert [] == contexts(await memory.recall(ann, "Mark Atlas"))
        assert [(0,)] == memory.sql(
            "select count(*) from (select evidence_id from commonlore.evidence_lifecycle_event group by evidence_id having count(*) > 1) d"
        )


async def test_retraction_against_writers_who_cite_the_text(database: TestDatabase) -> None:
    """Whoever comes first: no statement counts by a text that was taken back."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        writers = [await memory.key() for _ in range(3)]
        for number in range(8):
            text = f"Mark works on Atlas, said {number} times."
            evidence_id = (await memory.remember(ann, content=text, relationships=[WORKS]))["evidence"][0]["evidence_id"]
            cites = {**WORKS, "evidence_indices": [], "known_evidence_ids": [evidence_id]}
            await asyncio.gather(
                memory.retract(ann, evidence_id),
                *(memory.remember(writer, content="See there.", relationships=[cites]) for writer in writers),
                memory.remember(ann, content=text, relationships=[WORKS]),
            )
            assert [] == mismatches(memory)
        shown = [context for context in contexts(await memory.recall(ann, "Mark Atlas", limit=50)) if context.startswith("Mark works")]
    assert len(shown) == len(set(shown)) <= 8


async def test_one_revision_of_many_at_once_wins(database: TestDatabase) -> None:
    """Compare and set: one of eight writers moves the source on, the others are told that it moved."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember(ann, content="Old.", source_key="page", source_revision="1")

        async def revise(number: int) -> str:
            try:
                await memory.remember(ann, content=f"New {number}.", source_key="page", source_revision=f"r{number}", previous_source_revision="1")
            except CommonloreError as error:
                return error.code
            return "stored"

        told = await asyncio.gather(*(revise(number) for number in range(8)))

        assert ["stale_input"] * 7 + ["stored"] == sorted(told)
        assert 1 == len(contexts(await memory.recall(ann, "new old", limit=50)))


async def test_a_text_joins_the_revision_that_is_current_when_it_is_stored(database: TestDatabase) -> None:
    """A text of the old revision is stored before the source moves on and goes with it, or is refused."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember(ann, content="Start.", source_key="page", source_revision="1")
        for turn in range(1, 6):
            adds = (memory.remember(ann, content=f"Text {turn} {n}.", source_key="page", source_revision=str(turn)) for n in range(5))
            move = memory.remember(
                ann, content=f"Moved {turn}.", source_key="page", source_revision=str(turn + 1), previous_source_revision=str(turn)
            )
            await asyncio.gather(*adds, move, return_exceptions=True)

        assert [(0,)] == memory.sql(
            "select count(*) from commonlore.evidence e join commonlore.evidence_source s using (team_id, space_epoch, source_id) "
            "where (e.revision_id <> s.current_revision_id) <> exists (select from commonlore.evidence_exclusion x "
            "where x.evidence_id = e.evidence_id and x.reason = 'source_revised')"
        )
