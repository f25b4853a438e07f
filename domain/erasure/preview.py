"""What an erasure would take, counted, and the token that binds a confirmation to what was counted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec

from commonlore.domain.erasure.request import TargetKind


@dataclass(frozen=True, slots=True)
class Counted:
    """`counts`: rows by table, those that are hidden at once and, of whole spaces, all. `typed`: what the caller types to confirm.

    `copies`: texts that promotions made of what goes, which stay.
    """

    target_kind: TargetKind
    target_id: UUID
    typed: str
    counts: Mapping[str, int]
    ids: frozenset[UUID]
    epochs: tuple[int, ...]
    holds: tuple[UUID, ...] = ()
    copies: tuple[UUID, ...] = ()

    @property
    def token(self) -> str:
        """64 hexadecimal digits; another where any count, any id, any space or any copy differs."""
        state = [
            self.target_kind,
            str(self.target_id),
            sorted((table, count) for table, count in self.counts.items() if count),
            sorted(map(str, self.ids)),
            sorted(self.epochs),
            sorted(map(str, self.copies)),
        ]
        return hashlib.sha256(msgspec.json.encode(state)).hexdigest()


def target_sha256(team_id: UUID, target_kind: TargetKind, target_id: UUID) -> bytes:
    """By which whoever knows the id finds the receipt, and nobody learns the id from it."""
    return hashlib.sha256(f"{team_id}:{target_kind}:{target_id}".encode()).digest()


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """By table, in the order of their names; tables without rows are left out."""
    total: dict[str, int] = {}
    for each in counts:
        for table, count in each.items():
            total[table] = total.get(table, 0) + count
    return {table: total[table] for table in sorted(total) if total[table]}
