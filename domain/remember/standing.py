"""What a request is decided on: the texts that it may cite and the author's relationships as they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.remember.changes import RelationshipRow
from commonlore.domain.remember.ground import CitedText


@dataclass(frozen=True, slots=True)
class Cited:
    """A text that proposals may cite, with what its supports carry. Supports of a text that is held do not count yet."""

    evidence_id: UUID
    text: CitedText
    source_group_key: str
    authority: str
    is_held: bool = False


@dataclass(slots=True)
class Relationship:
    """A relationship as it stands while the request is decided; `stored` tells whether its row exists already.

    `held` are supports of this request that do not count until their text is released; `revoked`, stored ones that were taken back.
    """

    relationship_id: UUID
    statement: Statement
    status: str
    version: int
    valid_to: datetime | None
    document_text: str | None
    supports: set[tuple[UUID, int, int]] = field(default_factory=set)
    source_groups: set[str] = field(default_factory=set)
    held: set[tuple[UUID, int, int]] = field(default_factory=set)
    revoked: dict[tuple[UUID, int, int], UUID] = field(default_factory=dict)
    stored: bool = True
    first_version: int = 0
    known_to: datetime | None = None
    relationship_kind: str = "state"
    current_cardinality: str = "many"
    predicate_version: int = 1

    def __post_init__(self) -> None:
        self.first_version = self.version


def relationship_row(item: Relationship) -> RelationshipRow:
    """The row of a relationship that is stored for the first time."""
    statement = item.statement
    return RelationshipRow(
        relationship_id=item.relationship_id,
        semantic_group_key=statement.semantic_group_key,
        subject_entity_id=statement.subject_entity_id,
        predicate_key=statement.predicate_key,
        predicate_version=item.predicate_version,
        object_entity_id=statement.object_entity_id,
        object_value_id=statement.object_value_id,
        relationship_kind=item.relationship_kind,
        current_cardinality=item.current_cardinality,
        status=item.status,
        polarity=statement.polarity,
        scope_key=statement.scope_key,
        valid_from=statement.valid_from,
        valid_to=item.valid_to,
        support_count=len(item.supports),
        source_group_count=len(item.source_groups),
        version=item.version,
        known_to=item.known_to,
    )
