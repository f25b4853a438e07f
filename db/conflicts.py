"""Cases of conflicting statements over PostgreSQL, reviewed in the write that changed what stands.

Every way that writes relationships or what supports them calls `review_conflicts` after its rows are written, in the same
transaction, holding the ledger lock of the space.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.communities import note_stale
from commonlore.db.hypotheses import note_changed
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.conflict.policy import POLICY_VERSION
from commonlore.domain.conflict.review import OpenCase, Review, review
from commonlore.domain.conflict.scope import ConflictScope, Standing, Target
from commonlore.domain.ids import new_id

_SQL = statements("conflict")
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Stored:
    """An open case as it is stored, with what its next events go on from."""

    case: OpenCase
    last_ordinal: int
    last_known_from: datetime


@dataclass(frozen=True, slots=True)
class Write:
    """The actor and instant of one write to a case. `known_from` is never before that of the case's last event."""

    transaction: TeamTransaction
    profile_id: UUID | None
    now: datetime


async def review_conflicts(transaction: TeamTransaction, relationship_ids: Sequence[UUID], *, profile_id: UUID | None, now: datetime) -> list[UUID]:
    """Bring the cases of the relationships' scopes in step with what stands there now; returns the ids of cases that changed.

    Communities that show a relationship which no longer counts are told as well, and hypotheses that it ends.

    `relationship_ids`: every relationship whose status, support or wording this write may have changed, old and new alike.
    One statement when none of them is contested. The caller holds the ledger lock of the space.
    """
    if not relationship_ids:
        return []
    async with transaction.connection.pipeline():
        await note_stale(transaction, relationship_ids, now=now)
        await note_changed(transaction, relationship_ids, now=now)
        cursor = await transaction.execute(_SQL["contested_scopes"], relationship_ids=list(relationship_ids))
    return await review_scopes(transaction, [_scope(row) for row in await cursor.fetchall()], profile_id=profile_id, now=now)


async def review_scopes(transaction: TeamTransaction, scopes: Sequence[ConflictScope], *, profile_id: UUID | None, now: datetime) -> list[UUID]:
    """`review_conflicts` for scopes that are known already."""
    if not scopes:
        return []
    keys = [scope.semantic_scope_key for scope in scopes]
    async with transaction.connection.pipeline():
        asked = [
            await transaction.execute(
                _SQL["standing"],
                subjects=[scope.subject_entity_id for scope in scopes],
                predicates=[scope.predicate_key for scope in scopes],
                polarities=[scope.polarity for scope in scopes],
                scope_keys=[scope.scope_key for scope in scopes],
            ),
            await transaction.execute(_SQL["open_cases"], case_keys=keys),
            await transaction.execute(_SQL["settled_cases"], case_keys=keys),
        ]
        standing, cases, settled = [await cursor.fetchall() for cursor in asked]
    by_scope: dict[ConflictScope, list[Standing]] = defaultdict(list)
    for row in standing:
        by_scope[_scope(row)].append(_standing(row))
    stored = {row["case_key"]: _stored(row) for row in cases}
    let_stand: dict[str, list[frozenset[Target]]] = defaultdict(list)
    for row in settled:
        let_stand[row["case_key"]].append(frozenset(Target(UUID(key), is_entity) for key, is_entity in row["targets"]))
    changed = []
    for scope, key in zip(scopes, keys, strict=True):
        found = stored.get(key)
        result = review(found.case if found else None, by_scope[scope], let_stand[key])
        write = Write(transaction, profile_id, max(now, found.last_known_from) if found else now)
        if result.outcome == "open":
            changed.append(await _open(write, scope, by_scope[scope], result))
        elif result.outcome != "nothing" and found is not None:
            changed.append(await _apply(write, found, result))
    return changed


async def _open(write: Write, scope: ConflictScope, standing: Sequence[Standing], result: Review) -> UUID:
    transaction = write.transaction
    names = await (await transaction.execute(_SQL["subject_names"], entity_ids=[scope.subject_entity_id])).fetchall()
    rules = await (await transaction.execute(_SQL["review_rules"])).fetchone()
    assert rules is not None
    conflict_id = new_id()
    positions = {target: new_id() for target in result.targets}
    events = [_event("opened"), *_changes(result, positions)]
    days = rules["conflict_review_days"]
    await transaction.execute(
        _SQL["insert_case"],
        conflict_id=conflict_id,
        kind="cross_profile_current_state",
        case_key=scope.semantic_scope_key,
        question=scope.question(names[0]["display_name"] if names else str(scope.subject_entity_id)),
        last_ordinal=len(events),
        positions_truncated=result.positions_truncated,
        subject_entity_id=scope.subject_entity_id,
        predicate_key=scope.predicate_key,
        predicate_version=max(item.predicate_version for item in standing),
        polarity=scope.polarity,
        scope_key=scope.scope_key,
        policy_version=POLICY_VERSION,
        review_days=days,
        review_due_at=write.now + timedelta(days=days),
        now=write.now,
    )
    await _insert(write, conflict_id, result, positions, first_no=1)
    await write_events(write, conflict_id, events, version=1, after=0)
    return conflict_id


async def _apply(write: Write, stored: _Stored, result: Review) -> UUID:
    case = stored.case
    added = {target: new_id() for target in result.targets}
    newly_truncated = result.positions_truncated and not case.positions_truncated
    events = _changes(result, {**case.positions, **added}, truncated=newly_truncated)
    await _insert(write, case.conflict_id, result, {**case.positions, **added}, first_no=len(case.positions) + 1)
    if result.outcome == "dismiss":
        events.append(_event("dismissed", reason="a side no longer stands"))
        await close_case(
            write, case.conflict_id, "dismissed", closed_by="write", version=case.version + 1, last_ordinal=stored.last_ordinal + len(events)
        )
    else:
        await write.transaction.execute(
            _SQL["change_case"],
            conflict_id=case.conflict_id,
            version=case.version + 1,
            last_ordinal=stored.last_ordinal + len(events),
            positions_truncated=result.positions_truncated,
        )
    await write_events(write, case.conflict_id, events, version=case.version + 1, after=stored.last_ordinal)
    return case.conflict_id


def _changes(result: Review, positions: Mapping[Target, UUID], *, truncated: bool | None = None) -> list[Event]:
    """The events of a review, in the order: positions, members that joined, supports that left."""
    cut = result.positions_truncated if truncated is None else truncated
    return [
        *(_event("position_added", position_id=positions[target]) for target in result.targets),
        *([_event("positions_truncated")] if cut else []),
        *(_event("member_added", position_id=positions[item.target], support_id=item.support_id) for item in result.joined),
        *(_event("member_left", support_id=key) for key in result.left),
    ]


async def _insert(write: Write, conflict_id: UUID, result: Review, positions: Mapping[Target, UUID], *, first_no: int) -> None:
    transaction = write.transaction
    if result.targets:
        rows = [
            {
                "position_id": positions[target],
                "position_no": number,
                "object_entity_id" if target.is_entity else "object_value_id": target.object_id,
            }
            for number, target in enumerate(result.targets, start=first_no)
        ]
        await transaction.execute(_SQL["insert_positions"], conflict_id=conflict_id, now=write.now, rows=_json(rows))
    if result.joined:
        members = [_member(item, positions[item.target]) for item in result.joined]
        await transaction.execute(_SQL["insert_members"], conflict_id=conflict_id, now=write.now, rows=_json(members))


def _member(item: Standing, position_id: UUID) -> dict[str, object]:
    names = (
        "support_id",
        "relationship_id",
        "owner_profile_id",
        "verification_event_id",
        "evidence_id",
        "source_group_key",
        "authority",
        "accepted_at",
    )
    basis = {"effective_at": item.effective_at, "effective_time_basis": item.effective_time_basis}
    return {"position_id": position_id, **basis, **{name: getattr(item, name) for name in names}}


async def write_events(write: Write, conflict_id: UUID, events: Sequence[Event], *, version: int, after: int) -> None:
    """Append the events of one version, numbered from `after` on."""
    rows = [{"ordinal": ordinal, **event} for ordinal, event in enumerate(events, start=after + 1)]
    await write.transaction.execute(
        _SQL["insert_events"], conflict_id=conflict_id, version=version, profile_id=write.profile_id, now=write.now, rows=_json(rows)
    )


async def close_case(
    write: Write,
    conflict_id: UUID,
    status: str,
    *,
    closed_by: str,
    version: int,
    last_ordinal: int,
    preferred_position_id: UUID | None = None,
    effective_at: datetime | None = None,
    effective_time_basis: str | None = None,
) -> None:
    await write.transaction.execute(
        _SQL["close_case"],
        conflict_id=conflict_id,
        status=status,
        closed_by=closed_by,
        version=version,
        last_ordinal=last_ordinal,
        preferred_position_id=preferred_position_id,
        effective_at=effective_at,
        effective_time_basis=effective_time_basis,
        now=write.now,
    )


def _event(action: str, *, reason: str = "written", **fields: object) -> Event:
    return {"action": action, "reason": reason, **fields}


def _json(rows: object) -> str:
    return msgspec.json.encode(rows).decode()


def _scope(row: Mapping[str, Any]) -> ConflictScope:
    return ConflictScope(row["subject_entity_id"], row["predicate_key"], row["polarity"], row["scope_key"])


def _standing(row: Mapping[str, Any]) -> Standing:
    is_entity = row["object_entity_id"] is not None
    names = (
        "relationship_id",
        "owner_profile_id",
        "predicate_version",
        "valid_from",
        "valid_to",
        "support_id",
        "verification_event_id",
        "evidence_id",
    )
    return Standing(
        target=Target(row["object_entity_id"] if is_entity else row["object_value_id"], is_entity),
        source_group_key=row["source_group_key"],
        authority=row["authority"],
        accepted_at=row["accepted_at"],
        **{name: row[name] for name in names},
    )


def _stored(row: Mapping[str, Any]) -> _Stored:
    positions = {Target(UUID(key), is_entity): UUID(position_id) for position_id, key, is_entity in row["positions"]}
    case = OpenCase(row["conflict_id"], row["version"], positions, frozenset(row["members"]), row["positions_truncated"])
    return _Stored(case, row["last_ordinal"], row["last_known_from"])
