"""Cases as a recall, a trace or a person sees them, read inside an open transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import structs

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.conflict.policy import PolicyRules
from commonlore.domain.conflict.request import UpdateConflictRulesRequest
from commonlore.domain.conflict.view import CaseRow, read_case
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import TemporalView

_SQL = statements("conflict_view")
_RULES = statements("conflict")
_PRESENT = TemporalView()


async def touched_cases(
    transaction: TeamTransaction, view: TemporalView, spaces: Sequence[Space], evidence_ids: Sequence[UUID], *, most: int
) -> list[tuple[Space, CaseRow]]:
    """Cases of the spaces that the texts are part of, as they were known in the view; at most `most` a space."""
    parameters = {"evidence_ids": list(evidence_ids), "known_at": view.known_at, "most": most}
    found = await _ids(transaction, spaces, "touched", parameters)
    return await read_cases(transaction, view, found)


async def cases_of_relationship(transaction: TeamTransaction, space: Space, relationship_id: UUID, *, most: int) -> list[CaseRow]:
    """Every case that a relationship ever was part of, as it stands now."""
    found = await _ids(transaction, [space], "of_relationship", {"relationship_id": relationship_id, "most": most})
    return [row for _, row in await read_cases(transaction, _PRESENT, found)]


async def page_of_cases(
    transaction: TeamTransaction, spaces: Sequence[Space], *, status: str | None, after: UUID, most: int
) -> list[tuple[Space, CaseRow]]:
    """Cases of all the spaces after an id, in the order in which they were opened; at most `most`."""
    found = await _ids(transaction, spaces, "page", {"status": status, "after": after, "most": most})
    first = sorted((key, space.order, space) for space, keys in found.items() for key in keys)[:most]
    wanted: dict[Space, list[UUID]] = {}
    for key, _, space in first:
        wanted.setdefault(space, []).append(key)
    return sorted(await read_cases(transaction, _PRESENT, wanted), key=lambda item: item[1].conflict_id)


async def review_rules(transaction: TeamTransaction) -> tuple[int, PolicyRules]:
    """The days that a case waits, and the rules of its review."""
    row = await (await transaction.execute(_RULES["review_rules"])).fetchone()
    assert row is not None
    rules = PolicyRules(quorum=row["conflict_quorum"], automatic=row["conflict_automatic"], last_write_wins=row["conflict_last_write_wins"])
    return row["conflict_review_days"], rules


async def set_review_rules(transaction: TeamTransaction, request: UpdateConflictRulesRequest) -> tuple[int, PolicyRules]:
    """Change what the request names; counts for cases that are opened from now on, and for reviews from now on."""
    await transaction.execute(_RULES["set_review_rules"], **structs.asdict(request))
    return await review_rules(transaction)


async def find_case(transaction: TeamTransaction, spaces: Sequence[Space], conflict_id: UUID) -> tuple[Space, CaseRow] | None:
    """The case in the first of the spaces that has it; that space stays open."""
    for space in spaces:
        if rows := await read_cases(transaction, _PRESENT, {space: [conflict_id]}):
            return rows[0]
    return None


async def read_cases(transaction: TeamTransaction, view: TemporalView, wanted: Mapping[Space, Sequence[UUID]]) -> list[tuple[Space, CaseRow]]:
    """Rows in the order of the spaces, then by id."""
    asked = []
    async with transaction.connection.pipeline():
        for space, keys in wanted.items():
            if keys:
                await transaction.enter(space.space_id)
                parameters: dict[str, Any] = {"valid_at": view.valid_at, "known_at": view.known_at, "present": view.is_present}
                asked.append((space, await transaction.execute(_SQL["cases"], conflict_ids=list(keys), **parameters)))
        return [(space, read_case(row)) for space, cursor in asked for row in await cursor.fetchall()]


async def _ids(transaction: TeamTransaction, spaces: Sequence[Space], statement: str, parameters: Mapping[str, object]) -> dict[Space, list[UUID]]:
    async with transaction.connection.pipeline():
        asked = []
        for space in spaces:
            await transaction.enter(space.space_id)
            asked.append((space, await transaction.execute(_SQL[statement], **parameters)))
        return {space: [row["conflict_id"] for row in await cursor.fetchall()] for space, cursor in asked}
