"""What an administrator may ask of the identity of names."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from commonlore.domain.checks import require_visible
from commonlore.domain.remember.request import EntityKind, Name
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import InSpace

Reason = Annotated[str, Meta(min_length=1, max_length=1000)]


class MergeEntitiesRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything of one entity is to be said of another. A preview, unless `apply`."""

    from_entity_id: UUID
    to_entity_id: UUID
    reason: Reason
    apply: bool = False
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        require_key(self.idempotency_key)


class SplitEntityRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some relationships of an entity are to be said of a new one. A preview, unless `apply`."""

    entity_id: UUID
    relationship_ids: Annotated[list[UUID], Meta(min_length=1, max_length=1000)]
    name: Name
    entity_kind: EntityKind | None = None
    reason: Reason
    apply: bool = False
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        require_visible("/name", self.name)
        require_key(self.idempotency_key)


class ReverseCorrectionRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Takes a merge or a split back."""

    correction_id: UUID
    reason: Reason
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        require_key(self.idempotency_key)


class NameEntityRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name for an entity."""

    entity_id: UUID
    name: Name
    reason: Reason
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        require_visible("/name", self.name)
        require_key(self.idempotency_key)


class ListCandidatesRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pairs of entities that may be one, in the order of their ids."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[str, Meta(max_length=100)] | None = None
