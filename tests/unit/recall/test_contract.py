"""Evidence ranking contracts: what each reads and how it orders."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS, SpaceScale, rrf_1, zscore_1, zscore_2
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.hints import parse_hints
from commonlore.domain.recall.utterance import Utterance


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


ASKED = datetime(2023, 10, 18, tzinfo=UTC)


def a_talk(*said: tuple[str | None, bool], sessions: str = "sss") -> dict[int, Utterance]:
    """Turns 1, 2, ... by (speaker, asks), each a day after the other and two places apart, so that none is a neighbour."""
    return {
        number: Utterance(session, 9 * number, speaker, datetime(2023, 5, number, tzinfo=UTC), asks)
        for number, ((speaker, asks), session) in enumerate(zip(said, sessions, strict=False), start=1)
    }


def ranked(said: dict[int, Utterance], query: str, **scores: float) -> list[int]:
    """The order of `zscore-2` for candidates that words found, by number."""
    scale = SpaceScale(50, 0.05, 0.1, said=said, hints=parse_hints(query, ASKED))
    return [key.int for key in zscore_2(hits(**(scores or {f"e{number}": 3.0 for number in said})), [], scale)]


def test_without_turns_and_hints_the_scores_decide_alone() -> None:
    lexical, vector = hits(e1=1.0, e2=5.0, e3=2.0), hits(e3=0.5, e1=0.4)
    scale = SpaceScale(50, 0.05, 0.1, hints=parse_hints("What did Ada say in May 2023?", ASKED))

    assert zscore_1(lexical, vector, SpaceScale(50, 0.05, 0.1)) == zscore_2(lexical, vector, scale)


def test_the_turns_of_the_person_that_is_named_rise() -> None:
    said = a_talk(("Bo", False), ("Ada", False))

    assert [[2, 1], [1, 2], [1, 2]] == [ranked(said, query) for query in ("What did Ada say?", "What did Ada say to Bo?", "What did Adamo say?")]


def test_i_am_the_one_who_asks() -> None:
    said = a_talk(("assistant", False), ("user", False))

    assert [[2, 1], [1, 2]] == [ranked(said, query) for query in ("Where did I park my car?", "Where is the car?")]


def test_a_time_that_is_named_is_a_preference_and_no_filter() -> None:
    said = a_talk((None, False), (None, False), (None, False))

    assert [2, 1, 3] == ranked(said, "What happened on May 2nd?")
    assert [1, 2, 3] == ranked(said, "What happened on May 2nd?", e1=90.0, e2=1.0, e3=0.5)


def test_a_turn_that_only_asks_sinks_among_people_alone() -> None:
    assert [2, 1] == ranked(a_talk(("Bo", True), ("Bo", False)), "rafting")
    assert [1, 2] == ranked(a_talk(("user", True), ("assistant", False)), "rafting")


def test_a_session_shares_its_best_turn() -> None:
    said = a_talk(("Bo", False), ("Bo", False), ("Bo", False), sessions="abb")

    assert [3, 2, 1] == ranked(said, "rafting", e1=1.0, e2=1.0, e3=3.0)


def test_other_contracts_read_no_hints() -> None:
    """What `rrf-1` and `zscore-1` mean never changes."""
    said = a_talk(("Bo", True), ("Ada", False))
    lexical = hits(e1=3.0, e2=2.9)
    plain, hinted = SpaceScale(50), SpaceScale(50, said=said, hints=parse_hints("What did Ada say on May 2nd?", ASKED))

    assert [contract(lexical, [], plain) for contract in (rrf_1, zscore_1)] == [contract(lexical, [], hinted) for contract in (rrf_1, zscore_1)]
