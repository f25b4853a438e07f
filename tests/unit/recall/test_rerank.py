"""The last order among the best results."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commonlore.domain.recall.hints import parse_hints
from commonlore.domain.recall.rerank import Ranked, rerank

JANUARY = datetime(2025, 1, 8, 9, tzinfo=UTC)
APRIL = JANUARY + timedelta(days=90)
NONE = parse_hints("What voice part has Theresa Bronn performed?", None)
OLD = Ranked("Theresa Bronn has performed as a soprano soloist in various concerts.", None, "initial", JANUARY)
NEW = Ranked("Theresa Bronn has performed as a bass soloist in various concerts.", None, "update", APRIL)
OTHER = Ranked("The harvest of cherries was late this year.", None, "else", APRIL)


def test_of_two_states_of_one_thing_the_later_goes_first() -> None:
    found = rerank([OLD, OTHER, NEW], NONE, None)

    assert (2, 0, 1) == found.order
    assert [(2, "said_later", 2, 0)] == [(moved.item, moved.move, moved.before, moved.after) for moved in found.moves]


def test_a_later_one_that_is_first_stays() -> None:
    assert (0, 1) == rerank([NEW, OLD], NONE, None).order


def test_what_was_said_at_the_same_instant_keeps_its_order() -> None:
    assert (0, 1) == rerank([OLD, replace(NEW, occurred_at=JANUARY)], NONE, None).order


def test_texts_of_one_session_keep_their_order_beside_another_session() -> None:
    assert (0, 1, 2) == rerank([OLD, replace(NEW, session="initial"), OTHER], NONE, None).order


def test_texts_about_other_things_keep_their_order() -> None:
    assert (0, 1) == rerank([OLD, OTHER], NONE, None).order


@pytest.mark.parametrize("query", ["What voice part did she used to sing?", "她以前唱什么声部"])
def test_a_query_for_the_earlier_state_turns_it_around(query: str) -> None:
    assert (1, 0) == rerank([NEW, OLD], parse_hints(query, None), None).order


def test_what_was_said_after_the_view_goes_last() -> None:
    """A view at a moment before the update returns the old one first."""
    assert (1, 0) == rerank([NEW, OLD], NONE, JANUARY + timedelta(days=1)).order


def test_a_named_time_decides_before_the_later_one() -> None:
    assert (1, 0) == rerank([NEW, OLD], parse_hints("What did she sing in January 2025?", None), None).order


@pytest.mark.parametrize(
    "change",
    [
        {"occurred_at": None},
        {"session": "initial"},
        {"speaker": "Ada"},
        {"text": "Has Theresa Bronn performed as a bass soloist in various concerts?"},
    ],
    ids=["no time", "same session", "another speaker", "a question"],
)
def test_what_is_no_second_state(change: dict[str, object]) -> None:
    assert (0, 1) == rerank([OLD, replace(NEW, **change)], NONE, None).order  # type: ignore[arg-type]


def test_turns_of_a_talk_change_places_only_where_a_state_is_asked_for() -> None:
    talk = [replace(OLD, speaker="Theresa"), replace(NEW, speaker="Theresa")]

    assert [(0, 1), (1, 0)] == [rerank(talk, parse_hints(query, None), None).order for query in ("What does she sing?", "What does she sing now?")]


def test_a_named_year_lifts_by_three_places() -> None:
    block = [replace(OTHER, text=f"something else {number}", occurred_at=None) for number in range(5)]
    block[4] = replace(block[4], text="She worked in Tucson in 2004.")
    found = rerank(block, parse_hints("Where did she work from 2004 to 2005?", None), None)

    assert (0, 4, 1, 2, 3) == found.order
    assert [("named_year", 4, 1)] == [(moved.move, moved.before, moved.after) for moved in found.moves]


def test_a_longer_number_is_no_year() -> None:
    block = [replace(OTHER, text=text, occurred_at=None) for text in ("nothing", "part 120045, version 1.2004")]

    assert (0, 1) == rerank(block, parse_hints("in 2004", None), None).order


def test_spaces_keep_their_places() -> None:
    """A private result never gives its place to a shared one, whatever was said later."""
    block = [OLD, replace(OLD, space=1), replace(NEW, space=1), NEW]

    assert (3, 2, 1, 0) == rerank(block, NONE, None).order


@pytest.mark.parametrize(
    ("old", "new"), [("我住在上海浦东新区的公寓里", "我住在北京朝阳新区的公寓里"), ("она живёт в старом доме", "она живёт в новом доме")]
)
def test_scripts_without_spaces_and_other_alphabets_are_compared(old: str, new: str) -> None:
    assert (1, 0) == rerank([replace(OLD, text=old), replace(NEW, text=new)], parse_hints("?", None), None).order


def test_nothing_is_ordered_as_nothing() -> None:
    assert ((), ()) == (rerank([], NONE, None).order, rerank([], NONE, None).moves)
