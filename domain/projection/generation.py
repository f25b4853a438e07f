"""Generations of a team's relationship documents: their states, what may become of each, and when one may serve. No I/O.

    projecting_text -> embedding -> standby <-> current, and each of them -> retired
                       embedding -> failed -> embedding

One generation serves; another is built beside it, and every write goes into both. What is ready stands by until it is
activated, and what it replaced stands by in its turn, so that the way back is the same step. A contract has generations
of its own: the first one of a contract that does not serve yet becomes its current one by itself, and nobody reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from commonlore.domain.errors import Conflict, NotVisible

State = Literal["projecting_text", "embedding", "current", "standby", "failed", "retired"]
# What a worker is still to do something for.
BUILT: frozenset[State] = frozenset(("projecting_text", "embedding"))


@dataclass(frozen=True, slots=True)
class Generation:
    """One row of the gate. `is_served`: its contract is the one that serves, so a recall reads it if it is `current`."""

    generation: int
    state: State
    contract_id: int
    contract_key: str
    is_served: bool
    format_version: int
    activates_itself: bool
    known_from: datetime
    projected_at: datetime | None
    ready_at: datetime | None
    activated_at: datetime | None
    paused_at: datetime | None
    retired_at: datetime | None
    error_code: str | None

    @property
    def is_read(self) -> bool:
        """Whether recalls read it now."""
        return self.state == "current" and self.is_served


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Documents of one generation over all spaces of the team, counted from their rows. `expected`: those of the generation it is made from."""

    documents: int = 0
    current: int = 0
    pending: int = 0
    failed: int = 0
    expected: int = 0

    def plus(self, other: DocumentCounts) -> DocumentCounts:
        return DocumentCounts(
            self.documents + other.documents,
            self.current + other.current,
            self.pending + other.pending,
            self.failed + other.failed,
            self.expected + other.expected,
        )


def require_startable(generations: Sequence[Generation]) -> Generation:
    """The generation that a new one is made from: the one that serves.

    Raises:
        Conflict: `generation_building`, one is being built or failed and is not retired; `stale_input`, none serves.
    """
    for generation in generations:
        if generation.is_served and (generation.state in BUILT or generation.state == "failed"):
            what = "failed; retry or retire it first" if generation.state == "failed" else "is being built; activate or retire it first"
            raise Conflict("generation_building", f"generation {generation.generation} {what}", details={"generation": generation.generation})
    for generation in generations:
        if generation.is_served and generation.state == "standby":
            message = f"generation {generation.generation} stands by; activate or retire it first"
            raise Conflict("generation_building", message, details={"generation": generation.generation})
    source = serving(generations)
    if source is None:
        raise Conflict("stale_input", "no generation serves that a new one could be made from")
    return source


def serving(generations: Sequence[Generation]) -> Generation | None:
    """The generation that recalls read, if one is current."""
    return next((generation for generation in generations if generation.is_read), None)


def pick(generations: Sequence[Generation], number: int | None, *states: State) -> Generation:
    """The generation of that number, or without one the newest of the served contract in one of the states.

    Raises:
        NotVisible: the team has none of that number.
        Conflict: `stale_input`, it is in another state, or there is none in these.
    """
    wanted = " or ".join(states)
    if number is None:
        fitting = [generation for generation in generations if generation.state in states and generation.is_served]
        if not fitting:
            raise Conflict("stale_input", f"no generation is {wanted}")
        return max(fitting, key=lambda generation: generation.generation)
    found = next((generation for generation in generations if generation.generation == number), None)
    if found is None:
        raise NotVisible("not_found", "this team has no generation of this number")
    if found.state not in states:
        raise Conflict("stale_input", f"generation {number} is {found.state}, not {wanted}", details={"state": found.state})
    return found


def previous(generations: Sequence[Generation]) -> Generation:
    """What served before and stands by.

    Raises:
        Conflict: `stale_input`, nothing stands by that ever served.
    """
    known = [
        generation for generation in generations if generation.is_served and generation.state == "standby" and generation.activated_at is not None
    ]
    if not known:
        raise Conflict("stale_input", "no generation stands by that served before")
    return max(known, key=lambda generation: generation.generation)


def require_complete(counts: DocumentCounts, *, accepts_failed: bool) -> None:
    """
    Raises:
        Conflict: `generation_incomplete`, texts or vectors are missing that a recall would need.
    """
    lacking = counts.expected - counts.documents
    if lacking > 0 or counts.pending > STRAGGLERS or (counts.failed and not accepts_failed):
        details = {"lacking": max(0, lacking), "pending": counts.pending, "failed": counts.failed}
        raise Conflict("generation_incomplete", f"{lacking} documents lack, {counts.pending} wait and {counts.failed} failed", details=details)


# What may wait for its vector at a switch: the writes of the last moments, as in any current generation.
STRAGGLERS = 64
