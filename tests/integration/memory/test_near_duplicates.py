"""Texts that say nearly the same are shown in pairs, and nothing is done to them."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from commonlore.api.administration import TeamAdministration
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ledger.echo import runs_of
from commonlore.domain.quality import near_duplicates
from commonlore.domain.quality.near_duplicates import ListNearDuplicatesRequest, similarity_percent
from tests.support.ledger_checks import Fingerprint
from tests.support.memory import Holder, Memory

LONG = "The harbour office in Lisbon opens at nine and closes at noon on every working day of the year"
TEXTS = (f"{LONG}.", f"{LONG}!", f"{LONG}, except on Fridays.", "A heron sleeps on one leg at the old mill.", "Mark works on Atlas since June.")


async def near(memory: Memory, holder: Holder, **fields: Any) -> dict[str, Any]:
    request = msgspec.convert(fields, ListNearDuplicatesRequest)
    return dict(await TeamAdministration(memory.adapters, lambda _: None).list_near_duplicates(holder.key, request, correlation_id="test"))


async def test_pairs_are_shown_once_with_how_alike_they_are(memory: Memory) -> None:
    admin = await memory.key(scopes=("read", "write", "admin"))
    ids = [(await memory.remember(admin, content=text))["evidence"][0]["evidence_id"] for text in TEXTS]
    state = Fingerprint(memory.database.admin_conninfo)
    before = state()

    found = await near(memory, admin)

    assert {frozenset(ids[:2]), frozenset((ids[0], ids[2])), frozenset(ids[1:3])} == {
        frozenset((pair["evidence_id"], pair["other_evidence_id"])) for pair in found["pairs"]
    }
    assert 3 == len(found["pairs"]) and all(pair["evidence_id"] < pair["other_evidence_id"] for pair in found["pairs"])
    assert (5, None, found) == (found["looked_at"], found["next_cursor"], await near(memory, admin))
    assert before == state()
    state.close()


async def test_pages_together_are_the_whole(memory: Memory) -> None:
    """Whatever their size; a pair is on the page of its earlier text."""
    admin = await memory.key(scopes=("read", "write", "admin"))
    await memory.remember_all(admin, TEXTS)
    whole = (await near(memory, admin))["pairs"]

    pairs, cursor = [], {}
    for _ in range(5):
        page = await near(memory, admin, limit=1, **cursor)
        pairs += page["pairs"]
        cursor = {"cursor": page["next_cursor"]}

    assert whole == pairs and page["next_cursor"] is None


async def test_withdrawn_texts_and_those_of_other_spaces_are_left_out(memory: Memory) -> None:
    admin = await memory.key(scopes=("read", "write", "admin"))
    ids = await memory.remember_all(admin, TEXTS[:2])
    await memory.remember(admin, content=TEXTS[2], target_space="private")
    assert 1 == len((await near(memory, admin))["pairs"])

    await memory.retract(admin, ids[0])

    assert [] == (await near(memory, admin))["pairs"]
    assert [] == (await near(memory, admin, target_space="private"))["pairs"]


async def test_only_an_administrator_asks_and_only_with_a_cursor_of_the_list(memory: Memory) -> None:
    admin, ben = await memory.key(scopes=("read", "admin")), await memory.key()

    for holder, fields, code in ((ben, {}, "unauthorized_scope"), (admin, {"cursor": "x"}, "invalid_input")):
        with pytest.raises(CommonloreError) as caught:
            await near(memory, holder, **fields)
        assert code == caught.value.code


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        (LONG, LONG, 100, 100),
        (LONG, LONG.upper(), 100, 100),
        (LONG, LONG + " and Sunday", 80, 99),
        (LONG, TEXTS[3], 0, 0),
        ("Yes.", "yes.", 100, 100),
        ("Yes.", "No.", 0, 0),
    ],
)
def test_likeness_is_the_share_of_common_runs(one: str, other: str, low: int, high: int) -> None:
    assert low <= similarity_percent(one, other) <= high
    assert similarity_percent(one, other) == similarity_percent(other, one)


async def test_texts_are_compared_away_from_the_loop_and_from_any_transaction(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each is taken to pieces once, however many pairs it is in."""
    admin = await memory.key(scopes=("read", "write", "admin"))
    await memory.remember_all(admin, TEXTS)
    held: list[bool] = []

    def observed(text: str) -> list[int]:
        stats = memory.adapters.pool.get_stats()
        held.append(stats["pool_available"] < stats["pool_size"] or threading.current_thread() is threading.main_thread())
        return runs_of(text)

    monkeypatch.setattr(near_duplicates, "runs_of", observed)

    assert 3 == len((await near(memory, admin))["pairs"])
    assert [False] * len(TEXTS) == held
