"""Hypotheses as agents list them, look at one and decide it, and as administrators switch them, each inside an open transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.hypotheses import hypothesis_row, own_rules
from commonlore.db.ledger import LedgerSession
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.sql import statements
from commonlore.domain.community.schedule import CommunitySchedule
from commonlore.domain.errors import NotVisible
from commonlore.domain.hypothesis.feedback import Standing, becomes
from commonlore.domain.hypothesis.request import ResolveDreamRequest
from commonlore.domain.hypothesis.result import Derivation, HypothesisDetail, HypothesisEvent
from commonlore.domain.hypothesis.rules import Rule
from commonlore.domain.hypothesis.wording import Grounds, Said, rationale
from commonlore.domain.recall.hypothesis import HypothesisRow
from commonlore.domain.recall.hypothesis_lane import hypothesis_item
from commonlore.domain.submission import Claim
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock

_SQL = statements("hypothesis")


async def page_hypotheses(
    transaction: TeamTransaction, spaces: Sequence[Space], *, status: str | None, before: UUID | None, most: int
) -> list[tuple[Space, HypothesisRow]]:
    """Hypotheses of all the spaces before an id, the newest first; at most `most`."""
    found = []
    async with transaction.connection.pipeline():
        asked = []
        for space in spaces:
            await transaction.enter(space.space_id)
            asked.append((space, await transaction.execute(_SQL["page"], status=status, before=before, most=most)))
        for space, cursor in asked:
            found += [(space, hypothesis_row(row)) for row in await cursor.fetchall()]
    return sorted(found, key=lambda item: item[1].hypothesis_id, reverse=True)[:most]


async def read_detail(transaction: TeamTransaction, spaces: Sequence[Space], hypothesis_id: UUID) -> HypothesisDetail:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    for space in spaces:
        await transaction.enter(space.space_id)
        row = await (await transaction.execute(_SQL["detail"], hypothesis_id=hypothesis_id)).fetchone()
        if row is not None:
            derived = await (await transaction.execute(_SQL["derivations"], hypothesis_id=hypothesis_id)).fetchall()
            events = await (await transaction.execute(_SQL["events"], hypothesis_id=hypothesis_id)).fetchall()
            return _detail(space, row, derived, events)
    raise _absent()


def _detail(space: Space, row: Mapping[str, Any], derived: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]) -> HypothesisDetail:
    first, second = (Said(item["subject_name"], item["predicate_key"], item["object_name"], item["scope_key"]) for item in derived)
    names = ("likelihood", "record", "strength", "tested", "closed", "first_key", "second_key")
    grounds = Grounds(kind=row["rule_kind"], conclusion_key=row["predicate_key"], **{name: row[name] for name in names})
    sources = [(str(item["relationship_id"]), str(item["evidence_id"])) for item in derived]
    return HypothesisDetail(
        hypothesis=hypothesis_item(hypothesis_row(row, sources=sources), space),
        version=row["version"],
        rationale=rationale(grounds, (first, second)),
        updated_at=row["updated_at"],
        derivations=[_derivation(item, said) for item, said in zip(derived, (first, second), strict=True)],
        events=[HypothesisEvent(**_given(item)) for item in events],
        **{name: row[name] for name in ("invalidated_reason", "submission_id") if row[name] is not None},
    )


def _derivation(row: Mapping[str, Any], said: Said) -> Derivation:
    own = {name: value for name, value in _given(row).items() if name in Derivation.__struct_fields__}
    return Derivation(statement=said.sentence, **own)


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


# -- decisions


async def find_standing(transaction: TeamTransaction, spaces: Sequence[Space], hypothesis_id: UUID) -> tuple[Space, Standing]:
    """The hypothesis in the space that has it; that space stays open.

    Raises:
        NotVisible: absent and foreign alike.
    """
    for space in spaces:
        await transaction.enter(space.space_id)
        row = await (await transaction.execute(_SQL["read_standing"], hypothesis_id=hypothesis_id)).fetchone()
        if row is not None:
            return space, Standing(**row)
    raise _absent()


async def decide(transaction: TeamTransaction, actor: Actor, request: ResolveDreamRequest, hypothesis_id: UUID, *, now: datetime) -> bool:
    """Change the state of a hypothesis of the open space; False where it stands so already.

    Raises:
        Conflict: `stale_input`, it is over otherwise.
    """
    standing = await _lock(transaction, hypothesis_id)
    status = becomes(standing, request.decision)
    if status is not None:
        await _decide(transaction, actor, standing, request, status=status, submission_id=None, now=now)
    return status is not None


async def _lock(transaction: TeamTransaction, hypothesis_id: UUID) -> Standing:
    row = await (await transaction.execute(_SQL["lock_standing"], hypothesis_id=hypothesis_id)).fetchone()
    if row is None:
        raise _absent()
    return Standing(**row)


async def _decide(
    transaction: TeamTransaction,
    actor: Actor,
    standing: Standing,
    request: ResolveDreamRequest,
    *,
    status: str,
    submission_id: UUID | None,
    now: datetime,
) -> None:
    await transaction.execute(
        _SQL["decide"],
        hypothesis_id=standing.hypothesis_id,
        status=status,
        decision=request.decision,
        reason=request.reason or request.decision,
        actor_profile_id=actor.profile_id,
        submission_id=submission_id,
        now=now,
    )


def _absent() -> NotVisible:
    return NotVisible("not_found", "no space of this key has a hypothesis of this id")


@dataclass(slots=True)
class Confirmation:
    """What a confirming write came to. `disposition` is None where the write was answered from a stored submission."""

    disposition: str | None = None


@dataclass(frozen=True, slots=True)
class ConfirmingLedger:
    """A ledger whose write decides a hypothesis as well, in the same transaction: both are there, or neither is."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    request: ResolveDreamRequest
    confirmation: Confirmation

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms, snapshot=True) as (actor, transaction):
            yield LedgerSession(actor, transaction)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            yield _ConfirmingSession(actor, transaction, self.request, self.confirmation)


class _ConfirmingSession(LedgerSession):
    """Locks the hypothesis after the ledger, as every write does that ends one, and decides it when the rows are written."""

    def __init__(self, actor: Actor, transaction: TeamTransaction, request: ResolveDreamRequest, confirmation: Confirmation) -> None:
        super().__init__(actor, transaction)
        self._request, self._confirmation = request, confirmation
        self._standing: Standing | None = None
        self._instant: datetime | None = None

    async def lock_ledger(self, now: datetime) -> datetime:
        self._instant = await super().lock_ledger(now)
        if self._standing is None:
            self._standing = await _lock(self._transaction, self._request.hypothesis_id)
            becomes(self._standing, self._request.decision)
            await self._hold("submitted")
        return self._instant

    async def conclude_submission(self, claim: Claim, result: msgspec.Struct | dict[str, Any]) -> None:
        await super().conclude_submission(claim, result)
        standing = self._standing
        assert standing is not None and self._instant is not None
        polarity = "+" if self._request.decision == "confirm_true" else "-"
        parameters = {"hypothesis_id": standing.hypothesis_id, "polarity": polarity, "profile_id": self.actor.profile_id}
        row = await (await self._transaction.execute(_SQL["is_said"], **parameters)).fetchone()
        if row is None or not row["is_said"]:
            self._confirmation.disposition = "not_stored"
            await self._hold(standing.status)
        elif becomes(standing, self._request.decision) is None:
            self._confirmation.disposition = "unchanged"
        else:
            self._confirmation.disposition = "changed"
            await _decide(
                self._transaction, self.actor, standing, self._request, status="submitted", submission_id=claim.submission_id, now=self._instant
            )

    async def _hold(self, status: str) -> None:
        assert self._standing is not None
        await self._transaction.execute(_SQL["hold"], hypothesis_id=self._standing.hypothesis_id, status=status)


# -- administration


@dataclass(frozen=True, slots=True)
class HypothesisState:
    """The open space as an administrator sees it."""

    enabled: bool
    outputs: int
    schedule: CommunitySchedule
    counts: Mapping[str, int]
    own_rules: Mapping[Rule, bool]
    runs: list[dict[str, Any]]


async def read_state(transaction: TeamTransaction, *, runs: int) -> HypothesisState:
    row = await (await transaction.execute(_SQL["read_gate"])).fetchone()
    assert row is not None
    return HypothesisState(
        enabled=bool(row["enabled"]),
        outputs=row["outputs"] or 20,
        schedule=CommunitySchedule(row["community_time_zone"], row["community_start_minute"]),
        counts=row["counts"] or {},
        own_rules=own_rules(await (await transaction.execute(_SQL["read_rules"])).fetchall()),
        runs=await (await transaction.execute(_SQL["latest_runs"], most=runs)).fetchall(),
    )


async def switch(transaction: TeamTransaction, *, enabled: bool | None, outputs: int | None, now: datetime) -> None:
    """Hypotheses of the open space on or off, and how many a run proposes at most; what is None stays."""
    await transaction.execute(_SQL["switch_gate"], enabled=enabled, outputs=outputs, now=now)


async def set_rules(transaction: TeamTransaction, rules: Mapping[Rule, bool], *, actor_profile_id: UUID, now: datetime) -> None:
    """Whether each of the rules counts in the open space."""
    for rule, enabled in sorted(rules.items()):
        await transaction.execute(
            _SQL["set_rule"],
            rule_kind=rule.kind,
            first_key=rule.first,
            second_key=rule.second,
            conclusion_key=rule.conclusion,
            enabled=enabled,
            actor_profile_id=actor_profile_id,
            now=now,
        )
