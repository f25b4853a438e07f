"""Proposals that bring new evidence to an open conflict: bound to the version of the case that their author saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from commonlore.domain.conflict.scope import ConflictScope
from commonlore.domain.errors import invalid
from commonlore.domain.remember.prepare import PreparedRelationship
from commonlore.domain.remember.request import ConflictContext
from commonlore.domain.remember.resolve import ResolvedProposal


@dataclass(frozen=True, slots=True)
class JoinedCase:
    """An open case at the version that a proposal names. `scope` is None for a case of texts."""

    conflict_id: UUID
    scope: ConflictScope | None


class CaseWriter(Protocol):
    """What a write needs of cases, inside its transaction."""

    async def require_cases(self, contexts: Sequence[ConflictContext]) -> dict[UUID, JoinedCase]:
        """The cases at exactly these versions; they stay so until the write changes them.

        Raises:
            Conflict: `stale_input`; absent, foreign, closed and newer alike.
        """
        ...

    async def recite(self, conflict_id: UUID, evidence_ids: Sequence[UUID], now: datetime) -> None:
        """Note which texts were brought to a case of texts."""
        ...


def contexts_of(prepared: Sequence[PreparedRelationship]) -> list[ConflictContext]:
    """Each context once, in the order of the request."""
    return list(dict.fromkeys(item.proposal.conflict_context for item in prepared if item.proposal.conflict_context is not None))


def require_scope(resolved: Sequence[ResolvedProposal], cases: Mapping[UUID, JoinedCase]) -> None:
    """A statement joins the case of its own scope only. A case of texts takes whatever its texts say.

    Raises:
        Incorrect: with the pointer of the first context that names another case.
    """
    for index, item in enumerate(resolved):
        context = item.prepared.proposal.conflict_context
        if context is None or item.statement is None:
            continue
        scope = cases[context.conflict_id].scope
        if scope is not None and scope != ConflictScope.of(item.statement):
            raise invalid(f"/relationships/{index}/conflict_context", "expected a case of this subject, predicate, polarity and scope")


def recited(
    prepared: Sequence[PreparedRelationship], cases: Mapping[UUID, JoinedCase], evidence_ids: Sequence[UUID], visible: Mapping[UUID, object]
) -> dict[UUID, list[UUID]]:
    """By case of texts: the texts that the proposals with its context cite. `visible` are the known ones that may be cited."""
    found: dict[UUID, list[UUID]] = {}
    for item in prepared:
        context = item.proposal.conflict_context
        if context is None or cases[context.conflict_id].scope is not None:
            continue
        proposal = item.proposal
        indices = [*proposal.evidence_indices, *(span.evidence_index for span in proposal.supports)]
        known = [key for key in proposal.known_evidence_ids if key in visible]
        found.setdefault(context.conflict_id, []).extend([*(evidence_ids[index] for index in indices), *known])
    return {key: list(dict.fromkeys(ids)) for key, ids in found.items()}
