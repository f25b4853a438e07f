"""What a write does to the case of a scope: opens it, adds to it, takes from it, or ends it because a side is gone.

Pure and deterministic: the same case and the same standing statements give the same review.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from commonlore.domain.conflict.scope import MAX_POSITIONS, Standing, Target, contested

Outcome = Literal["nothing", "open", "change", "dismiss"]


@dataclass(frozen=True, slots=True)
class OpenCase:
    """The open or overdue case of a scope: its positions by object, and the supports that stand for them now."""

    conflict_id: UUID
    version: int
    positions: Mapping[Target, UUID]
    members: frozenset[UUID]
    positions_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """What to write. `targets` are new positions in their order; `joined` and `left` are supports."""

    outcome: Outcome
    targets: tuple[Target, ...] = ()
    joined: tuple[Standing, ...] = ()
    left: tuple[UUID, ...] = ()
    positions_truncated: bool = False


_NOTHING = Review("nothing")


def review(case: OpenCase | None, standing: Sequence[Standing], settled: Iterable[frozenset[Target]] = ()) -> Review:
    """Compare the case of a scope with what stands there after a write.

    Positions come in the order in which they were first accepted, at most `MAX_POSITIONS`; what is beyond is neither
    preferred nor suppressed by this case, and `positions_truncated` says so.
    """
    disputed = contested(standing, settled)
    held = set(case.positions) if case else set()
    wanted = [target for target in _in_order(standing) if target in disputed and target not in held]
    room = MAX_POSITIONS - len(held)
    targets, truncated = tuple(wanted[:room]), len(wanted) > room or (case is not None and case.positions_truncated)
    kept = held | set(targets)
    present = {item.support_id: item for item in sorted(standing, key=lambda item: item.order) if item.target in kept}
    if case is None:
        return Review("open", targets, tuple(present.values()), (), truncated) if disputed else _NOTHING
    left = tuple(sorted(case.members - present.keys()))
    if not disputed:
        return Review("dismiss", left=left, positions_truncated=truncated)
    joined = tuple(item for key, item in present.items() if key not in case.members)
    if not (targets or joined or left or truncated != case.positions_truncated):
        return _NOTHING
    return Review("change", targets, joined, left, truncated)


def _in_order(standing: Sequence[Standing]) -> list[Target]:
    """Objects by their first acceptance, then by id."""
    first: dict[Target, tuple[object, ...]] = {}
    for item in sorted(standing, key=lambda item: (item.accepted_at, item.target.object_id)):
        first.setdefault(item.target, ())
    return list(first)
