"""What may be corrected in one call (dense-mem 6.4, with every field of a statement)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.remember.request import EntityKind, Name, Polarity, ValueProposal
from commonlore.domain.submission import IdempotencyKey, require_key


class EntityPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entity_id, or a name that is carried unless create_if_missing."""

    entity_id: UUID | None = None
    name: Name | None = None
    entity_kind: EntityKind = "other"
    create_if_missing: bool = False

    def validate(self, pointer: str) -> None:
        if (self.entity_id is None) == (self.name is None):
            raise invalid(pointer, "expected exactly one of entity_id and name")
        if self.name is not None:
            require_visible(f"{pointer}/name", self.name)
        elif self.create_if_missing:
            raise invalid(f"{pointer}/create_if_missing", "expected only with a name")


class PredicatePatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An existing predicate, by its key or an alias."""

    key: Annotated[str, Meta(min_length=1, max_length=128)]


class CorrectionPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays. A null clears scope, valid_from or valid_to."""

    subject_entity: EntityPatch | None = None
    predicate: PredicatePatch | None = None
    object_entity: EntityPatch | None = None
    object_value: ValueProposal | None = None
    polarity: Polarity | None = None
    scope: Annotated[str, Meta(min_length=1, max_length=256)] | None | UnsetType = UNSET
    valid_from: str | None | UnsetType = UNSET
    valid_to: str | None | UnsetType = UNSET

    def validate(self, pointer: str) -> None:
        if self.object_entity is not None and self.object_value is not None:
            raise invalid(f"{pointer}/object_value", "expected at most one of object_entity and object_value")
        for name, entity in (("subject_entity", self.subject_entity), ("object_entity", self.object_entity)):
            if entity is not None:
                entity.validate(f"{pointer}/{name}")
        if self.object_value is not None:
            self.object_value.validate(f"{pointer}/object_value")
        if isinstance(self.scope, str):
            require_visible(f"{pointer}/scope", self.scope)
        for name in ("valid_from", "valid_to"):
            if isinstance(text := getattr(self, name), str):
                read_instant(f"{pointer}/{name}", text)


class SupportSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One support as the trace shows it."""

    evidence_id: UUID
    start: Annotated[int, Meta(ge=0)]
    end: Annotated[int, Meta(ge=1)]


class CorrectionSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate that each ambiguous end means."""

    subject_entity_id: UUID | None = None
    object_entity_id: UUID | None = None


class CorrectRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`submit` names the relationship, the version it was read at and the patch; `confirm` settles one that awaits confirmation."""

    action: Literal["submit", "confirm"] = "submit"
    relationship_id: UUID
    expected_version: Annotated[int, Meta(ge=1)] | None = None
    patch: CorrectionPatch | None = None
    supports: Annotated[list[SupportSpan], Meta(min_length=1)] | None = None
    reason: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    submission_id: UUID | None = None
    confirmation_token: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    selection: CorrectionSelection | None = None
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """What a schema cannot say.

        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        submits, confirms = ("expected_version", "patch"), ("submission_id", "confirmation_token", "selection")
        needed, refused = (submits, confirms) if self.action == "submit" else (confirms, (*submits, "supports", "reason"))
        for name in needed:
            if getattr(self, name) is None:
                raise invalid(f"/{name}", f"missing; expected with the action {self.action}")
        for name in refused:
            if getattr(self, name) is not None:
                raise invalid(f"/{name}", f"expected only with the action {'confirm' if self.action == 'submit' else 'submit'}")
        if self.patch is not None:
            self.patch.validate("/patch")
        if self.reason is not None:
            require_visible("/reason", self.reason)
        require_key(self.idempotency_key)
