"""Proposals that correct: which relationship each one means to replace, and whether it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from commonlore.domain.remember.prepare import PreparedRelationship
from commonlore.domain.remember.resolve import Refusal
from commonlore.domain.remember.standing import Relationship


def targeted_ids(proposals: Sequence[PreparedRelationship]) -> list[UUID]:
    """The relationships that the proposals mean to correct, each once, in order."""
    return list(dict.fromkeys(item.proposal.correction_target.relationship_id for item in proposals if item.proposal.correction_target is not None))


def refuse_targets(proposals: Sequence[PreparedRelationship], own: Mapping[UUID, Relationship]) -> dict[str, Refusal]:
    """The refusals by ref. `own` are the author's relationships in this space: a foreign one is as absent as one that never was."""
    refusals: dict[str, Refusal] = {}
    for item in proposals:
        target = item.proposal.correction_target
        if target is None:
            continue
        found = own.get(target.relationship_id)
        if found is None:
            refusals[item.proposal.ref] = Refusal(
                "correction_target_not_found",
                "correction_target names no relationship of yours in this space",
                "Trace the relationship that you mean.",
            )
        elif found.version != target.expected_version:
            refusals[item.proposal.ref] = Refusal(
                "relationship_version_stale", "the correction target has another version than expected_version", "Trace it and decide anew."
            )
        elif found.status != "active":
            refusals[item.proposal.ref] = Refusal(
                "relationship_not_active", "the correction target is not active", "Correct the one that took its place; its trace names it."
            )
    return refusals
