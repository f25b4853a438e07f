"""The events by which evidence stops counting, or counts again, and the exclusions that follow from them.

Each function runs inside an open write that holds the ledger lock of the space, save `note_signals` for texts that the
same write has just stored, which nobody else can see.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.signals import RULES_VERSION, Signal, calls_for_quarantine, describe
from commonlore.domain.withdraw.standing import Standing

_SQL = statements("withdrawal")
EventKind = Literal["deterministic_scan", "reviewer_signal", "quarantine_release"]


class SecurityRow(msgspec.Struct, frozen=True, kw_only=True):
    event_id: UUID
    evidence_id: UUID
    event_kind: EventKind
    decision: Literal["guarded", "quarantine", "released"]
    rules_version: int | None
    reason: str


async def read_standing(transaction: TeamTransaction, evidence_ids: Collection[UUID]) -> dict[UUID, Standing]:
    """By id; ids that are nothing in the open space are missing."""
    cursor = await transaction.execute(_SQL["read_standing"], evidence_ids=sorted(evidence_ids))
    return {
        row["evidence_id"]: Standing(
            row["evidence_id"], row["owner_profile_id"], frozenset(row["reasons"]), row["known_from"], row["replacement_evidence_id"]
        )
        for row in await cursor.fetchall()
    }


async def end_evidence(
    transaction: TeamTransaction,
    replacements: Mapping[UUID, UUID | None],
    *,
    action: Literal["supersede", "retract"],
    reason: str,
    actor_profile_id: UUID,
    submission_id: UUID,
    now: datetime,
) -> None:
    """One lifecycle event and one exclusion for each of the evidence; the value is what takes its place."""
    ids = sorted(replacements)
    await transaction.execute(
        _SQL["insert_lifecycle_events"],
        event_ids=[new_id() for _ in ids],
        evidence_ids=ids,
        replacement_ids=[replacements[key] for key in ids],
        action=action,
        reason=reason,
        actor_profile_id=actor_profile_id,
        submission_id=submission_id,
        now=now,
    )
    await _exclude(transaction, ids, "superseded" if action == "supersede" else "retracted", now)


async def _exclude(transaction: TeamTransaction, evidence_ids: Sequence[UUID], reason: str, now: datetime) -> None:
    await transaction.execute(_SQL["insert_exclusions"], evidence_ids=list(evidence_ids), reason=reason, now=now)


async def note_signals(
    transaction: TeamTransaction, found: Mapping[UUID, tuple[str, Sequence[Signal]]], *, actor_profile_id: UUID, now: datetime
) -> set[UUID]:
    """Keep what a scan found in new texts, by evidence id with the text; returns those that it puts into quarantine.

    A team may have chosen that grave signals are noted as the others are.
    """
    rule = await (await transaction.execute(_SQL["read_quarantine_rule"])).fetchone()
    held = (
        {key for key, (_, signals) in found.items() if calls_for_quarantine(signals)}
        if rule and rule["evidence_quarantine"] == "quarantine"
        else set()
    )
    events = [
        SecurityRow(
            event_id=new_id(),
            evidence_id=key,
            event_kind="deterministic_scan",
            decision="quarantine" if key in held else "guarded",
            rules_version=RULES_VERSION,
            reason=describe(signals),
        )
        for key, (_, signals) in found.items()
    ]
    await _write_events(transaction, events, actor_profile_id, now)
    rows = [
        {
            "event_id": event.event_id,
            "signal_no": number,
            "signal_kind": signal.kind,
            "severity": signal.severity,
            "span_start": signal.start,
            "span_end": signal.end,
            "quote": found[event.evidence_id][0][signal.start : signal.end],
        }
        for event in events
        for number, signal in enumerate(found[event.evidence_id][1])
    ]
    await transaction.execute(_SQL["insert_security_signals"], rows=msgspec.json.encode(rows).decode())
    if held:
        await _exclude(transaction, sorted(held), "quarantined", now)
    return held


async def quarantine(
    transaction: TeamTransaction, evidence_ids: Collection[UUID], *, reason: str, actor_profile_id: UUID | None, now: datetime
) -> None:
    """A person puts texts into quarantine."""
    await _decide(transaction, evidence_ids, "reviewer_signal", "quarantine", reason, actor_profile_id, now)
    await _exclude(transaction, sorted(evidence_ids), "quarantined", now)


async def release(transaction: TeamTransaction, evidence_ids: Collection[UUID], *, reason: str, actor_profile_id: UUID | None, now: datetime) -> None:
    """A person lets texts out of quarantine."""
    await _decide(transaction, evidence_ids, "quarantine_release", "released", reason, actor_profile_id, now)
    await transaction.execute(_SQL["lift_quarantine"], evidence_ids=sorted(evidence_ids))


async def _decide(
    transaction: TeamTransaction,
    evidence_ids: Collection[UUID],
    kind: EventKind,
    decision: Literal["quarantine", "released"],
    reason: str,
    actor_profile_id: UUID | None,
    now: datetime,
) -> None:
    events = [
        SecurityRow(event_id=new_id(), evidence_id=key, event_kind=kind, decision=decision, rules_version=None, reason=reason)
        for key in sorted(evidence_ids)
    ]
    await _write_events(transaction, events, actor_profile_id, now)


async def _write_events(transaction: TeamTransaction, events: Sequence[SecurityRow], actor_profile_id: UUID | None, now: datetime) -> None:
    rows = msgspec.json.encode(events).decode()
    await transaction.execute(_SQL["insert_security_events"], rows=rows, actor_profile_id=actor_profile_id, now=now)


async def set_quarantine_rule(transaction: TeamTransaction, rule: Literal["quarantine", "guard"]) -> bool:
    """Whether grave signals keep a text out of recalls; counts from the next remember on. False for a retired team."""
    return await (await transaction.execute(_SQL["set_quarantine_rule"], evidence_quarantine=rule)).fetchone() is not None
