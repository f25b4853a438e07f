"""Copies of private texts in shared spaces. Each is a text of its own: it outlives the erasure of its original, so whoever erases that is told."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from commonlore.db.erasure.scope import Plan, spaces
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements

_SQL = statements("erasure_scope")


async def standing_copies(transaction: TeamTransaction, plan: Plan) -> list[UUID]:
    """Copies of what goes that stay, in the shared spaces that are open, by id; retracted ones too. Called once what goes is hidden, and no space is fenced."""
    whole = {space.space_id for space in plan.whole}
    evidence = [key for doomed in plan.items.values() for key in doomed.evidence]
    rows = await (await transaction.execute(_SQL["copies_of"], evidence_ids=evidence, space_ids=sorted(whole))).fetchall()
    copies: dict[UUID, list[UUID]] = {}
    for row in rows:
        copies.setdefault(row["target_space_id"], []).append(row["evidence_id"])
    return sorted(await _present(transaction, copies, whole)) if copies else []


async def _present(transaction: TeamTransaction, copies: dict[UUID, list[UUID]], whole: Collection[UUID]) -> set[UUID]:
    found: set[UUID] = set()
    for space in await spaces(transaction, "shared_spaces"):
        if space.space_id in copies and space.space_id not in whole:
            await transaction.enter(space.space_id)
            cursor = await transaction.execute(_SQL["present_texts"], evidence_ids=copies[space.space_id])
            found |= {row["evidence_id"] for row in await cursor.fetchall()}
    return found
