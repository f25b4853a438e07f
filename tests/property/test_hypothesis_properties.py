"""What holds for every run: the same rows in any order, two premises that count, nothing that is known."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.hypothesis.generate import Proposal, generate
from commonlore.domain.hypothesis.policy import HypothesisPolicy
from commonlore.domain.hypothesis.source import Premise
from tests.support.hypotheses import a_book, a_premise, a_source, entity

# Few words and few entities, so that paths are met and closed.
SAID = ("part_of", "contains", "works_on", "uses", "lives_in", "located_in")
fast = settings(max_examples=80, deadline=None)


def a_world(seed: int, size: int) -> list[Premise]:
    """Relationships at random: lists of a strategy are too sparse for paths that close."""
    random = Random(seed)
    return [
        a_premise(
            number,
            random.randint(1, 5),
            random.choice(SAID),
            random.choice((1, 2, 3, 4, 5, 5, None)),
            random.choice("++++-"),
            scope=random.choice((None, None, None, "x")),
            groups=random.randint(1, 3),
            lasting=random.random() < 0.9,
        )
        for number in range(1, size + 1)
    ]


ROWS = st.builds(a_world, st.integers(0, 2**32), st.integers(2, 40))
BOOK = a_book(single=("lives_in", "primary_database"))


def found(rows: list[Premise], outputs: int = 50) -> tuple[Proposal, ...]:
    return generate(a_source(*rows, covered={entity(1): 2}), BOOK, HypothesisPolicy(), outputs=outputs).proposals


@fast
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 8))
def test_the_order_of_the_rows_changes_nothing(rows: list[Premise], random: Random, outputs: int) -> None:
    shuffled = random.sample(rows, len(rows))

    assert found(rows, outputs) == found(shuffled, outputs)


@fast
@given(ROWS)
def test_every_hypothesis_has_two_premises_that_count_and_meet(rows: list[Premise]) -> None:
    """Rows as they were given, said to be so and lasting, of the scope of the hypothesis; they meet in one entity, and each has one end of it."""
    for item in found(rows):
        first, second = item.premises
        ends = {first.subject_entity_id, first.object_entity_id} ^ {second.subject_entity_id, second.object_entity_id}

        assert first in rows and second in rows and first.relationship_id != second.relationship_id
        assert {("+", True, item.target.scope_key)} == {(row.polarity, row.is_lasting, row.scope_key) for row in item.premises}
        assert {item.target.subject_entity_id, item.target.object_entity_id} == ends and item.middle not in ends


@fast
@given(ROWS)
def test_no_hypothesis_says_what_is_known(rows: list[Premise]) -> None:
    """Neither what is said or denied, from either end, nor a second object where there can be one; and no two say the same."""
    stated = {(row.subject_entity_id, row.predicate_key, row.object_entity_id) for row in rows}
    held = {(row.subject_entity_id, row.predicate_key) for row in rows}
    proposals = found(rows)

    for item in proposals:
        subject, key, target, _ = item.target
        assert (subject, key, target) not in stated and (target, BOOK.inverses.get(key), subject) not in stated
        assert not (item.is_single and (subject, key) in held)
    assert len(proposals) == len({item.target_sha256 for item in proposals})


@fast
@given(ROWS, st.integers(0, 6), st.integers(0, 6))
def test_likelihoods_are_probabilities_and_grow_with_what_is_stated(rows: list[Premise], tested: int, more: int) -> None:
    for item in found(rows):
        assert 0 < item.likelihood.likelihood < 1000 and 0 <= item.closed <= item.tested
    policy = HypothesisPolicy()
    less, greater = (
        policy.likelihood("composition", tested=tested + more, closed=closed, source_groups=(1, 2)) for closed in (tested, tested + more)
    )
    assert less.likelihood <= greater.likelihood
