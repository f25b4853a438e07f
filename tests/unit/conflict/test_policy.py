"""The review policy, with the worked numbers of dense-mem 30."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from commonlore.domain.conflict.policy import PolicyRules, Vote, examine, tally

DUE = datetime(2026, 7, 8, tzinfo=UTC)
A, B, C = POSITIONS = [UUID(int=number) for number in (1, 2, 3)]
RULES = PolicyRules(automatic=True)


def votes(*counts: int) -> list[Vote]:
    """So many identities for each position."""
    made = []
    for position, count in zip(POSITIONS, counts, strict=False):
        for number in range(count):
            made.append(a_vote(100 * position.int + number, position))
    return made


def a_vote(identity: int, position: UUID, *, authority: str = "unknown", day: int = 1) -> Vote:
    at = datetime(2026, 7, day, tzinfo=UTC)
    return Vote(UUID(int=identity), position, authority, at, at)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((3, 1, 1), ("resolve", "due_supporter_majority", A)),
        ((2, 1, 1), ("overdue", "due_no_winner", None)),
        ((0, 0), ("overdue", "due_no_winner", None)),
        ((1, 1), ("overdue", "due_no_winner", None)),
        ((1, 0), ("overdue", "due_no_quorum", None)),
    ],
)
def test_a_majority_over_all_others_resolves_when_due(counts: tuple[int, ...], expected: tuple[str, str, UUID | None]) -> None:
    """3 against 1 and 1; not 2 against 1 and 1; nobody; one alone is no quorum."""

    found = examine(POSITIONS[: len(counts)], votes(*counts), now=DUE, review_due_at=DUE, rules=RULES)

    assert expected == (found.outcome, found.reason, found.preferred_position_id)


def test_nothing_happens_before_it_is_due() -> None:
    """Whatever the counts."""

    found = examine(POSITIONS, votes(9, 0, 0), now=DUE - timedelta(seconds=1), review_due_at=DUE, rules=RULES)

    assert ("no_op", "waiting") == (found.outcome, found.reason)


def test_one_position_is_no_case() -> None:
    """There is nothing to choose."""

    assert "no_op" == examine([A], votes(5), now=DUE, review_due_at=DUE, rules=RULES).outcome


def test_a_person_comes_first() -> None:
    """Votes change nothing that a person decided."""

    assert ("no_op", "decided") == (
        (found := examine(POSITIONS, votes(9, 0, 0), now=DUE, review_due_at=DUE, rules=RULES, decided_by_person=True)).outcome,
        found.reason,
    )


def test_a_case_whose_side_is_gone_is_dismissed() -> None:
    """At any time."""

    found = examine(POSITIONS, votes(1), now=DUE - timedelta(days=3), review_due_at=DUE, rules=RULES, still_contested=False)

    assert ("dismiss", True) == (found.outcome, found.applies)


def test_one_identity_has_one_vote() -> None:
    """Ten supports of one member weigh as much as one, and its latest choice counts."""

    many = [a_vote(7, A) for _ in range(10)]
    changed = [a_vote(8, A, day=1), a_vote(8, B, day=2)]

    assert {A: 1, B: 1, C: 0} == tally(POSITIONS, [*many, *changed])


def test_a_verdict_is_a_preview_unless_the_team_lets_it_count() -> None:
    """The same proposal, without effect."""

    found = examine(POSITIONS, votes(3, 1, 1), now=DUE, review_due_at=DUE, rules=PolicyRules())

    assert ("resolve", False, {A: 3, B: 1, C: 1}) == (found.outcome, found.applies, found.counts)


def test_the_last_write_wins_only_where_it_is_enabled() -> None:
    """Authority first, then the newest: A newest and primary, B older and authoritative gives B."""

    cast = [a_vote(1, A, authority="primary", day=5), a_vote(2, B, authority="authoritative", day=2)]
    plain = examine([A, B], cast, now=DUE, review_due_at=DUE, rules=RULES)
    enabled = examine([A, B], cast, now=DUE, review_due_at=DUE, rules=PolicyRules(automatic=True, last_write_wins=True))

    assert ("overdue", None) == (plain.outcome, plain.preferred_position_id)
    assert ("resolve", "last_write_wins", B, datetime(2026, 7, 2, tzinfo=UTC)) == (
        enabled.outcome,
        enabled.reason,
        enabled.preferred_position_id,
        enabled.effective_at,
    )


def test_the_last_write_is_the_newest_of_equal_authority() -> None:
    """Then the lowest position."""

    rules = PolicyRules(last_write_wins=True)
    newest = examine([A, B], [a_vote(1, A, day=2), a_vote(2, B, day=3)], now=DUE, review_due_at=DUE, rules=rules)
    equal = examine([A, B], [a_vote(1, A), a_vote(2, B)], now=DUE, review_due_at=DUE, rules=rules)

    assert [B, A] == [newest.preferred_position_id, equal.preferred_position_id]


def test_authority_never_counts_in_the_vote() -> None:
    """It is what an author says of its own text."""

    cast = [a_vote(1, A, authority="authoritative"), a_vote(2, B), a_vote(3, B)]

    assert B == examine([A, B], cast, now=DUE, review_due_at=DUE, rules=RULES).preferred_position_id
