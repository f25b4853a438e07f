"""Entries of the audit log as they are read, and the seals by which a change of one is seen.

A seal holds some entries of a team in the order of their ids. Its digest covers those entries and the seal before, so that
whoever knows the last digest knows every entry below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from commonlore.domain.audit.act import ActorKind, AuditOutcome
from commonlore.domain.time import render_instant

SealState = Literal["whole", "removed", "broken"]
NO_SEAL = bytes(32)  # what the first seal follows
MOST_SEALED = 1000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    entry_id: UUID
    act: str
    actor_kind: ActorKind
    profile_id: UUID | None
    credential_id: UUID | None
    subject_kind: str
    subject: str
    outcome: AuditOutcome
    code: str | None
    reason: str | None
    correlation: str
    known_from: datetime

    def shown(self) -> dict[str, str | None]:
        """Every field as text, in a fixed order."""
        values = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: render_instant(value) if isinstance(value, datetime) else None if value is None else str(value) for name, value in values}


@dataclass(frozen=True, slots=True)
class Seal:
    ordinal: int
    entry_ids: tuple[UUID, ...]
    entries_sha256: bytes
    previous_sha256: bytes
    seal_sha256: bytes
    known_from: datetime


def digest_entries(entries: Sequence[AuditEntry]) -> bytes:
    """Of the entries in this order: every field of each counts, and where one ends and the next begins."""
    total = hashlib.sha256()
    for entry in entries:
        total.update(hashlib.sha256(msgspec.json.encode(list(entry.shown().values()))).digest())
    return total.digest()


def make_seal(team_id: UUID, entries: Sequence[AuditEntry], before: Seal | None, *, now: datetime) -> Seal:
    """The seal of `entries` after the one `before`. There is at least one entry."""
    ordinal, previous = (before.ordinal + 1, before.seal_sha256) if before else (1, NO_SEAL)
    digest = digest_entries(entries)
    return Seal(ordinal, tuple(entry.entry_id for entry in entries), digest, previous, _digest(team_id, ordinal, len(entries), digest, previous), now)


def _digest(team_id: UUID, ordinal: int, count: int, entries_sha256: bytes, previous_sha256: bytes) -> bytes:
    return hashlib.sha256(b"%b %d %d %b %b" % (team_id.bytes, ordinal, count, entries_sha256, previous_sha256)).digest()


def check_seal(team_id: UUID, seal: Seal, entries: Sequence[AuditEntry], before: bytes, *, removed_to: int) -> SealState:
    """`entries`: those of the seal that are still there. `before`: the digest of the seal before. `removed_to`: the last seal whose
    entries the team's own retention removed; one below it without any entry is `removed`, and its digest still counts in the chain.
    """
    chained = seal.previous_sha256 == before and seal.seal_sha256 == _digest(
        team_id, seal.ordinal, len(seal.entry_ids), seal.entries_sha256, seal.previous_sha256
    )
    if not chained:
        return "broken"
    if not entries:
        return "removed" if seal.ordinal <= removed_to else "broken"
    same = tuple(entry.entry_id for entry in entries) == seal.entry_ids and digest_entries(entries) == seal.entries_sha256
    return "whole" if same else "broken"
