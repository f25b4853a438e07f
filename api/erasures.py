"""Operations of erasure over the assembled adapters: authenticate, require the scope, act in one transaction, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import msgspec

from commonlore.api.admitting import Admitting
from commonlore.api.erasures_table import (
    MOST_COPIES,
    BegunErasure,
    ErasureEntry,
    ErasureList,
    ErasurePreview,
    ExportEntry,
    ExportList,
    HoldEntry,
    HoldList,
    PromotedCopies,
    SignedReceipt,
)
from commonlore.db.erasure import exports, holds, reading
from commonlore.db.erasure.erasing import Begun, Eraser
from commonlore.db.erasure.exports import Export
from commonlore.db.erasure.holds import Hold
from commonlore.db.erasure.reading import ErasureReport
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.erasure.request import (
    DeleteRequest,
    EraseRequest,
    ErasureRequest,
    ErasureTarget,
    ExportRequest,
    HoldRequest,
    ListErasuresRequest,
    ListExportsRequest,
    ListHoldsRequest,
    PlaceHoldRequest,
    require_state,
    require_typed,
)
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import render_if_any, render_instant


class _Undone(Exception):
    """A preview is over: its transaction is rolled back."""


@asynccontextmanager
async def _destroying(to: Admitting, key: PresentedKey) -> AsyncIterator[tuple[Eraser, TeamTransaction, datetime]]:
    """The transaction of a key with the scope `destroy`, which no other scope stands for."""
    adapters = to.adapters
    now = adapters.clock()
    async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
        to.note(actor)
        actor.require("destroy")
        yield Eraser(transaction, actor, now), transaction, now


class ErasureAdministration(Admitting):
    """`ErasureOperations`."""

    __slots__ = ()

    async def preview_erasure(self, key: PresentedKey, request: ErasureTarget, *, correlation_id: str) -> ErasurePreview:
        request.validate()
        try:
            async with _destroying(self, key) as (eraser, _, _):
                begun = await eraser.begin(request, reason="preview")
                raise _Undone
        except _Undone:
            counted = begun.counted
        return {
            "target_kind": counted.target_kind,
            "target_id": str(counted.target_id),
            "counts": dict(counted.counts),
            "promoted_copies": _copies(counted.copies),
            "holds": [str(hold) for hold in counted.holds],
            "confirmation": counted.typed,
            "confirmation_token": counted.token,
        }

    async def erase(self, key: PresentedKey, request: EraseRequest, *, correlation_id: str) -> BegunErasure:
        request.validate()
        async with _destroying(self, key) as (eraser, transaction, _):
            begun = await eraser.begin(request, reason=request.reason)
            _require_confirmed(begun, request)
            return _begun(await reading.describe_erasure(transaction, begun.erasure_id), begun)

    async def delete_space_or_team(self, key: PresentedKey, request: DeleteRequest, *, correlation_id: str) -> BegunErasure:
        request.validate()
        target = ErasureTarget(target_kind=request.target_kind, target_id=request.target_id)
        async with _destroying(self, key) as (eraser, transaction, _):
            begun = await eraser.begin(target, reason=request.reason, purge_after=timedelta(days=request.purge_after_days))
            _require_confirmed(begun, request)
            return _begun(await reading.describe_erasure(transaction, begun.erasure_id), begun)

    async def restore(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> ErasureEntry:
        async with _destroying(self, key) as (_, transaction, now):
            return _entry(await reading.restore(transaction, request.erasure_id, now=now))

    async def list_erasures(self, key: PresentedKey, request: ListErasuresRequest, *, correlation_id: str) -> ErasureList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            found = await reading.list_erasures(transaction, item_id=request.item_id, limit=request.limit)
        return {"erasures": [_entry(item) for item in found]}

    async def describe_erasure(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> ErasureEntry:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return _entry(await reading.describe_erasure(transaction, request.erasure_id))

    async def read_receipt(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> SignedReceipt:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return {"receipt": msgspec.json.decode(await reading.read_receipt(transaction, request.erasure_id))}

    async def place_hold(self, key: PresentedKey, request: PlaceHoldRequest, *, correlation_id: str) -> HoldEntry:
        request.validate()
        async with self._admitted(key) as (actor, transaction, now):
            return _hold(await holds.place(transaction, request, profile_id=actor.profile_id, now=now))

    async def release_hold(self, key: PresentedKey, request: HoldRequest, *, correlation_id: str) -> HoldEntry:
        async with self._admitted(key) as (actor, transaction, now):
            return _hold(await holds.release(transaction, request.hold_id, profile_id=actor.profile_id, now=now))

    async def list_holds(self, key: PresentedKey, request: ListHoldsRequest, *, correlation_id: str) -> HoldList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            found = await holds.list_holds(transaction, released=request.released, limit=request.limit)
        return {"holds": [_hold(item) for item in found]}

    async def list_exports(self, key: PresentedKey, request: ListExportsRequest, *, correlation_id: str) -> ExportList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return {"exports": [_export(item) for item in await exports.list_exports(transaction, limit=request.limit)]}

    async def destroy_export(self, key: PresentedKey, request: ExportRequest, *, correlation_id: str) -> ExportEntry:
        async with self._admitted(key) as (_, transaction, now):
            return _export(await exports.destroy_export(transaction, request.export_id, now=now))


def _require_confirmed(begun: Begun, request: EraseRequest | DeleteRequest) -> None:
    """Raised after the work and before the commit, which it undoes.

    Raises:
        Incorrect: something else was typed.
        Conflict: `legal_hold`; `stale_input`, the state is another than that of the preview.
    """
    counted = begun.counted
    require_typed(request.confirmation, counted.typed, counted.target_kind)
    holds.require_free(counted.holds)
    require_state(request.confirmation_token, counted.token)


def _entry(report: ErasureReport) -> ErasureEntry:
    return {
        "erasure_id": str(report.erasure_id),
        "target_kind": report.target_kind,
        "target_sha256": report.target_sha256.hex(),
        "reason": report.reason,
        "actor_profile_id": str(report.actor_profile_id),
        "state": report.state,
        "known_from": render_instant(report.known_from),
        "purge_at": render_if_any(report.purge_at),
        "restored_at": render_if_any(report.restored_at),
        "finished_at": render_if_any(report.finished_at),
    }


def _begun(report: ErasureReport, begun: Begun) -> BegunErasure:
    counts: Mapping[str, int] = begun.counted.counts
    more = {"counts": dict(counts), "promoted_copies": _copies(begun.counted.copies), "job_id": str(begun.job_id) if begun.job_id else None}
    return cast(BegunErasure, {**_entry(report), **more})


def _copies(copies: Sequence[UUID]) -> PromotedCopies:
    return {"count": len(copies), "evidence_ids": [str(key) for key in copies[:MOST_COPIES]]}


def _hold(hold: Hold) -> HoldEntry:
    return {
        "hold_id": str(hold.hold_id),
        "target_kind": hold.target_kind,
        "target_id": str(hold.target_id),
        "reason": hold.reason,
        "placed_by": str(hold.placed_by),
        "known_from": render_instant(hold.known_from),
        "released_by": str(hold.released_by) if hold.released_by else None,
        "released_at": render_if_any(hold.released_at),
    }


def _export(item: Export) -> ExportEntry:
    return {
        "export_id": str(item.export_id),
        "export_kind": item.export_kind,
        "space_ids": None if item.space_ids is None else [str(space_id) for space_id in item.space_ids],
        "file_path": item.file_path,
        "byte_count": item.byte_count,
        "known_from": render_instant(item.known_from),
        "destroyed_at": render_if_any(item.destroyed_at),
    }
