"""Merges, splits and names of entities in an open space, and their reversal. Each takes the ledger lock before it reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.identity_rows import meeting_ids, read_held, related_ids, write_plan, write_standings
from commonlore.db.rendering import rerender, rewrite
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.submissions import StoredSubmissions, lock_ledger
from commonlore.domain.correct.identity import CurrentScope, Done, Held, Plan, plan_moves, take_back
from commonlore.domain.errors import Conflict, NotVisible, invalid
from commonlore.domain.ids import new_id
from commonlore.domain.text.normalise import name_key

_SQL = statements("identity")
_MOST_NAMES = 1_000
# Relationships that one merge or split may lock: those that move, and those that they may meet.
MOST_LOCKED = 2_000


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that is locked for the transaction."""

    entity_id: UUID
    entity_kind: str
    status: str
    name: str
    name_key: str
    canonical_id: UUID


@dataclass(frozen=True, slots=True)
class Act:
    """Who decides in which open space, why, and at which instant. The ids of the actor are None for whoever holds the database."""

    transaction: TeamTransaction
    space_id: UUID
    reason: str
    actor_profile_id: UUID | None
    now: datetime
    credential_id: UUID | None = None

    @property
    def submissions(self) -> StoredSubmissions:
        return StoredSubmissions(self.transaction, self.actor_profile_id, self.credential_id)

    async def locked(self) -> Act:
        """The act at the instant that the ledger lock gives it."""
        return replace(self, now=await lock_ledger(self.transaction, self.now))


async def merge(act: Act, from_id: UUID, to_id: UUID, *, apply: bool) -> dict[str, Any]:
    """Let everything of one entity be said of another; without `apply` say only what would happen.

    Raises:
        Incorrect: both are the same. NotVisible: an id names no entity.
        Conflict: `stale_input`, one is retired; `merge_too_large`, more than `MOST_LOCKED` relationships would be locked.
    """
    if from_id == to_id:
        raise invalid("/to_entity_id", "expected another entity")
    act = await act.locked()
    found = {key: await active_entity(act, key) for key in sorted((from_id, to_id))}
    source, target = found[from_id], found[to_id]
    plan = await _plan(act, source.entity_id, target, await related_ids(act.transaction, from_id))
    names = await _learnable(act, source.entity_id, target.entity_id)
    shown = _shown(plan, source, target, [name["name"] for name in names])
    if not apply:
        return {"correction_id": None, **shown}
    correction_id = await _record(act, "merge", from_id, to_id)
    await write_plan(act.transaction, plan, correction_id, act.actor_profile_id, act.space_id, act.now)
    for name in names:
        await _add_name(act, target, name["name"], name["name_key"], "alias", correction_id)
    await act.transaction.execute(_SQL["set_entity"], entity_id=from_id, status="retired", merged_into=to_id)
    return {"correction_id": correction_id, **shown}


async def split(act: Act, entity_id: UUID, relationship_ids: Collection[UUID], *, name: str, entity_kind: str | None, apply: bool) -> dict[str, Any]:
    """Let some relationships of an entity be said of a new one instead.

    Raises:
        NotVisible, Conflict: as `merge`. Incorrect: a relationship does not name the entity, or stands for another one.
    """
    act = await act.locked()
    source = await active_entity(act, entity_id)
    related = set(await related_ids(act.transaction, entity_id))
    for place, key in enumerate(relationship_ids):
        if key not in related:
            raise invalid(f"/relationship_ids/{place}", "expected a relationship that names the entity now")
    made = Named(new_id(), entity_kind or source.entity_kind, "active", name, _key(name), new_id())
    plan = await _plan(act, entity_id, made, list(relationship_ids))
    shown = _shown(plan, source, made, [])
    if not apply:
        return {"correction_id": None, **shown, "to_entity_id": None}
    await act.transaction.execute(_SQL["add_entity"], entity_id=made.entity_id, entity_kind=made.entity_kind, now=act.now)
    correction_id = await _record(act, "split", entity_id, made.entity_id)
    await _add_name(act, made, name, made.name_key, "canonical", correction_id)
    await write_plan(act.transaction, plan, correction_id, act.actor_profile_id, act.space_id, act.now)
    return {"correction_id": correction_id, **shown}


async def reverse(act: Act, correction_id: UUID) -> dict[str, Any]:
    """Take a merge or a split back. Later corrections of the same entities are taken back first.

    Raises:
        NotVisible: no merge or split of this id. Conflict: `stale_input`, it was taken back, or something was built on it since.
    """
    act = await act.locked()
    row = await (await act.transaction.execute(_SQL["read_correction"], correction_id=correction_id)).fetchone()
    if row is None or row["action"] not in ("merge", "split"):
        raise NotVisible("not_found", "no merge or split of this id is in this space")
    kept, gone = (row["to_entity_id"], row["from_entity_id"]) if row["action"] == "merge" else (row["from_entity_id"], row["to_entity_id"])
    if row["is_reversed"]:
        raise Conflict("stale_input", "the correction was taken back already")
    await active_entity(act, kept)
    items = await (await act.transaction.execute(_SQL["read_items"], correction_id=correction_id)).fetchall()
    done, revoked = await _done(act, items, since=row["known_from"])
    await _require_free(act, row, done)
    scopes = await _held_scopes(act, done)
    reversal_id = await _record(act, "reverse", row["from_entity_id"], row["to_entity_id"], reverses_id=correction_id)
    standings = take_back(done, held_scopes=scopes, now=act.now)
    await write_standings(act.transaction, standings, revoked, act.actor_profile_id, act.now)
    ends = {item.target.relationship_id: item.target.valid_to for item in done if item.target is not None}
    await rewrite(
        act.transaction, act.space_id, [row.relationship_id for row in standings if ends.get(row.relationship_id, row.valid_to) != row.valid_to]
    )
    await _end_names(act, correction_id, kept)
    status, merged_into = ("active", None) if row["action"] == "merge" else ("retired", kept)
    await act.transaction.execute(_SQL["set_entity"], entity_id=gone, status=status, merged_into=merged_into)
    return {"correction_id": reversal_id, "reverses_id": correction_id, "restored_relationship_ids": [item.source.relationship_id for item in done]}


async def rename(act: Act, entity_id: UUID, name: str) -> dict[str, Any]:
    """Give an entity another canonical name; the old one stays as a former name with its time, and its documents are written anew.

    Raises:
        NotVisible, Conflict: as `merge`. Incorrect: it is called so already.
    """
    act = await act.locked()
    entity = await active_entity(act, entity_id)
    if entity.name == name:
        raise invalid("/name", "expected another name than the one it has")
    key = _key(name)
    names = await current_names(act.transaction, entity_id)
    ended = [entity.canonical_id, *(row["entity_name_id"] for row in names if row["name_kind"] == "alias" and row["name_key"] == key)]
    correction_id = await _record(act, "rename", entity_id, entity_id)
    await act.transaction.execute(_SQL["end_name"], entity_name_ids=ended, now=act.now)
    await _add_name(act, entity, name, key, "canonical", correction_id)
    written, waiting = await rerender(act.transaction, act.space_id, entity_id)
    return {
        "correction_id": correction_id,
        "former_name": entity.name,
        "namesake_entity_ids": await _namesakes(act, entity_id, key),
        "documents_written": written,
        "documents_waiting": waiting,
    }


async def add_alias(act: Act, entity_id: UUID, name: str) -> dict[str, Any]:
    """Another name under which the entity is found.

    Raises:
        NotVisible, Conflict: as `merge`. Incorrect: it carries the name already.
    """
    act = await act.locked()
    entity, key = await active_entity(act, entity_id), _key(name)
    if any(row["name_key"] == key for row in await current_names(act.transaction, entity_id)):
        raise invalid("/name", "expected a name that the entity does not carry yet")
    correction_id = await _record(act, "add_alias", entity_id, entity_id)
    await _add_name(act, entity, name, key, "alias", correction_id)
    return {"correction_id": correction_id, "name": name, "namesake_entity_ids": await _namesakes(act, entity_id, key)}


async def _namesakes(act: Act, entity_id: UUID, key: str) -> list[UUID]:
    cursor = await act.transaction.execute(_SQL["namesakes"], entity_id=entity_id, name_key=key)
    return [row["entity_id"] for row in await cursor.fetchall()]


async def active_entity(act: Act, entity_id: UUID) -> Named:
    """
    Raises:
        NotVisible: no entity of this id. Conflict: `stale_input`, it is retired.
    """
    row = await (await act.transaction.execute(_SQL["read_entity"], entity_id=entity_id)).fetchone()
    if row is None:
        raise NotVisible("not_found", "no entity of this id is in this space")
    if row["status"] != "active":
        raise Conflict("stale_input", "the entity is retired; what it was merged into lives on")
    return Named(row["entity_id"], row["entity_kind"], row["status"], row["name"], row["name_key"], row["entity_name_id"])


async def current_names(transaction: TeamTransaction, entity_id: UUID | None, *, most: int = _MOST_NAMES) -> list[dict[str, Any]]:
    """Names that one active entity carries now, or all of them."""
    return await (await transaction.execute(_SQL["current_names"], entity_id=entity_id, most=most)).fetchall()


def _key(name: str) -> str:
    try:
        return name_key(name)
    except ValueError as error:
        raise invalid("/name", str(error)) from error


async def _plan(act: Act, from_id: UUID, to: Named, moving_ids: Sequence[UUID]) -> Plan:
    others_ids = await meeting_ids(act.transaction, to.entity_id, moving_ids)
    if (found := len(moving_ids) + len(others_ids)) > MOST_LOCKED:
        details = {"relationships": found, "most": MOST_LOCKED}
        raise Conflict("merge_too_large", f"{found} relationships would be locked at once, more than {MOST_LOCKED}", details=details)
    held = await read_held(act.transaction, [*moving_ids, *others_ids])
    return plan_moves(
        [held[key] for key in moving_ids],
        [held[key] for key in others_ids],
        from_id=from_id,
        to_id=to.entity_id,
        to_name=to.name,
        new_id=new_id,
        now=act.now,
    )


async def _learnable(act: Act, from_id: UUID, to_id: UUID) -> list[dict[str, Any]]:
    """Names of the one that the other does not carry yet, canonical first."""
    known = {row["name_key"] for row in await current_names(act.transaction, to_id)}
    names = sorted(await current_names(act.transaction, from_id), key=lambda row: (row["name_kind"] != "canonical", row["name_key"]))
    return [row for row in {row["name_key"]: row for row in reversed(names)}.values() if row["name_key"] not in known]


async def _record(act: Act, action: str, from_id: UUID, to_id: UUID, *, reverses_id: UUID | None = None) -> UUID:
    correction_id = new_id()
    await act.transaction.execute(
        _SQL["add_correction"],
        correction_id=correction_id,
        action=action,
        from_entity_id=from_id,
        to_entity_id=to_id,
        reverses_id=reverses_id,
        reason=act.reason,
        actor_profile_id=act.actor_profile_id,
        now=act.now,
    )
    return correction_id


async def _add_name(act: Act, entity: Named, name: str, key: str, kind: str, correction_id: UUID) -> None:
    await act.transaction.execute(
        _SQL["add_name"],
        entity_name_id=new_id(),
        entity_id=entity.entity_id,
        entity_kind=entity.entity_kind,
        display_name=name,
        name_key=key,
        name_kind=kind,
        correction_id=correction_id,
        now=act.now,
    )


async def _end_names(act: Act, correction_id: UUID, entity_id: UUID) -> None:
    """Names that the correction gave to the entity that stays."""
    rows = await (await act.transaction.execute(_SQL["names_of_correction"], correction_id=correction_id, entity_id=entity_id)).fetchall()
    if rows:
        await act.transaction.execute(_SQL["end_name"], entity_name_ids=[row["entity_name_id"] for row in rows], now=act.now)


async def _done(act: Act, items: Sequence[dict[str, Any]], *, since: datetime) -> tuple[list[Done], list[tuple[UUID, UUID]]]:
    """The items with their rows as they stand, and the copied supports to revoke with the author of each."""
    ids = {item["relationship_id"] for item in items} | {item["target_id"] for item in items if item["target_id"]}
    held = await read_held(act.transaction, sorted(ids))
    moved = {item["relationship_id"] for item in items}
    copies = await _copies(held, moved)
    own = {key: set(item.supports.values()) - set(copies.get(key, ())) for key, item in held.items()}
    done = [
        Done(
            effect=item["effect"],
            source=held[item["relationship_id"]],
            status_before=item["status_before"],
            known_to_before=item["known_to_before"],
            target=held[item["target_id"]] if item["target_id"] else None,
            target_before=(item["target_status_before"], item["target_known_to_before"], item["target_valid_to_before"])
            if item["target_id"]
            else None,
            target_status_after=item["target_status_after"],
            own_supports=len(own[item["target_id"]]) if item["target_id"] else 0,
            said_since=sum(held[item["target_id"]].decided_at[key] > since for key in own[item["target_id"]]) if item["target_id"] else 0,
        )
        for item in items
    ]
    return done, [(support_id, held[key].owner_profile_id) for key, found in copies.items() for support_id in found]


async def _copies(held: dict[UUID, Held], moved: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Supports of the targets that are granted and were copied from one of the moved relationships."""
    sources = {support_id for key in moved for support_id in held[key].all_supports}
    return {
        key: [support_id for support_id in (*item.supports.values(), *item.withheld.values()) if item.copied_from.get(support_id) in sources]
        for key, item in held.items()
        if key not in moved
    }


async def _require_free(act: Act, correction: dict[str, Any], done: Sequence[Done]) -> None:
    """
    Raises:
        Conflict: `stale_input`, a target stands for another row, or a row to restore was stated anew.
    """
    if any(item.target is not None and item.target.alias_of is not None for item in done):
        raise Conflict("stale_input", "a later correction moved the same relationships; take it back first")
    touched = {key for item in done for key in (item.source.relationship_id, *([item.target.relationship_id] if item.target else []))}
    twins = await _twins(act, {item.source.relationship_id for item in done}, touched)
    if any(row["is_twin"] for row in twins):
        raise Conflict("stale_input", "a relationship was stated anew since; merge the entities instead")
    if correction["action"] == "split":
        own = set(await related_ids(act.transaction, correction["to_entity_id"])) - touched
        if own or any(item.own_supports for item in done):
            raise Conflict("stale_input", "the new entity has relationships of its own by now; merge the entities instead")


async def _twins(act: Act, restored: Collection[UUID], touched: Collection[UUID]) -> list[dict[str, Any]]:
    cursor = await act.transaction.execute(_SQL["canonical_twins"], relationship_ids=sorted(restored), touched_ids=sorted(touched))
    return await cursor.fetchall()


async def _held_scopes(act: Act, done: Sequence[Done]) -> dict[tuple[UUID, CurrentScope], UUID]:
    touched = {key for item in done for key in (item.source.relationship_id, *([item.target.relationship_id] if item.target else []))}
    return {
        (row["owner_profile_id"], (row["subject_entity_id"], row["predicate_key"], row["polarity"], row["valid_from"], row["scope_key"])): row[
            "relationship_id"
        ]
        for row in await _twins(act, touched, touched)
        if row["is_current"]
    }


def _shown(plan: Plan, source: Named, target: Named, names: Sequence[str]) -> dict[str, Any]:
    """What changes, for a person who decides: the first hundred relationships of each kind, and how many there are."""
    moved = [move for move in plan.moves if move.created]
    return {
        "from_entity_id": source.entity_id,
        "from_name": source.name,
        "to_entity_id": target.entity_id,
        "to_name": target.name,
        "kinds_differ": source.entity_kind != target.entity_kind,
        "names_learned": list(names),
        "repointed": _listed(moved),
        "joined": _listed(plan.joined),
        "displaced": {"count": len(plan.displaced), "relationship_ids": [held.relationship_id for held, _, _ in plan.displaced[:100]]},
    }


def _listed(moves: Sequence[Any]) -> dict[str, Any]:
    first = [
        {"relationship_id": move.source.relationship_id, "target_id": None if move.created else move.target.relationship_id} for move in moves[:100]
    ]
    return {"count": len(moves), "relationships": first}
