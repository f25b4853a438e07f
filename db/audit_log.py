"""The audit log as administrators read it, and the seals that a worker puts on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.audit.entry import MOST_SEALED, NO_SEAL, AuditEntry, Seal, SealState, check_seal, make_seal
from commonlore.domain.audit.request import ListAuditRequest
from commonlore.domain.tenancy.paging import Page

_SQL = statements("audit")
_SEALS = statements("audit_seal")
_AFTER_ALL = UUID(int=(1 << 128) - 1)
_BEFORE_ALL = UUID(int=0)
# An entry's id is made when its transaction ends, its instant when it began, perhaps on another machine.
_SKEW = timedelta(days=1)
# An entry waits this long for its seal.
SEALED_AFTER = timedelta(minutes=5)
_TIMEOUT_MS = 60_000


async def page_entries(transaction: TeamTransaction, request: ListAuditRequest, *, before: UUID | None) -> Page[AuditEntry]:
    """Entries that pass every filter, the newest first.

    Raises:
        Incorrect: a wrong period.
    """
    since, until = request.period()
    parameters = {
        "act": request.act,
        "profile_id": request.profile_id,
        "outcome": request.outcome,
        "since": since,
        "until": until,
        "before": before or _AFTER_ALL,
        "from_id": id_at(since - _SKEW) if since is not None and since.year > 1970 else _BEFORE_ALL,
        "limit": request.limit + 1,
    }
    if request.subject is None:
        cursor = await transaction.execute(_SQL["page_entries"], **parameters)
    else:
        cursor = await transaction.execute(_SQL["page_entries_of"], subject=request.subject, **parameters)
    found = [AuditEntry(**row) for row in await cursor.fetchall()]
    return Page(found[: request.limit], found[request.limit - 1].entry_id if len(found) > request.limit else None)


def id_at(instant: datetime) -> UUID:
    """An id that stands in front of every id made at `instant` or later."""
    return UUID(int=max(0, int(instant.timestamp() * 1000)) << 80)


async def verify_seals(transaction: TeamTransaction, *, after: int, limit: int, removed_to: int) -> list[tuple[Seal, SealState]]:
    """Seals after `after` in their order, each with what a look at its entries says. A missing one leaves the next `broken`."""
    seals = await _read_seals(transaction, max(0, after - 1), limit + (1 if after else 0))
    before = NO_SEAL
    if after:
        before = seals[0].seal_sha256 if seals and seals[0].ordinal == after else b""
        seals = [seal for seal in seals if seal.ordinal > after]
    found: list[tuple[Seal, SealState]] = []
    for seal in seals:
        entries = await _read_entries(transaction, seal.entry_ids)
        found.append((seal, check_seal(transaction.team_id, seal, entries, before, removed_to=removed_to)))
        before = seal.seal_sha256
    return found


async def _read_entries(transaction: TeamTransaction, entry_ids: Sequence[UUID]) -> list[AuditEntry]:
    rows = await (await transaction.execute(_SQL["read_entries"], entry_ids=list(entry_ids))).fetchall()
    return [AuditEntry(**row) for row in rows]


async def _read_seals(transaction: TeamTransaction, after: int, limit: int) -> list[Seal]:
    return [_seal(row) for row in await (await transaction.execute(_SQL["read_seals"], after=after, limit=limit)).fetchall()]


async def last_seal(transaction: TeamTransaction) -> Seal | None:
    """The head of the chain."""
    row = await (await transaction.execute(_SQL["last_seal"])).fetchone()
    return _seal(row) if row else None


async def count_unsealed(transaction: TeamTransaction) -> int:
    """Entries that no seal holds yet."""
    row = await (await transaction.execute(_SQL["count_unsealed"])).fetchone()
    return int(row["entries"]) if row else 0


def _seal(row: dict[str, Any]) -> Seal:
    digests = {name: bytes(row[name]) for name in ("entries_sha256", "previous_sha256", "seal_sha256")}
    return Seal(row["ordinal"], tuple(row["entry_ids"]), known_from=row["known_from"], **digests)


async def is_seal_due(transaction: TeamTransaction, now: datetime) -> bool:
    """Whether an entry has waited long enough for its seal."""
    row = await (await transaction.execute(_SEALS["is_unsealed"], before=id_at(now - SEALED_AFTER))).fetchone()
    return row is not None and bool(row["is_unsealed"])


async def seal_batch(pool: Pool, team_id: UUID, *, now: datetime, batch: int = MOST_SEALED) -> int:
    """One more seal of the first entries that wait, with the worker's role; how many they were. Two at once: one fails and leaves nothing."""
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        taken = [row["entry_id"] for row in await (await transaction.execute(_SEALS["take_unsealed"], batch=batch)).fetchall()]
        if not taken:
            return 0
        entries = await _read_entries(transaction, taken)
        seal = make_seal(team_id, entries, await last_seal(transaction), now=now)
        values = {name: value for name, value in asdict(seal).items() if name not in ("entry_ids", "known_from")}
        last = max(entry.known_from for entry in entries)
        await transaction.execute(_SEALS["add_seal"], entry_ids=list(seal.entry_ids), last_known_from=last, now=now, **values)
        return len(entries)
