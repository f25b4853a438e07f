"""What a target means: which spaces go whole, and which rows of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

from commonlore.db.erasure.hiding import Doomed
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.erasure.request import ErasureTarget, TargetKind
from commonlore.domain.errors import NotVisible

_SQL = statements("erasure_scope")
_ROWS = statements("erasure")
# A shorter name stands in too many words to say that a text is about somebody.
_SHORTEST_NAME = 3


@dataclass(frozen=True, slots=True)
class SpaceRow:
    space_id: UUID
    space_kind: str
    name: str | None
    space_epoch: int
    lifecycle_state: str

    @property
    def stays(self) -> bool:
        """The team's own shared space is emptied, never ended, while the team is there."""
        return self.space_kind == "team_shared" and self.name is None


@dataclass(frozen=True, slots=True)
class Plan:
    """`typed`: what the caller types. `is_over`: the member or key was retired or revoked before."""

    typed: str
    whole: tuple[SpaceRow, ...] = ()
    items: dict[UUID, Doomed] = field(default_factory=dict)
    is_over: bool = True


async def plan_erasure(transaction: TeamTransaction, target: ErasureTarget) -> Plan:
    """What the target means in the active spaces of the team.

    Raises:
        NotVisible: nothing of this team; absent, foreign and erased alike.
    """
    kind, typed = target.target_kind, str(target.target_id)
    if kind == "team":
        return await _team(transaction, target.target_id)
    if kind == "space":
        return await _space(transaction, target.target_id)
    if kind == "credential":
        row = await _one(transaction, "read_credential", target.target_id)
        whole = await spaces(transaction, "spaces_of_owner", target_id=target.target_id)
        if not whole:
            raise _nothing(kind)
        return Plan(typed, whole, {}, row["is_over"])
    if kind == "profile":
        row = await _one(transaction, "read_profile", target.target_id)
        whole = await spaces(transaction, "spaces_of_owner", target_id=target.target_id)
        others = await spaces(transaction, "shared_spaces")
        items = await _items(transaction, target, others)
        return Plan(typed, whole, items, row["is_over"])
    active = [space for space in await spaces(transaction, "spaces_of_team") if space.lifecycle_state == "active"]
    items = await _items(transaction, target, active)
    if not items:
        raise _nothing(kind)
    return Plan(typed, (), items)


def _nothing(kind: TargetKind) -> NotVisible:
    return NotVisible("not_found", f"/target_id: there is no such {'entity' if kind == 'subject' else kind} here, or nothing of it")


async def spaces(transaction: TeamTransaction, statement: str, **parameters: object) -> tuple[SpaceRow, ...]:
    """By epoch; those that are active can be entered afterwards."""
    rows = await (await transaction.execute(_SQL[statement], **parameters)).fetchall()
    found = tuple(SpaceRow(**row) for row in rows)
    transaction.epochs |= {space.space_id: space.space_epoch for space in found}
    return found


async def _one(transaction: TeamTransaction, statement: str, target_id: UUID) -> dict[str, Any]:
    row = await (await transaction.execute(_SQL[statement], target_id=target_id)).fetchone()
    if row is None:
        raise NotVisible("not_found", "/target_id: there is nothing of this id in the team")
    return row


async def _space(transaction: TeamTransaction, target_id: UUID) -> Plan:
    [space] = await spaces(transaction, "read_target_space", target_id=target_id) or (None,)
    if space is None:
        raise _nothing("space")
    return Plan(space.name or str(space.space_id), (space,))


async def _team(transaction: TeamTransaction, target_id: UUID) -> Plan:
    row = await (await transaction.execute(_SQL["read_team_name"])).fetchone()
    if target_id != transaction.team_id or row is None:
        raise _nothing("team")
    return Plan(row["name"], await spaces(transaction, "spaces_of_team"))


async def _items(transaction: TeamTransaction, target: ErasureTarget, found: Sequence[SpaceRow]) -> dict[UUID, Doomed]:
    items = {}
    for space in found:
        await transaction.enter(space.space_id)
        if doomed := await _doomed(transaction, target):
            items[space.space_id] = doomed
    return items


async def _doomed(transaction: TeamTransaction, target: ErasureTarget) -> Doomed:
    """What the target means in the open space."""

    async def ids(statement: str, column: str, **parameters: object) -> list[UUID]:
        text: LiteralString = _ROWS[statement]
        rows = await (await transaction.execute(text, target_id=target.target_id, **parameters)).fetchall()
        return [row[column] for row in rows]

    match target.target_kind:
        case "evidence":
            return Doomed(await ids("evidence_by_id", "evidence_id"))
        case "source":
            return Doomed(await ids("evidence_of_source", "evidence_id"))
        case "profile":
            texts, sightings = await ids("evidence_of_profile", "evidence_id"), await ids("occurrences_of_profile", "occurrence_id")
            return Doomed(texts, sightings, await ids("relationships_of_profile", "relationship_id"))
    names = await ids("entity_names", "display_name")
    if not names:
        return Doomed()
    relationships = await ids("relationships_of_subject", "relationship_id")
    evidence = set(await ids("evidence_of_relationships", "evidence_id", relationship_ids=relationships))
    wanted = [name for name in map(str, names) if len(name) >= _SHORTEST_NAME]
    if target.with_mentions and wanted:
        evidence |= set(await ids("evidence_that_names", "evidence_id", names=wanted))
    return Doomed(sorted(evidence), (), relationships, (target.target_id,))
