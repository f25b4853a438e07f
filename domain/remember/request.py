"""What may be remembered in one call, with every bound (dense-mem 6.1; the published client's RememberRequest)."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import InSpace

EntityKind = Literal["person", "organization", "project", "product", "place", "document", "concept", "other"]
ValueType = Literal["string", "number", "boolean", "date", "date_time"]
SourceType = Literal["conversation", "document", "observation", "manual"]
Authority = Literal["authoritative", "primary", "secondary", "inferred", "unknown"]
Polarity = Literal["+", "-"]

CONTENT_LIMIT_BYTES = 10 * 1024 * 1024
METADATA_LIMIT_BYTES = 16 * 1024
METADATA_LIMIT_DEPTH = 8
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Short = Annotated[str, Meta(min_length=1, max_length=256)]


class EntityProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By name, or by an id from an earlier answer."""

    name: Name | None = None
    entity_kind: EntityKind = "other"
    known_entity_id: UUID | None = None

    def validate(self, pointer: str) -> None:
        if self.name is None and self.known_entity_id is None:
            raise invalid(pointer, "expected a name, a known_entity_id, or both")
        if self.name is not None:
            require_visible(f"{pointer}/name", self.name)


class ValueProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A typed value; `display` is how the text says it."""

    type: ValueType
    value: Annotated[str, Meta(min_length=1, max_length=1024)] | int | float | bool
    display: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    unit: Annotated[str, Meta(min_length=1, max_length=128)] | None = None

    def validate(self, pointer: str) -> None:
        expected: type[Any] | tuple[type[Any], ...]
        expected = {"number": (int, float), "boolean": bool}.get(self.type, str)  # type: ignore[assignment]
        if not isinstance(self.value, expected) or (self.type == "number" and isinstance(self.value, bool)):
            raise invalid(
                f"{pointer}/value", f"expected a JSON {self.type if self.type in ('number', 'boolean') else 'string'} for the type {self.type}"
            )
        for name in ("value", "display", "unit"):
            if isinstance(text := getattr(self, name), str):
                require_visible(f"{pointer}/{name}", text)


class ObjectProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of the two."""

    entity: EntityProposal | None = None
    value: ValueProposal | None = None

    def validate(self, pointer: str) -> None:
        if (self.entity is None) == (self.value is None):
            raise invalid(pointer, "expected exactly one of entity and value")
        if self.entity is not None:
            self.entity.validate(f"{pointer}/entity")
        if self.value is not None:
            self.value.validate(f"{pointer}/value")


class PredicateProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new wording, or a key from an earlier answer."""

    proposed_key: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    known_predicate_key: Annotated[str, Meta(min_length=1, max_length=128)] | None = None

    def validate(self, pointer: str) -> None:
        if (self.proposed_key is None) == (self.known_predicate_key is None):
            raise invalid(pointer, "expected exactly one of proposed_key and known_predicate_key")


class SpanProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in one cited text, in code points; `quote` must be that slice."""

    evidence_index: Annotated[int, Meta(ge=0, le=19)]
    start: Annotated[int, Meta(ge=0)]
    end: Annotated[int, Meta(ge=1)]
    quote: Annotated[str, Meta(min_length=1, max_length=999)] | None = None


class VersionedTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    relationship_id: UUID
    expected_version: Annotated[int, Meta(ge=1)]


class ConflictContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    conflict_id: UUID
    expected_version: Annotated[int, Meta(ge=1)]


class RelationshipProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What you read in the cited evidence; the server verifies it."""

    ref: Annotated[str, Meta(min_length=1, max_length=128)]
    subject: EntityProposal
    predicate: PredicateProposal
    object: ObjectProposal
    polarity: Polarity = "+"
    evidence_indices: Annotated[list[Annotated[int, Meta(ge=0, le=19)]], Meta(max_length=20)] = []
    known_evidence_ids: Annotated[list[UUID], Meta(max_length=20)] = []
    supports: Annotated[list[SpanProposal], Meta(max_length=20)] = []
    scope: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    correction_target: VersionedTarget | None = None
    conflict_context: ConflictContext | None = None
    client_comment: Annotated[str, Meta(max_length=1000)] | None = None

    def validate(self, pointer: str, evidence: list[EvidenceProposal]) -> None:
        self.subject.validate(f"{pointer}/subject")
        self.predicate.validate(f"{pointer}/predicate")
        self.object.validate(f"{pointer}/object")
        if not (self.evidence_indices or self.known_evidence_ids or self.supports):
            raise invalid(f"{pointer}/evidence_indices", "expected at least one index, known_evidence_id or support")
        for place, index in enumerate(self.evidence_indices):
            _require_index(f"{pointer}/evidence_indices/{place}", index, evidence)
        for place, span in enumerate(self.supports):
            where = f"{pointer}/supports/{place}"
            _require_index(f"{where}/evidence_index", span.evidence_index, evidence)
            content = evidence[span.evidence_index].content
            if not (span.start < span.end <= len(content)) or span.end - span.start > 999:
                raise invalid(where, f"expected 0 <= start < end <= {len(content)}, at most 999 code points apart")
            if span.quote is not None and span.quote != content[span.start : span.end]:
                raise invalid(f"{where}/quote", "expected exactly the text between start and end")
        if self.scope is not None:
            require_visible(f"{pointer}/scope", self.scope)
        start, end = read_instant(f"{pointer}/valid_from", self.valid_from), read_instant(f"{pointer}/valid_to", self.valid_to)
        if start is not None and end is not None and end < start:
            raise invalid(f"{pointer}/valid_to", "expected a time not before valid_from")


class EvidenceProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text as it was said or written."""

    content: Annotated[str, Meta(min_length=1, description="Verbatim text, up to 10 MiB of UTF-8.")]
    source_type: SourceType = "manual"
    source: Short | None = None
    authority: Authority = "unknown"
    source_group: Short | None = None
    source_key: Short | None = None
    source_revision: Short | None = None
    previous_source_revision: Short | None = None
    supersedes_evidence_ids: Annotated[list[UUID], Meta(max_length=50)] = []
    labels: Annotated[list[Annotated[str, Meta(min_length=1, max_length=64)]], Meta(max_length=20)] = []
    metadata: Annotated[dict[str, Any], Meta(max_length=64)] = {}
    force_insert: bool = False
    occurred_at: str | None = None
    speaker: Short | None = None
    session: Short | None = None
    sequence: Annotated[int, Meta(ge=0, le=9_007_199_254_740_991)] | None = None

    def validate(self, pointer: str) -> None:
        require_visible(f"{pointer}/content", self.content)
        if len(self.content.encode("utf-8")) > CONTENT_LIMIT_BYTES:
            raise invalid(f"{pointer}/content", f"expected at most {CONTENT_LIMIT_BYTES} bytes of UTF-8")
        for name in ("source", "source_group", "source_key", "source_revision", "speaker", "session"):
            if (text := getattr(self, name)) is not None:
                require_visible(f"{pointer}/{name}", text)
        read_instant(f"{pointer}/occurred_at", self.occurred_at)
        if _depth(self.metadata) > METADATA_LIMIT_DEPTH or len(msgspec.json.encode(self.metadata)) > METADATA_LIMIT_BYTES:
            raise invalid(f"{pointer}/metadata", f"expected at most {METADATA_LIMIT_BYTES} bytes of JSON, nested at most {METADATA_LIMIT_DEPTH} deep")
        if (self.source_key is None) != (self.source_revision is None):
            raise invalid(f"{pointer}/source_revision", "expected source_key and source_revision together or neither")
        if self.previous_source_revision is not None and self.source_key is None:
            raise invalid(f"{pointer}/previous_source_revision", "expected only with source_key")


class RememberRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call: 1 to 20 texts and up to 200 relationships read in them."""

    evidence: Annotated[list[EvidenceProposal], Meta(min_length=1, max_length=20)]
    relationships: Annotated[list[RelationshipProposal], Meta(max_length=200)] = []
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """What a schema cannot say.

        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        for index, item in enumerate(self.evidence):
            item.validate(f"/evidence/{index}")
        _require_one_revision(self.evidence)
        _require_superseded_once(self.evidence)
        refs: dict[str, int] = {}
        for index, proposal in enumerate(self.relationships):
            proposal.validate(f"/relationships/{index}", self.evidence)
            if proposal.ref in refs:
                raise invalid(f"/relationships/{index}/ref", f"expected a ref of its own; /relationships/{refs[proposal.ref]} has it already")
            refs[proposal.ref] = index
        require_key(self.idempotency_key)


def _require_one_revision(evidence: list[EvidenceProposal]) -> None:
    revisions: dict[str, str | None] = {}
    for index, item in enumerate(evidence):
        if item.source_key is not None and revisions.setdefault(item.source_key, item.source_revision) != item.source_revision:
            raise invalid(f"/evidence/{index}/source_revision", "expected the revision that the other texts of this source_key state")


def _require_superseded_once(evidence: list[EvidenceProposal]) -> None:
    places: dict[UUID, str] = {}
    for index, item in enumerate(evidence):
        for place, key in enumerate(item.supersedes_evidence_ids):
            pointer = f"/evidence/{index}/supersedes_evidence_ids/{place}"
            if key in places:
                raise invalid(pointer, f"expected an id that is named once; {places[key]} names it already")
            places[key] = pointer


def _require_index(pointer: str, index: int, evidence: list[EvidenceProposal]) -> None:
    if index >= len(evidence):
        raise invalid(pointer, f"expected an index of evidence, 0 to {len(evidence) - 1}")


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0
