"""Wordings as keys, and which definition a key means."""

from __future__ import annotations

import pytest

from commonlore.domain.ledger.predicate import SEEDS, Predicate, predicate_key, resolve


@pytest.mark.parametrize(
    ("wording", "key"),
    [
        ("works on", "works_on"),
        ("Works-On", "works_on"),
        ("  works  --  on!", "works_on"),
        ("works_on", "works_on"),
        ("ｗｏｒｋｓ　ｏｎ", "works_on"),
        ("Straße", "strasse"),
        ("a1 b2", "a1_b2"),
        ("работает над", "работает_над"),
        ("で働く", "で働く"),
    ],
)
def test_a_wording_becomes_a_key(wording: str, key: str) -> None:
    assert key == predicate_key(wording)


@pytest.mark.parametrize("wording", ["", "   ", "___", "1st", "!", "_1", "x" * 129])
def test_a_key_begins_with_a_letter_and_has_at_most_128_characters(wording: str) -> None:
    with pytest.raises(ValueError, match="begins with a letter"):
        predicate_key(wording)


def test_the_key_of_a_key_is_itself() -> None:
    for wording in ("works on", "Straße ẞ", "ŉ x", "İstanbul da", "काम करता है"):
        assert predicate_key(wording) == predicate_key(predicate_key(wording))


def test_vowel_signs_are_letters() -> None:
    """Indic and Thai vowel signs belong to their word: two words that differ in one are two predicates."""
    assert predicate_key("की") != predicate_key("का")
    assert "काम_करता_है" == predicate_key("काम करता है")
    assert "สี_น้ํา" == predicate_key("สี น้ำ")
    assert "क्ष_है" == predicate_key("क्\u200dष है")


def test_marks_without_a_letter_separate() -> None:
    assert "works_on" == predicate_key("works ❤\ufe0f on") == predicate_key("works \u20e3 on")


def test_a_seed_is_met_by_its_alias() -> None:
    assert (SEEDS["uses"], "seed_v1") == resolve("depends_on", {})
    assert (SEEDS["works_on"], "seed_v1") == resolve("works_on", {})


def test_what_is_registered_comes_before_the_seeds() -> None:
    ours = Predicate("works_on", version=3)

    assert (ours, "known") == resolve("works_on", {"works_on": ours})


def test_a_registered_alias_comes_before_a_seed_of_that_name() -> None:
    ours = Predicate("employs", aliases=("works_on",))

    assert (ours, "known") == resolve("works_on", {"employs": ours})


def test_a_key_comes_before_an_alias_and_aliases_go_by_key() -> None:
    first, second, exact = Predicate("a", aliases=("z", "y")), Predicate("b", aliases=("z",)), Predicate("y")

    assert first is resolve("z", {"b": second, "a": first})[0]
    assert exact is resolve("y", {"a": first, "y": exact})[0]


def test_anything_else_is_open_vocabulary() -> None:
    found, policy = resolve("admires", {})

    assert ("admires", "open_vocabulary_v1", "many", "state", ()) == (
        found.key,
        policy,
        found.current_cardinality,
        found.relationship_kind,
        found.object_kinds,
    )
    assert "primary database" == SEEDS["primary_database"].wording


def test_the_seeds_are_those_of_the_page() -> None:
    assert [("one", "state"), ("many", "event")] == [
        (SEEDS[key].current_cardinality, SEEDS[key].relationship_kind) for key in ("primary_database", "released")
    ]
