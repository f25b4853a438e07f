"""The review of a case that is due, as a pure function: what the votes say, and whether that may be applied.

One identity has one vote, however many keys, relationships and texts it brought. Authority is what an author says of its
own text, so it never counts in the vote. What the votes say is a proposal for a person unless the team lets it count by
itself, and the last write wins only where the team says so.

Source: dense-mem 13.2, made safer as 19.4 row 23 asks; its numbers are in dense-mem 30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

AUTHORITY_RANK: Mapping[str, int] = {"authoritative": 0, "primary": 1, "secondary": 2, "inferred": 3, "unknown": 4}
POLICY_VERSION = "identity_majority_after_ttl_v1"

Outcome = Literal["no_op", "resolve", "overdue", "dismiss"]
Reason = Literal["too_few_positions", "waiting", "decided", "due_supporter_majority", "due_no_quorum", "due_no_winner", "last_write_wins", "gone"]


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """`quorum`: identities that must have voted. `automatic`: the outcome counts without a person."""

    quorum: int = 2
    automatic: bool = False
    last_write_wins: bool = False


@dataclass(frozen=True, slots=True)
class Vote:
    """One support of a position. `identity` is who stands behind the owner's profile."""

    identity: UUID
    position_id: UUID
    authority: str
    accepted_at: datetime
    effective_at: datetime


@dataclass(frozen=True, slots=True)
class Verdict:
    """`applies` is false for what a person must confirm: then it is a preview. `counts` are votes a position."""

    outcome: Outcome
    reason: Reason
    preferred_position_id: UUID | None = None
    effective_at: datetime | None = None
    applies: bool = False
    counts: Mapping[UUID, int] | None = None


def tally(positions: Iterable[UUID], votes: Iterable[Vote]) -> dict[UUID, int]:
    """Votes a position. An identity that supports several positions votes for the one that it supported last."""
    latest: dict[UUID, Vote] = {}
    for vote in sorted(votes, key=lambda vote: (vote.accepted_at, vote.position_id)):
        latest[vote.identity] = vote
    counts = dict.fromkeys(positions, 0)
    for vote in latest.values():
        if vote.position_id in counts:
            counts[vote.position_id] += 1
    return counts


def examine(
    positions: Sequence[UUID],
    votes: Sequence[Vote],
    *,
    now: datetime,
    review_due_at: datetime,
    rules: PolicyRules,
    decided_by_person: bool = False,
    still_contested: bool = True,
) -> Verdict:
    """What the policy says of one case at one moment; the same input gives the same verdict.

    A person's decision comes first and is never revised. Before `review_due_at` nothing happens, whatever the counts.
    """
    counts = tally(positions, votes)
    if decided_by_person:
        return Verdict("no_op", "decided", counts=counts)
    if not still_contested:
        return Verdict("dismiss", "gone", applies=True, counts=counts)
    if len(positions) < 2:
        return Verdict("no_op", "too_few_positions", counts=counts)
    if now < review_due_at:
        return Verdict("no_op", "waiting", counts=counts)
    total = sum(counts.values())
    leader = max(positions, key=lambda key: counts[key])
    if counts[leader] > total - counts[leader]:
        if total < rules.quorum:
            return Verdict("overdue", "due_no_quorum", applies=True, counts=counts)
        return Verdict("resolve", "due_supporter_majority", leader, effective_at_of(leader, votes), rules.automatic, counts)
    if rules.last_write_wins and votes:
        winner = last_write(votes)
        return Verdict("resolve", "last_write_wins", winner.position_id, effective_at_of(winner.position_id, votes), rules.automatic, counts)
    return Verdict("overdue", "due_no_winner", applies=True, counts=counts)


def last_write(votes: Sequence[Vote]) -> Vote:
    """Best authority, then latest acceptance, then lowest position id."""
    return min(votes, key=lambda vote: (AUTHORITY_RANK.get(vote.authority, 4), -vote.accepted_at.timestamp(), vote.position_id))


def effective_at_of(position_id: UUID, votes: Iterable[Vote]) -> datetime | None:
    """The earliest moment from which a position holds by its supports."""
    return min((vote.effective_at for vote in votes if vote.position_id == position_id), default=None)
