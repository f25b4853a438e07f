"""Trace: one relationship with its evidence and history, from authoritative rows alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol
from uuid import UUID

from msgspec import UNSET, structs

from commonlore.domain.conflict.view import CaseRow, history, show_whole
from commonlore.domain.errors import NotVisible
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.trace.cursor import SECTIONS, Place, TraceCursor, decode_cursor
from commonlore.domain.trace.graph import Edge, Node, Walk, relevant
from commonlore.domain.trace.request import TraceRequest

Row = dict[str, Any]
_MOST_CONFLICTS = 20
# Sections that the request can switch off.
_OPTIONAL = {"verification_events": "include_verification", "transitions": "include_transitions"}


class TraceSnapshot(Protocol):
    """One state of the database, for one actor."""

    actor: Actor

    async def find(self, relationship_id: UUID) -> tuple[Space, Row] | None:
        """The relationship in the first of the actor's spaces that has it; that space stays open."""
        ...

    async def read_sections(self, relationship: Row, after: dict[str, Place | None], *, page: int) -> dict[str, list[Row]]:
        """Up to `page` rows of each section, by known time, then id."""
        ...

    async def read_evidence(self, evidence_ids: Sequence[UUID]) -> list[Row]: ...

    async def read_documents(self, relationship_id: UUID) -> list[Row]: ...

    async def read_conflicts(self, space: Space, relationship_id: UUID, *, most: int) -> list[CaseRow]:
        """Up to `most` cases that the relationship ever was part of, in the order in which they were opened."""
        ...

    async def read_neighbours(
        self, entity_ids: Sequence[UUID], *, seen: Sequence[UUID], predicate_keys: Sequence[str], depth: int, limit: int
    ) -> list[Edge]: ...


async def trace(request: TraceRequest, *, snapshot: TraceSnapshot) -> dict[str, Any]:
    """Every list is present; `truncated` and `next_cursor` say where lists were cut.

    Raises:
        Forbidden: the key lacks the scope read.
        NotVisible: absent and foreign alike.
        Incorrect: the cursor is not one of this relationship.
    """
    snapshot.actor.require("read")
    cursor = decode_cursor(request.cursor, request.relationship_id) if request.cursor else None
    found = await snapshot.find(request.relationship_id)
    if found is None:
        raise NotVisible("not_found", "no relationship of this id is visible to this credential")
    space, relationship = found
    wanted: dict[str, Place | None] = {
        name: cursor.places[name] if cursor else None
        for name in SECTIONS
        if (cursor is None or name in cursor.places) and getattr(request, _OPTIONAL.get(name, ""), True)
    }
    rows = await snapshot.read_sections(relationship, wanted, page=request.page_size + 1)
    places = {name: _place(found[request.page_size - 1]) for name, found in rows.items() if len(found) > request.page_size}
    page = {name: rows.get(name, [])[: request.page_size] for name in SECTIONS}
    evidence = await snapshot.read_evidence(list(dict.fromkeys(row["evidence_id"] for row in page["evidence_supports"])))
    held = {row["evidence_id"] for row in evidence if _withholds_words(row, snapshot.actor)}
    cases = await snapshot.read_conflicts(space, request.relationship_id, most=_MOST_CONFLICTS + 1) if cursor is None else []
    walk = await _walk(request, relationship, snapshot) if cursor is None else Walk(0, stopped_reason="not_requested")
    return {
        "relationship": _relationship(relationship, space),
        **{name: [_renamed(name, row) for row in found] for name, found in page.items()},
        "evidence_supports": [_support(row, held) for row in page["evidence_supports"]],
        "evidence": [_evidence(row, held, with_content=request.include_evidence_content) for row in evidence],
        "conflicts": [_conflict(case, space) for case in cases[:_MOST_CONFLICTS]],
        "search_documents": await snapshot.read_documents(request.relationship_id) if cursor is None else [],
        "semantic_nodes": [_node(node) for node in walk.visited.values()],
        "semantic_edges": [_edge(edge) for edge in walk.edges],
        "visited_entity_ids": [key for key, node in walk.visited.items() if node.kind != "value"],
        "stopped_reason": walk.stopped_reason,
        "truncated": bool(places) or walk.stopped_reason == "max_edges" or len(cases) > _MOST_CONFLICTS,
        "next_cursor": TraceCursor(request.relationship_id, places).encode() if places else None,
    }


async def _walk(request: TraceRequest, relationship: Row, snapshot: TraceSnapshot) -> Walk:
    """Outward from both ends, nearest edges first. The traced relationship itself is not repeated."""
    walk = Walk(request.max_edges)
    walk.seen.add(request.relationship_id)
    subject, target = _ends(relationship)
    walk.visited.update({node.id: node for node in (subject, target)})
    if request.max_depth == 0 or request.max_edges == 0:
        walk.stopped_reason = "not_requested"
        return walk
    outermost = [node.id for node in (subject, target) if node.kind != "value"]
    for depth in range(1, request.max_depth + 1):
        # With a topic the filter comes after the read, so more is read than is shown; the bound is stated when it is met.
        limit = walk.room + 1 if not request.topic else 500
        found = await snapshot.read_neighbours(outermost, seen=sorted(walk.seen), predicate_keys=request.predicate_keys, depth=depth, limit=limit)
        kept = relevant(found, request.topic, request.min_relevance)
        outermost = walk.take(kept)
        if walk.stopped_reason == "max_edges" or (request.topic and len(found) >= limit):
            walk.stopped_reason = "max_edges"
            return walk
        if not outermost:
            return walk
    walk.stopped_reason = "max_depth"
    return walk


def _ends(row: Row) -> tuple[Node, Node]:
    subject = Node(row["subject_entity_id"], row["subject_name"], row["subject_kind"])
    if row["object_entity_id"] is not None:
        return subject, Node(row["object_entity_id"], row["object_name"], row["object_kind"])
    return subject, Node(row["object_value_id"], row["display"], "value")


def _place(row: Row) -> Place:
    return Place(row["known_from"], row["id"])


_ID_NAMES = {
    "observations": "observation_id",
    "evidence_supports": "support_id",
    "cross_profile_references": "relationship_id",
    "supersession_lineage": "relationship_id",
    "cross_references": "reference_id",
    "identity_corrections": "correction_id",
}


def _renamed(section: str, row: Row) -> Row:
    """`id` and `known_from` under the names of the wire."""
    shown = {_ID_NAMES.get(section, "event_id"): row["id"], **{name: value for name, value in row.items() if name not in ("id", "known_from")}}
    if section == "cross_profile_references":
        shown["kind"] = "same_statement"
    return {**shown, "created_at": row["known_from"]}


def _relationship(row: Row, space: Space) -> Row:
    if row["object_entity_id"] is not None:
        target: Row = {"entity_id": row["object_entity_id"], "name": row["object_name"]}
    else:
        target = {
            "value_id": row["object_value_id"],
            "type": row["value_type"],
            "value": row["canonical_value"],
            "display": row["display"],
            "unit": row["unit"],
        }
    return {
        "relationship_id": row["relationship_id"],
        "owner_profile_id": row["owner_profile_id"],
        "owner_name": row["owner_name"],
        "subject": {"entity_id": row["subject_entity_id"], "name": row["subject_name"]},
        "predicate": row["predicate_key"],
        "predicate_version": row["predicate_version"],
        "object": target,
        "polarity": row["polarity"],
        "scope": row["scope_key"],
        "relationship_kind": row["relationship_kind"],
        "current_cardinality": row["current_cardinality"],
        "relationship_status": row["status"],
        "version": row["version"],
        "valid_from": row["valid_from"],
        "valid_to": row["valid_to"],
        "support_count": row["support_count"],
        "source_group_count": row["source_group_count"],
        "created_at": row["known_from"],
        "superseded_at": row["known_to"],
        "corrected_by": row["corrected_by"],
        "identity_alias_of": row["identity_alias_of"],
        "space_kind": space.public_kind,
        **({"lineage_cycle": True} if row["lineage_cycle"] else {}),
        **({"space": space.name} if space.name else {}),
    }


def _withholds_words(row: Row, actor: Actor) -> bool:
    """Nobody reads the words of an erased text here, and only an administrator, who decides on it, those of a text in quarantine."""
    exclusions = row["exclusions"] or []
    return "erased" in exclusions or ("quarantined" in exclusions and "admin" not in actor.scopes)


def _support(row: Row, held: Collection[UUID]) -> Row:
    shown = _renamed("evidence_supports", row)
    return {**shown, "quote": None} if row["evidence_id"] in held else shown


def _evidence(row: Row, held: Collection[UUID], *, with_content: bool) -> Row:
    content = {"content": row["content"], "content_truncated": row["content_truncated"]} if with_content else {}
    if with_content and row["evidence_id"] in held:
        content = {"content": None, "content_truncated": True}
    provenance = ("source_type", "authority", "source", "source_group", "speaker", "session", "sequence", "occurred_at", "labels", "metadata")
    return {
        "evidence_id": row["evidence_id"],
        **content,
        "content_hash": "sha256:" + bytes(row["content_sha256"]).hex(),
        "owner_profile_id": row["owner_profile_id"],
        "created_at": row["known_from"],
        "occurrences": row["occurrences"],
        "exclusions": row["exclusions"] or [],
        "provenance": {name: row[name] for name in provenance if row[name] not in (None, [])},
    }


def _conflict(case: CaseRow, space: Space) -> Row:
    shown = structs.asdict(show_whole(case, space))
    return {**{name: part for name, part in shown.items() if part is not UNSET}, **history(case)}


def _node(node: Node) -> Row:
    return {"id": node.id, "name": node.name, "kind": node.kind}


def _edge(edge: Edge) -> Row:
    return {
        "relationship_id": edge.relationship_id,
        "subject_id": edge.subject.id,
        "predicate": edge.predicate_key,
        "object_id": edge.object.id,
        "polarity": edge.polarity,
        "depth": edge.depth,
    }
