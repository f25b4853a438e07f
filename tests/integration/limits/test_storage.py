"""How much a team may keep: texts and bytes of the team and of each space, whoever writes, and free again after a count."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.db import ledger
from commonlore.db.storage import KeptCounts
from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of the counts; a test moves them on."""
    at = [1000.0]
    monkeypatch.setattr(ledger, "KEPT", KeptCounts(lambda: at[0]))
    return at


def bound(memory: Memory, holder: Holder, **storage: int) -> None:
    numbers = ", ".join(f'"{name}": {number}' for name, number in storage.items())
    memory.sql("update commonlore.team set limits = %s::text::jsonb where team_id = %s", '{"storage": {' + numbers + "}}", holder.team_id)


async def refused(memory: Memory, holder: Holder, **request: Any) -> dict[str, object]:
    with pytest.raises(CommonloreError) as caught:
        await memory.remember(holder, **request)
    assert "storage_full" == caught.value.code
    return caught.value.details


async def test_a_team_keeps_so_many_texts_over_all_its_spaces(database: TestDatabase, clock: list[float]) -> None:
    """A duplicate takes no room, and a request that goes beyond stores nothing of it."""
    async with Memory.open(database) as memory:
        ann, ben = await memory.key(), await memory.key()
        bound(memory, ann, texts=3)
        await memory.remember(ann, content="One.", target_space="private")
        await memory.remember(ben, content="Two.", target_space="private")
        assert {"limit": "team-texts", "quota": 3, "kept": 2} == await refused(memory, ann, evidence=[{"content": "Three."}, {"content": "Four."}])
        await memory.remember(ann, content="Three.")
        await memory.remember(ann, content="Three.")

        assert {"limit": "team-texts", "quota": 3, "kept": 3} == await refused(memory, ben, content="Four.")
        assert [(3,)] == memory.sql("select count(*) from commonlore.evidence")
        assert 1 == len((await memory.recall(ben, "Two"))["results"][:1])


async def test_a_space_keeps_so_many_bytes_of_utf8(database: TestDatabase, clock: list[float]) -> None:
    async with Memory.open(database) as memory:
        ann = await memory.key()
        bound(memory, ann, space_bytes=10)
        await memory.remember(ann, content="äöüß")

        assert {"limit": "space-bytes", "quota": 10, "kept": 8} == await refused(memory, ann, content="abc")
        await memory.remember(ann, content="abc", target_space="private")
        await memory.remember(ann, content="ab")


async def test_what_others_stored_and_what_was_erased_is_seen_at_the_next_count(database: TestDatabase, clock: list[float]) -> None:
    async with Memory.open(database) as memory:
        ann = await memory.key()
        bound(memory, ann, texts=2)
        await memory.remember(ann, content="One.")
        memory.sql("alter table commonlore.evidence disable trigger all")
        memory.sql("delete from commonlore.evidence")
        await memory.remember(ann, content="Two.")
        await refused(memory, ann, content="Three.")

        clock[0] += 10.0
        await memory.remember(ann, content="Three.")


async def test_another_team_is_not_counted(database: TestDatabase, clock: list[float]) -> None:
    async with Memory.open(database) as memory:
        ann, bob = await memory.key("atlas"), await memory.key("borea")
        bound(memory, ann, texts=1, space_texts=1)
        for number in range(3):
            await memory.remember(bob, content=f"Text {number}.")
        await memory.remember(ann, content="One.")

        assert {"limit": "space-texts", "quota": 1, "kept": 1} == await refused(memory, ann, content="Two.")
