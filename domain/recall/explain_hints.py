"""What a trace says of the hints of a query, and of what they did to each candidate."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from typing import Any
from uuid import UUID

from commonlore.domain.recall.explanation import TraceAnchor, TraceHints, TraceMove, TracePeriod
from commonlore.domain.recall.hints import QueryHints
from commonlore.domain.recall.period import Period
from commonlore.domain.recall.record import FetchNote
from commonlore.domain.recall.state import RecallState
from commonlore.domain.recall.utterance import factors


def show_hints(hints: QueryHints) -> TraceHints:
    """The hints as they were parsed, whether or not the contract in force reads them; `asked_at` where a time counts from it.

    Otherwise the same request would be explained in other words each time.
    """
    asked_at = None if hints.asked_at is None or not hints.periods else hints.asked_at.astimezone(UTC)
    fields: dict[str, Any] = {name: value for name, value in (("order", hints.order), ("asked_at", asked_at)) if value is not None}
    return TraceHints(
        names=list(hints.names),
        aliases=list(hints.aliases),
        anchors=[TraceAnchor(kind=anchor.kind, text=anchor.text) for anchor in hints.anchors],
        predicates=list(hints.predicates),
        periods=[_period(period) for period in hints.periods],
        first_person=hints.first_person,
        time_zone=str(hints.zone),
        **fields,
    )


def _period(period: Period) -> TracePeriod:
    fields: dict[str, Any] = {"start": period.start, "end": period.end}
    if period.yearly is not None:
        fields["yearly"] = [f"{month:02}-{day:02}" for month, day in period.yearly]
    return TracePeriod(text=period.text, **{name: value for name, value in fields.items() if value is not None})


def factors_of(state: RecallState, notes: Iterable[FetchNote]) -> dict[int, list[str]]:
    """By the number of a candidate's id, what it gained or lost by; empty where the contract reads no hints."""
    if not state.plan.reads_hints:
        return {}
    found: dict[int, list[str]] = {}
    for note in notes:
        for part in note.fetched.values():
            if part.evidence is not None:
                for key, names in factors(part.evidence.scale.said, state.intent.hints).items():
                    found.setdefault(key, list(names))
    return found


def moves_of(state: RecallState, evidence_id: UUID) -> list[TraceMove] | None:
    """What the rerank did with a result, with ranks from 1; None where it did nothing."""
    moves = state.moves.get(evidence_id)
    return [TraceMove(factor=moved.move, before=moved.before + 1, after=moved.after + 1) for moved in moves] if moves else None
