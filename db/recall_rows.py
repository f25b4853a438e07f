"""Rows of a recall as the domain has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg.rows import DictRow

from commonlore.domain.community.gate import CommunityGate
from commonlore.domain.projection.vector_index import IndexUse
from commonlore.domain.recall.lexical import LexicalStatistics
from commonlore.domain.recall.plan import GenerationState, SpaceStatistics
from commonlore.domain.recall.result import EntityRef, EvidenceRow, PartText, RelationshipRow, SupportPath, ValueRef


def space_statistics(row: DictRow) -> SpaceStatistics:
    """Of `read_statistics`."""
    state: GenerationState = row["generation_state"] if row["generation_state"] in ("current", "failed") else "pending"
    indexes = {frontier: IndexUse(*use) for frontier, use in (row["vector_indexes"] or {}).items()}
    return SpaceStatistics(
        evidence=LexicalStatistics(row["parts"] or 0, row["parts_length"] or 0, _frequencies(row["part_words"])),
        relationships=LexicalStatistics(row["documents"] or 0, row["documents_length"] or 0, _frequencies(row["document_words"])),
        evidence_state="failed" if row["has_failed"] else "pending" if row["has_pending"] else "current",
        generation=row["generation"] or 1,
        generation_state=state,
        contract_key=row["contract_key"],
        has_exclusions=row["has_exclusions"],
        has_conflicts=row["has_conflicts"],
        has_hypotheses=row["has_hypotheses"],
        communities=CommunityGate(row["snapshot_id"], row["published_at"], row["run_status"], row["stale_from"]) if row["has_communities"] else None,
        has_sessions=row["has_sessions"],
        texts=row["texts"] or 0,
        contract_id=row["contract_id"] or 1,
        evidence_index=indexes.get("evidence"),
        relationship_index=indexes.get("relationship"),
    )


def by_group(groups: Sequence[str], rows: Sequence[DictRow]) -> dict[str, list[DictRow]]:
    """Rows of `hydrate_groups`; none for a group without members."""
    found: dict[str, list[DictRow]] = {group: [] for group in groups}
    for row in rows:
        found[row["semantic_group_key"]].append(row)
    return found


def _frequencies(words: Mapping[str, list[int]] | None) -> dict[str, int]:
    return {term: count for term, (count, _, _) in (words or {}).items()}


def evidence_row(row: DictRow) -> EvidenceRow:
    """Of `hydrate_evidence`."""
    return EvidenceRow(
        evidence_id=row["evidence_id"],
        content_sha256=bytes(row["content_sha256"]),
        parts=tuple(PartText(number, text) for number, text in row["parts"] or ()),
        part_count=row["part_count"],
        source=row["source"],
        source_type=row["source_type"],
        authority=row["authority"],
        speaker=row["speaker"],
        session=row["session"],
        occurred_at=row["occurred_at"],
        known_from=row["known_from"],
        owner_active=row["owner_active"],
        known_in_view=row["known_in_view"],
        withdrawn=row["withdrawn"],
        paths=tuple(SupportPath(UUID(key), group, active) for key, group, active in row["paths"] or ()),
        equivalents=tuple(row["equivalents"]),
        owner_profile_id=row["owner_profile_id"],
    )


def relationship_row(row: DictRow) -> RelationshipRow:
    """Of `hydrate_groups`."""
    target: EntityRef | ValueRef
    if row["object_entity_id"] is not None:
        target = EntityRef(entity_id=row["object_entity_id"], name=row["object_name"])
    else:
        unit = {"unit": row["unit"]} if row["unit"] is not None else {}
        target = ValueRef(value_id=row["object_value_id"], type=row["value_type"], value=row["canonical_value"], display=row["display"], **unit)
    return RelationshipRow(
        relationship_id=row["relationship_id"],
        semantic_group_key=row["semantic_group_key"],
        known_from=row["known_from"],
        subject=EntityRef(entity_id=row["subject_entity_id"], name=row["subject_name"]),
        predicate=row["predicate_key"],
        object=target,
        polarity=row["polarity"],
        scope=row["scope_key"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        evidence_ids=tuple(row["evidence_ids"] or ()),
        search_state=row["search_state"],
    )
