"""What counts as an echo of a recalled text."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.ledger.echo import LONG_RUN, RUN, Recalled, find_echo, find_echoes, runs_of

SOURCE = "Ada moved the Orion project to Lisbon in July because the harbour office there was cheaper than the one in Porto."
ONE, TWO = UUID(int=1), UUID(int=2)


def recalled(text: str = SOURCE, key: UUID = ONE, *, target: bool = True) -> Recalled:
    return Recalled(key, f"group {key.int}", target, frozenset(runs_of(text)))


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        SOURCE.upper(),
        "As I recall: " + SOURCE,
        "I found this in memory. Ada moved the Orion project to Lisbon in July, because the harbour office there was cheaper. What now?",
        SOURCE.replace("Orion", "Ori\u200bon"),
        "".join(chr(ord(letter) + 0xFEE0) if letter.isalpha() else letter for letter in SOURCE),
        "> Ada moved the **Orion** project to Lisbon in _July_",
        "Filler words come first. " * 40 + " ".join(SOURCE.split()[:LONG_RUN]) + " And more filler follows." * 40,
    ],
    ids=["the same", "capitals", "introduced", "among others", "zero width", "full width", "markup", "a long run"],
)
def test_a_quotation_is_an_echo(text: str) -> None:
    echo = find_echo(runs_of(text), [recalled()])

    assert echo is not None
    assert ((ONE,), ONE, "group 1") == (echo.evidence_ids, echo.kept_id, echo.source_group_key)


@pytest.mark.parametrize(
    "text",
    [
        "Orion went to Lisbon.",
        "The Orion project is in Lisbon now, and Ada likes the new harbour office.",
        "Porto is cheaper than Lisbon in July.",
        "Filler words come first. " * 40 + " ".join(SOURCE.split()[: LONG_RUN - 2]) + " And more filler follows." * 40,
        "Yes.",
        "👍",
    ],
    ids=["own words", "the same subject", "words in another order", "a short run in a long text", "a word", "no word"],
)
def test_own_words_are_no_echo(text: str) -> None:
    """A statement of the same thing in other words may well be independent."""
    assert find_echo(runs_of(text), [recalled()]) is None


def test_scripts_without_spaces_are_compared_by_character() -> None:
    source = recalled("猎户座项目七月搬到了里斯本，因为那里的办公室更便宜。")

    assert find_echo(runs_of("我记得：猎户座项目七月搬到了里斯本"), [source]) is not None
    assert find_echo(runs_of("里斯本的天气很好，项目进展顺利。"), [source]) is None


def test_the_nearest_comes_first_and_ties_go_by_id() -> None:
    echo = find_echo(runs_of(SOURCE), [recalled(SOURCE + " It rained a lot that week in the north.", TWO), recalled(SOURCE, ONE)])

    assert echo is not None and (ONE, TWO) == echo.evidence_ids


def test_nothing_of_another_space_is_kept() -> None:
    """Neither id nor source; the same text again has the same key, so that it counts once."""
    first, again = (find_echo(runs_of(SOURCE), [recalled(target=False)]) for _ in range(2))

    assert first is not None and again is not None and first.kept_id is None
    assert first.source_group_key == again.source_group_key
    assert "group 1" not in first.source_group_key and str(ONE) not in first.source_group_key


def test_without_recalls_nothing_is_compared() -> None:
    assert {} == find_echoes([runs_of(SOURCE)], [])
    assert [1] == list(find_echoes([runs_of("Other words of mine here."), runs_of(SOURCE)], [recalled()]))


@given(st.lists(st.sampled_from("abcdefgh"), min_size=0, max_size=40).map(" ".join))
def test_every_text_of_enough_words_is_an_echo_of_itself(text: str) -> None:
    """And of a text that holds it whole; a shorter one is an echo of nothing."""
    runs = runs_of(text)

    assert (len(text.split()) >= RUN) == (find_echo(runs, [recalled(text)]) is not None)
    assert len(text.split()) < RUN or find_echo(runs, [recalled(f"x y z {text} u v w")]) is not None


@given(st.text(max_size=200))
def test_any_text_has_runs(text: str) -> None:
    """Lone marks, control characters and every script are taken; the numbers fit the database's."""
    assert all(-(2**63) <= run < 2**63 for run in runs_of(text))
