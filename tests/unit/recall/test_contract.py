"""Evidence ranking contracts: what each reads and how it orders."""

from __future__ import annotations

from uuid import UUID

import pytest

from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS, SpaceScale, zscore_1
from commonlore.domain.recall.fusion import BranchHit


def an_id(number: int) -> UUID:
    return UUID(int=number)


def hits(**scores: float) -> list[BranchHit]:
    """`hits(e1=3.0, e2=1.0)`, best first."""
    return [BranchHit(an_id(int(name[1:])), 0, score) for name, score in sorted(scores.items(), key=lambda pair: -pair[1])]


def test_the_policy_names_a_contract_that_exists() -> None:
    """A misspelt contract is found at the first import of the tests, not at a recall."""

    assert RankingPolicy().evidence_contract in EVIDENCE_CONTRACTS


def test_a_strong_word_match_beats_many_weak_meanings() -> None:
    """Standard scores keep how much better the best is; ranks alone forget it."""
    lexical = hits(e9=12.0)
    vector = hits(**{f"e{number}": 0.30 - number / 1000 for number in range(1, 9)}, e9=0.10)

    assert an_id(9) == zscore_1(lexical, vector, SpaceScale(500, 0.05, 0.1))[0]


def test_a_clear_meaning_beats_a_common_word() -> None:
    """A word that half the space has says little."""
    lexical = hits(**{f"e{number}": 1.0 + number / 100 for number in range(1, 100)})
    vector = hits(e200=0.85, **{f"e{number}": 0.06 for number in range(1, 50)})

    assert an_id(200) == zscore_1(lexical, vector, SpaceScale(200, 0.05, 0.1))[0]


def test_a_turn_between_two_good_turns_rises() -> None:
    """Of two equal candidates, the one whose neighbours match comes first; without turns the lower id does."""
    lexical = hits(e1=2.0, e3=2.0, e2=5.0, e4=5.0)
    vector = hits(e1=0.3, e3=0.3, e2=0.5, e4=0.5)
    turns = {2: ("s", 1), 3: ("s", 2), 4: ("s", 3), 1: ("t", 9)}

    with_turns = zscore_1(lexical, vector, SpaceScale(50, 0.05, 0.1, turns))
    without = zscore_1(lexical, vector, SpaceScale(50, 0.05, 0.1))

    assert (True, False) == tuple(order.index(an_id(3)) < order.index(an_id(1)) for order in (with_turns, without))


@pytest.mark.parametrize("name", sorted(EVIDENCE_CONTRACTS))
def test_one_branch_alone_keeps_its_order(name: str) -> None:
    """Without vectors the words decide, without words the vectors."""
    order = hits(e5=9.0, e2=4.0, e7=1.0)

    expected = [an_id(5), an_id(2), an_id(7)]
    assert expected == EVIDENCE_CONTRACTS[name](order, [], SpaceScale(100))
    assert expected == EVIDENCE_CONTRACTS[name]([], order, SpaceScale(100, 0.0, 1.0))


@pytest.mark.parametrize("name", sorted(EVIDENCE_CONTRACTS))
def test_equal_candidates_are_ordered_by_id(name: str) -> None:
    """The order is total, whichever branch met which first."""
    lexical, vector = hits(e4=1.0, e3=1.0), hits(e3=1.0, e4=1.0)

    assert [an_id(3), an_id(4)] == EVIDENCE_CONTRACTS[name](lexical, vector, SpaceScale(2, 1.0, 0.0))


@pytest.mark.parametrize("name", sorted(EVIDENCE_CONTRACTS))
def test_nothing_is_ordered_as_nothing(name: str) -> None:
    """An empty space is no division by zero."""

    assert [] == EVIDENCE_CONTRACTS[name]([], [], SpaceScale(0))
