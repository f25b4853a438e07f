"""The search at the end of an erasure, through every table that the catalogue has, and the receipt that says what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from commonlore.db.erasure.deletion import Catalogue, Deletion, Erasure, Scope
from commonlore.db.erasure.exports import search_file, standing_exports
from commonlore.db.erasure.manifest import rule_of
from commonlore.db.sql import statements
from commonlore.domain.erasure.receipt import CarryingExport, Receipt, Signer, canonical, render, sign

_SQL = statements("erasure_deletion")
_IDS = 200
_PAGE = 200


@dataclass(slots=True)
class Found:
    """What the search found. `searched`: tables by name, over all epochs."""

    left: Counter[str] = field(default_factory=Counter)
    searched: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


async def search_scope(deletion: Deletion, scope: Scope, catalogue: Catalogue, found: Found) -> None:
    """Every table of the catalogue in one epoch: by ids, words and hashes where single texts went, by rows where all of it did.

    A table without a line in the manifest is searched as well, so that what is left in it is told.
    """
    for table in catalogue.tables:
        rule = rule_of(table)
        if rule is not None and rule.keeps_ids:
            continue
        async with deletion.opened(scope) as transaction:
            parameters = {"table_name": table, "quoting": list(rule.quoting) if rule else [], "extent": scope.extent}
            row = await (await transaction.execute(_SQL["left_rows"], erasure_id=deletion.erasure_id, **parameters)).fetchone()
        found.searched.add(table)
        if row and row["row_count"]:
            found.left[table] += row["row_count"]
    async with deletion.opened(scope) as transaction:
        if not scope.is_whole:
            row = await (await transaction.execute(_SQL["left_feedback"], erasure_id=deletion.erasure_id)).fetchone()
            if row and row["row_count"]:
                found.left["feedback_result"] += row["row_count"]
        samples = await (await transaction.execute(_SQL["read_samples"], erasure_id=deletion.erasure_id)).fetchall()
        ids = await (await transaction.execute(_SQL["read_erased_ids"], erasure_id=deletion.erasure_id, limit=_IDS)).fetchall()
    found.words |= {row["sample"] for row in samples} | {str(row["item_id"]) for row in ids}


async def search_exports(deletion: Deletion, scopes: Sequence[Scope], found: Found) -> tuple[CarryingExport, ...]:
    """Every file that was made from a space that it reached into, and is not known as destroyed; the newest first.

    A backup reads what is hidden and not deleted yet, so files that were made since the request count as well.
    """
    spaces, words = [scope.space_id for scope in scopes], sorted(found.words)
    carrying: list[CarryingExport] = []
    before: UUID | None = None
    while True:
        async with deletion.opened() as transaction:
            page = await standing_exports(transaction, spaces, before=before, limit=_PAGE)
        for item in page:
            carrying.append(CarryingExport(item.export_id, item.export_kind, item.known_from, await search_file(Path(item.file_path), words)))
        if len(page) < _PAGE:
            return tuple(carrying)
        before = page[-1].export_id


async def conclude(
    deletion: Deletion,
    erasure: Erasure,
    scopes: Sequence[Scope],
    catalogue: Catalogue,
    found: Found,
    signer: Signer,
    *,
    now: datetime,
    job_id: UUID | None,
) -> Receipt:
    """Search the files, delete the last names, sign the receipt, and forget what the search needed; in one transaction with the last state."""
    exports = await search_exports(deletion, scopes, found)
    async with deletion.opened() as transaction:
        await deletion.end_names(transaction, erasure, job_id)
        rows = await (await transaction.execute(_SQL["read_counts"], erasure_id=deletion.erasure_id)).fetchall()
        receipt = Receipt(
            erasure_id=erasure.erasure_id,
            team_id=deletion.team_id,
            target_kind=erasure.target_kind,
            target_sha256=erasure.target_sha256,
            reason=erasure.reason,
            actor_profile_id=erasure.actor_profile_id,
            actor_credential_id=erasure.actor_credential_id,
            requested_at=erasure.known_from,
            finished_at=now,
            deleted={row["table_name"]: row["row_count"] for row in rows},
            left=dict(found.left),
            tables=len(found.searched),
            samples=len(found.words),
            unclassified=catalogue.unclassified,
            exports=exports,
        )
        for scope in scopes:
            await transaction.enter_erased(deletion.erasure_id, scope.space_epoch)
            await transaction.execute(_SQL["forget_samples"], erasure_id=deletion.erasure_id)
            await transaction.execute(_SQL["forget_items"], erasure_id=deletion.erasure_id, every=scope.is_whole)
        await transaction.execute(
            _SQL["finish_erasure"],
            erasure_id=deletion.erasure_id,
            state="done" if receipt.is_complete else "incomplete",
            receipt=canonical(sign(render(receipt), signer)).decode(),
            now=now,
        )
    return receipt
