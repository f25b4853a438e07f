"""Cases under random histories: what is stored follows what stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.conflict.policy import PolicyRules, Vote, examine
from commonlore.domain.conflict.review import OpenCase, Review, review
from commonlore.domain.conflict.scope import MAX_POSITIONS, Standing, Target, contested
from commonlore.domain.ids import new_id

START = datetime(2026, 7, 1, tzinfo=UTC)


@st.composite
def standings(draw: st.DrawFn) -> list[Standing]:
    """What may stand in a scope: few owners, objects and periods, so that they meet."""
    made = []
    for number in range(draw(st.integers(0, 14))):
        owner, target = draw(st.integers(1, 5)), draw(st.integers(1, 13))
        start = draw(st.sampled_from((None, 0, 1)))
        end = draw(st.sampled_from((None, 1, 2)))
        made.append(
            Standing(
                relationship_id=UUID(int=owner * 1000 + target),
                owner_profile_id=UUID(int=owner),
                target=Target(UUID(int=target)),
                predicate_version=1,
                valid_from=None if start is None else START + timedelta(days=start),
                valid_to=None if end is None else START + timedelta(days=end),
                support_id=UUID(int=10_000 + draw(st.integers(0, 40))),
                verification_event_id=UUID(int=1),
                evidence_id=UUID(int=2),
                source_group_key="g",
                authority="unknown",
                accepted_at=START + timedelta(seconds=number),
            )
        )
    return list({item.support_id: item for item in {item.relationship_id: item for item in made}.values()}.values())


def applied(case: OpenCase | None, found: Review) -> OpenCase | None:
    """The case after a review, as the database keeps it."""
    if found.outcome == "nothing":
        return case
    if found.outcome == "dismiss":
        return None
    held = {} if case is None else dict(case.positions)
    members = frozenset() if case is None else case.members
    return OpenCase(
        case.conflict_id if case else new_id(),
        case.version + 1 if case else 1,
        held | {target: new_id() for target in found.targets},
        (members | {item.support_id for item in found.joined}) - set(found.left),
        found.positions_truncated,
    )


@given(st.lists(standings(), max_size=6))
def test_a_case_follows_what_stands(history: list[list[Standing]]) -> None:
    """Open exactly while something is contested; its members are the standing supports of its positions; a second look changes nothing."""

    case: OpenCase | None = None
    for standing in history:
        case = applied(case, review(case, standing))
        disputed = contested(standing, ())

        assert bool(disputed) == (case is not None)
        if case is not None:
            assert len(case.positions) <= MAX_POSITIONS
            assert case.members == {item.support_id for item in standing if item.target in case.positions}
            assert disputed <= case.positions.keys() or case.positions_truncated
        assert "nothing" == review(case, standing).outcome


@given(standings(), st.randoms())
def test_the_order_of_rows_changes_nothing(standing: list[Standing], random: object) -> None:
    """The same statements in any order give the same review."""

    shuffled = list(standing)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert review(None, standing) == review(None, shuffled)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 9)), max_size=20), st.booleans(), st.randoms())
def test_a_vote_is_counted_once_and_in_no_order(cast: list[tuple[int, int, int]], last_write_wins: bool, random: object) -> None:
    """Never more votes than members; the same verdict for the same votes in any order; a winner by votes beats all others together."""

    positions = [UUID(int=number) for number in (1, 2, 3)]
    votes = [
        Vote(UUID(int=100 + who), UUID(int=position), "unknown", START + timedelta(days=day), START + timedelta(days=day))
        for who, position, day in cast
    ]
    shuffled = list(votes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    rules = PolicyRules(quorum=1, last_write_wins=last_write_wins)
    found = examine(positions, votes, now=START, review_due_at=START, rules=rules)

    assert found == examine(positions, shuffled, now=START, review_due_at=START, rules=rules)
    assert found.counts is not None
    assert sum(found.counts.values()) == len({who for who, _, _ in cast})
    if found.reason == "due_supporter_majority" and found.preferred_position_id is not None:
        won = found.counts[found.preferred_position_id]
        assert won > sum(found.counts.values()) - won
