"""What a query says beside its words."""

from __future__ import annotations

import pytest

from commonlore.domain.recall.hints import Anchor, parse_hints


def test_a_query_without_hints_has_none() -> None:
    found = parse_hints("plain words only here", None)

    assert ((), (), (), (), (), frozenset(), None, False) == (
        found.names,
        found.aliases,
        found.anchors,
        found.predicates,
        found.periods,
        found.years,
        found.order,
        found.first_person,
    )


@pytest.mark.parametrize(
    ("query", "phrase"),
    [
        ('the book "nothing is impossible"', "nothing is impossible"),
        ("the film 'Rising Tides' of 2017", "Rising Tides"),
        ("the film ‘It’s late’ again", "It’s late"),
        ("“déjà vu” again", "déjà vu"),
        ("„Zeit der Kirschen“ lesen", "Zeit der Kirschen"),
        ("le film « Déjà vu »", "Déjà vu"),
        ("「東京物語」を見た", "東京物語"),
        ("她读了《红楼梦》吗", "红楼梦"),
        ('قرأت "ألف ليلة"', "ألف ليلة"),
    ],
)
def test_a_quoted_phrase_of_any_script_is_an_anchor(query: str, phrase: str) -> None:
    assert Anchor("quote", phrase) in parse_hints(query, None).anchors


def test_an_apostrophe_opens_no_quote() -> None:
    assert () == parse_hints("Caroline's dog and the neighbours' cat don't play", None).anchors


def test_ids_and_identifiers_are_anchors() -> None:
    found = parse_hints("does db/queries/frontier.sql of 018f3c2e-1111-7222-8333-444455556666 use user_id, getUserById, 5.3.0 or GA4?", None)

    assert [Anchor("id", "018f3c2e-1111-7222-8333-444455556666")] == [anchor for anchor in found.anchors if anchor.kind == "id"]
    assert ["db/queries/frontier.sql", "user_id", "getUserById", "5.3.0", "GA4"] == [
        anchor.text for anchor in found.anchors if anchor.kind == "identifier"
    ]


def test_an_ordinal_and_a_clock_are_no_identifiers() -> None:
    assert () == parse_hints("the 3rd of 5 at 9am and 10:30pm", None).anchors


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Tell me about Caroline's job at the Bank of America.", ("Caroline", "Bank of America")),
        ("When did Melanie visit New York City in May 2023?", ("Melanie", "New York City")),
        ("Łódź and Ñuñoa", ("Łódź", "Ñuñoa")),
        ("what is it", ()),
        ("我住在东京", ()),
    ],
)
def test_names_are_written_with_capitals(query: str, names: tuple[str, ...]) -> None:
    assert names == parse_hints(query, None).names


def test_handles_and_other_names_are_aliases() -> None:
    assert ("@bob", "Big Apple") == parse_hints("does @bob live in New York, also known as Big Apple?", None).aliases


@pytest.mark.parametrize("query", ["Who works on Dense-Mem?", "who is working on it", "who worked on it"])
def test_a_seeded_predicate_is_heard_in_its_forms(query: str) -> None:
    assert ("works_on",) == parse_hints(query, None).predicates


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("Where do I live now?", "latest"),
        ("What is his current role?", "latest"),
        ("我目前的工作", "latest"),
        ("Where did I live originally?", "earliest"),
        ("Where did she used to live?", "earliest"),
        ("How have the tools I've used to write changed?", None),
        ("When did she finish her first draft?", None),
        ("Where does she live?", None),
    ],
)
def test_the_state_that_is_asked_for(query: str, order: str | None) -> None:
    assert order == parse_hints(query, None).order


@pytest.mark.parametrize(
    ("query", "expected"), [("What did I say of my car?", True), ("我的车", True), ("Tell me about Ada", False), ("IT in MY", False)]
)
def test_who_speaks_of_himself(query: str, expected: bool) -> None:
    assert expected == parse_hints(query, None).first_person


def test_years_are_those_that_are_named() -> None:
    assert frozenset({"2004", "2005"}) == parse_hints("from 2004 to 2005, and in May, not 300", None).years
