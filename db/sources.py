"""Sources of evidence: each has one current revision, which a write moves on only when it names the one before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import UniqueViolation

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.errors import Conflict
from commonlore.domain.ids import NewId
from commonlore.domain.remember.request import EvidenceProposal
from commonlore.domain.remember.service import Submission

_SQL = statements("sources")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the texts of one source key go. `is_revised`: this write made the revision, in place of another."""

    source_id: UUID
    revision_id: UUID
    is_revised: bool = False


async def open_sources(transaction: TeamTransaction, submission: Submission, new_id: NewId) -> dict[str, Source]:
    """The source and revision of every source key of the request, found, made or moved on.

    Raises:
        Conflict: `stale_input`, the stated revisions do not fit the current one; `commit_conflict`, another write of a new source came first.
    """
    wanted = {item.proposal.source_key: item.proposal for item in submission.prepared.evidence if item.proposal.source_key}
    if not wanted:
        return {}
    keys: dict[str, object] = {"profile_id": submission.actor.profile_id, "source_keys": sorted(wanted)}
    may_revise = any(proposal.previous_source_revision is not None for proposal in wanted.values())
    await transaction.execute(_SQL["lock_sources_to_revise" if may_revise else "lock_sources"], **keys)
    cursor = await transaction.execute(_SQL["find_sources"], **keys)
    current = {row["source_key"]: row for row in await cursor.fetchall()}
    return {key: await _open(transaction, submission, proposal, current.get(key), new_id) for key, proposal in sorted(wanted.items())}


async def _open(
    transaction: TeamTransaction, submission: Submission, proposal: EvidenceProposal, row: dict[str, Any] | None, new_id: NewId
) -> Source:
    previous = proposal.previous_source_revision
    if row is None:
        if previous is not None:
            raise Conflict("stale_input", "previous_source_revision names a source that has no revision")
        return await _make(transaction, submission, proposal, Source(new_id(), new_id()))
    if row["revision_token"] == proposal.source_revision:
        # Further texts of the current revision repeat what its first ones said of the one before.
        if previous not in (None, row["previous_token"], row["revision_token"]):
            raise Conflict("stale_input", "previous_source_revision is not the revision before the current one")
        return Source(row["source_id"], row["revision_id"])
    if previous != row["revision_token"]:
        raise Conflict("stale_input", "previous_source_revision is not the current revision of the source")
    return await _revise(transaction, submission, proposal, row, new_id)


async def _make(transaction: TeamTransaction, submission: Submission, proposal: EvidenceProposal, source: Source) -> Source:
    try:
        await transaction.execute(
            _SQL["insert_source"],
            source_id=source.source_id,
            revision_id=source.revision_id,
            profile_id=submission.actor.profile_id,
            source_key=proposal.source_key,
            revision_token=proposal.source_revision,
            now=submission.now,
        )
    except UniqueViolation as error:
        # The author's other process was first; the same request finds the source when it is tried again.
        raise Conflict("commit_conflict", "another write of the same source came first; the request changed nothing", retry_after_s=1) from error
    return source


async def _revise(transaction: TeamTransaction, submission: Submission, proposal: EvidenceProposal, row: dict[str, Any], new_id: NewId) -> Source:
    place = {"source_id": row["source_id"], "revision_id": new_id(), "previous_revision_id": row["revision_id"]}
    made = await transaction.execute(_SQL["insert_revision"], **place, revision_token=proposal.source_revision, now=submission.now)
    if await made.fetchone() is None:
        raise Conflict("stale_input", "source_revision is an earlier revision of the source; expected a token that it never had")
    moved = await transaction.execute(_SQL["move_source"], **place)
    if await moved.fetchone() is None:
        raise Conflict("stale_input", "previous_source_revision is not the current revision of the source")
    return Source(row["source_id"], place["revision_id"], is_revised=True)


async def exclude_older_revisions(transaction: TeamTransaction, source_ids: Collection[UUID], *, now: datetime) -> list[UUID]:
    """Take the texts of older revisions out of the present; returns those that this call took out."""
    cursor = await transaction.execute(_SQL["exclude_older_revisions"], source_ids=sorted(source_ids), now=now)
    return [row["evidence_id"] for row in await cursor.fetchall()]
