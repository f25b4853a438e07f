"""Rules and the formula: what two statements suggest, and what they do not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest

from commonlore.domain.hypothesis.generate import Generated, generate
from commonlore.domain.hypothesis.policy import HypothesisPolicy
from commonlore.domain.hypothesis.rules import RuleBook, composition, inverse, rules_of, shared_neighbour, transitive
from commonlore.domain.hypothesis.source import Premise
from commonlore.domain.ledger.predicate import SEEDS, Predicate
from tests.support.hypotheses import a_book, a_premise, a_source, entity


def suggest(*premises: Premise, book: RuleBook | None = None, outputs: int = 50, policy: HypothesisPolicy | None = None, **source: Any) -> Generated:
    return generate(a_source(*premises, **source), book or a_book(), policy or HypothesisPolicy(), outputs=outputs)


def told(found: Generated) -> list[tuple[int, str, int]]:
    return sorted(
        (item.target.subject_entity_id.int - 1000, item.target.predicate_key, item.target.object_entity_id.int - 1000) for item in found.proposals
    )


def test_a_composition_needs_its_two_premises_in_a_row() -> None:
    works, uses = a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 3)
    found = suggest(works, uses)

    assert [(1, "uses", 3)] == told(found)
    assert (works, uses) == found.proposals[0].premises
    assert [] == told(suggest(a_premise(1, 2, "works_on", 1), uses)) == told(suggest(works)) == told(suggest(works, a_premise(2, 3, "uses", 2)))


def test_a_transitive_predicate_reaches_through_its_middle() -> None:
    assert [(1, "part_of", 3), (2, "part_of", 4)] == told(
        suggest(a_premise(1, 1, "part_of", 2), a_premise(2, 2, "part_of", 3), a_premise(3, 3, "part_of", 4))
    )


def test_two_that_have_one_neighbour_are_taken_together_once() -> None:
    """From whichever side the rows come: the one with the smaller id is the subject."""
    assert [(1, "works_with", 2)] == told(suggest(a_premise(1, 2, "works_on", 9), a_premise(2, 1, "works_on", 9)))
    assert [(1, "works_with", 2)] == told(suggest(a_premise(1, 1, "works_on", 9), a_premise(2, 2, "works_on", 9)))


def test_a_premise_may_be_said_from_its_other_end() -> None:
    """`contains` is `part_of` from the other end; either may be a premise of one rule."""
    assert [(1, "part_of", 3)] == told(suggest(a_premise(1, 2, "contains", 1), a_premise(2, 2, "part_of", 3)))


@pytest.mark.parametrize(
    "known",
    [
        a_premise(3, 1, "part_of", 3),
        a_premise(3, 1, "part_of", 3, "-"),
        a_premise(3, 1, "part_of", 3, lasting=False),
        a_premise(3, 1, "part_of", 3, scope="on paper"),
        a_premise(3, 3, "contains", 1),
        a_premise(3, 3, "contains", 1, "-"),
    ],
)
def test_what_is_said_or_denied_is_not_suggested(known: Premise) -> None:
    """In any scope, from either end, also where it ended."""
    found = suggest(a_premise(1, 1, "part_of", 2), a_premise(2, 2, "part_of", 3), known)

    assert ([], 1) == (told(found), found.known)


def test_one_object_is_enough_where_there_can_be_one() -> None:
    """Whoever lives somewhere, also in a value, is not supposed to live elsewhere."""
    book = a_book(single=("lives_in",))
    lives, lies = a_premise(1, 1, "lives_in", 2), a_premise(2, 2, "located_in", 3)

    assert [(1, "lives_in", 3)] == told(suggest(lives, lies))
    assert [] == told(suggest(lives, lies, book=book))
    single = a_book(single=("uses",))
    path = (a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 3))
    assert [(1, "uses", 3)] == told(suggest(*path, book=single))
    assert [] == told(suggest(*path, a_premise(3, 1, "uses", None), book=single))


@pytest.mark.parametrize("change", [{"polarity": "-"}, {"lasting": False}, {"scope": "on paper"}])
def test_what_is_denied_ended_or_of_another_scope_is_no_premise(change: dict[str, Any]) -> None:
    assert [] == told(suggest(a_premise(1, 1, "works_on", 2, **change), a_premise(2, 2, "uses", 3)))


def test_one_scope_of_both_premises_is_that_of_the_hypothesis() -> None:
    found = suggest(a_premise(1, 1, "works_on", 2, scope="2026"), a_premise(2, 2, "uses", 3, scope="2026"))

    assert ["2026"] == [item.target.scope_key for item in found.proposals]


def test_nothing_is_suggested_of_itself() -> None:
    assert [] == told(suggest(a_premise(1, 1, "part_of", 2), a_premise(2, 2, "part_of", 1)))
    assert [] == told(suggest(a_premise(1, 1, "part_of", 1), a_premise(2, 1, "part_of", 2)))


def test_what_was_assessed_does_not_come_back() -> None:
    """A target that was rejected, from any sources; a target that went stale, from the same versions of the same sources alone."""
    path = (a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 3))
    [before] = suggest(*path).proposals
    another = (a_premise(1, 1, "works_on", 2)._replace(version=2), path[1])

    assert ([], 1) == (told(suggest(*path, assessed={before.target_sha256})), suggest(*path, assessed={before.target_sha256}).assessed)
    assert [] == told(suggest(*another, assessed={before.target_sha256})) == told(suggest(*path, assessed={before.content_sha256}))
    assert [(1, "uses", 3)] == told(suggest(*another, assessed={before.content_sha256}))


def test_a_target_has_one_identity_from_both_ends() -> None:
    book = RuleBook.of([inverse("p", "q"), composition("a", "b", "p"), composition("c", "d", "q")], {key: Predicate(key) for key in "abcdpq"})
    found = suggest(a_premise(1, 1, "a", 5), a_premise(2, 5, "b", 2), a_premise(3, 2, "c", 6), a_premise(4, 6, "d", 1), book=book)

    assert 1 == len(found.proposals) == found.candidates


def test_kinds_of_entities_are_those_that_the_predicate_takes() -> None:
    book = a_book("works_on", uses=Predicate("uses", object_kinds=("product",)))
    path = (a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 3))

    assert [(1, "uses", 3)] == told(suggest(*path, book=book, kinds={entity(3): "product"}))
    assert [] == told(suggest(*path, book=book, kinds={entity(3): "place"}))


def test_a_rule_counts_where_the_team_has_its_predicates() -> None:
    """Registered and in use, under whichever alias; a conclusion that is an event does not count."""
    rules = [composition("depends_on", "uses", "uses"), transitive("p"), composition("uses", "uses", "happened"), shared_neighbour("uses", "peers")]
    happened = Predicate("happened", relationship_kind="event")
    registered = {"uses": SEEDS["uses"], "p": Predicate("p", lifecycle_state="retired"), "happened": happened}

    assert (composition("uses", "uses", "uses"),) == RuleBook.of(rules, registered).paths
    assert () == RuleBook.of(rules, {}).paths


def test_a_space_adds_rules_and_takes_rules_away() -> None:
    mine, seed = transitive("reports_to"), transitive("part_of")

    assert mine in rules_of({mine: True}) and seed in rules_of({mine: True})
    assert seed not in rules_of({seed: False})


def test_the_likelihood_is_the_record_times_the_weaker_premise() -> None:
    """0.6 for a composition that was never tried, 1 - 0.4 / 2 for two source groups; worked by hand: 0.6 x 0.8."""
    [found] = suggest(a_premise(1, 1, "works_on", 2, groups=4), a_premise(2, 2, "uses", 3, groups=2)).proposals

    assert (480, 0, 600, 800, 0, 0) == (*found.likelihood, found.tested, found.closed)


def test_a_rule_that_holds_here_is_worth_more_and_one_that_does_not_less() -> None:
    """(0.6 x 4 + closed) / (4 + tested): two pairs that are stated, then two whose subject is known to have another."""
    path = (a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 3))
    tried = (a_premise(3, 4, "works_on", 2), a_premise(4, 5, "works_on", 2))
    held = (a_premise(5, 4, "uses", 3), a_premise(6, 5, "uses", 3))
    missed = (a_premise(5, 4, "uses", 8), a_premise(6, 5, "uses", 8))
    by = {item.target.subject_entity_id: item for item in suggest(*path, *tried, *held).proposals if item.target.predicate_key == "uses"}
    against = {item.target.subject_entity_id: item for item in suggest(*path, *tried, *missed).proposals if item.target.predicate_key == "uses"}

    assert (round(1000 * Fraction(44, 60)), 2, 2) == (by[entity(1)].likelihood.record, by[entity(1)].tested, by[entity(1)].closed)
    assert (400, 2, 0, 333) == (
        against[entity(1)].likelihood.record, against[entity(1)].tested, against[entity(1)].closed, against[entity(1)].likelihood.confidence,
    )  # fmt: skip


def test_a_path_is_no_test_of_its_own_rule() -> None:
    """Its first premise gives the subject an object of the conclusion: that alone says nothing of the rule; another object does."""
    path = (a_premise(1, 1, "part_of", 2), a_premise(2, 2, "part_of", 3))
    [alone] = suggest(*path).proposals
    [beside] = suggest(*path, a_premise(3, 1, "part_of", 9)).proposals

    assert ((0, 420), (1, 336)) == ((alone.tested, alone.likelihood.likelihood), (beside.tested, beside.likelihood.likelihood))


def test_the_pair_of_premises_with_more_sources_is_cited() -> None:
    weak = (a_premise(1, 1, "works_on", 2), a_premise(2, 2, "uses", 9))
    strong = (a_premise(3, 1, "works_on", 3, groups=3), a_premise(4, 3, "uses", 9, groups=2))

    assert [(UUID(int=3), UUID(int=4))] == [
        tuple(item.relationship_id for item in found.premises)
        for found in suggest(*weak, *strong).proposals
        if found.target.object_entity_id == entity(9)
    ]


def test_what_few_hypotheses_name_comes_first() -> None:
    """Four paths through one project and one through another: the second output is of the other one, likely or not."""
    first = [a_premise(1, 1, "works_on", 2), *(a_premise(10 + number, 2, "uses", 20 + number, groups=4) for number in range(4))]
    other = [a_premise(30, 5, "works_on", 6), a_premise(31, 6, "uses", 7)]

    assert {1, 5} == {subject for subject, _, _ in told(suggest(*first, *other, outputs=2))}
    assert [(5, "uses", 7)] == told(suggest(*first, *other, outputs=1, covered={entity(1): 1}))


def test_bounds_hold() -> None:
    """A hub gives each side's share; a run walks no more paths than it may; what is unlikely is left out."""
    hub = [a_premise(number, number, "works_on", 900) for number in range(1, 41)] + [
        a_premise(100 + number, 900, "uses", 500 + number) for number in range(40)
    ]
    book = a_book("works_on", "uses")

    assert 9 == suggest(*hub, book=book, policy=HypothesisPolicy(most_neighbours=3)).paths
    assert 100 == suggest(*hub, book=book, policy=HypothesisPolicy(most_paths=100)).paths
    assert 0 == suggest(*hub, book=book, policy=HypothesisPolicy(least_likelihood=361)).candidates
    assert 7 == len(suggest(*hub, book=book, outputs=7).proposals)


def test_nothing_depends_on_who_read_the_rows() -> None:
    """Of two premises that say the same the one with the smaller id is cited, whichever comes first."""
    path = [a_premise(1, 1, "works_on", 2), a_premise(2, 1, "works_on", 2), a_premise(3, 2, "uses", 3)]

    assert a_source(*path) == a_source(*path[::-1])
    assert suggest(*path).proposals == suggest(*path[::-1]).proposals
