"""From a patch to the statement it makes of a relationship, or the reason why it makes none.

Pure: the same relationship, patch and names give the same statement.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from msgspec import UNSET, UnsetType

from commonlore.domain.checks import read_instant
from commonlore.domain.correct.reasons import Rejected
from commonlore.domain.correct.request import CorrectionSelection, CorrectRequest, EntityPatch
from commonlore.domain.errors import invalid
from commonlore.domain.ledger import entity, predicate
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.value import Value, canonical_value
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.remember.resolve import KnownEntity, NameState
from commonlore.domain.remember.standing import Relationship
from commonlore.domain.text.normalise import name_key

_T = TypeVar("_T")
CANDIDATE_LIMIT = 10


@dataclass(frozen=True, slots=True)
class EffectiveSupport:
    """A support that counts now."""

    support_id: UUID
    evidence_id: UUID
    source_group_key: str
    span_start: int
    span_end: int
    quote: str
    authority: str

    @property
    def key(self) -> tuple[UUID, int, int]:
        return self.evidence_id, self.span_start, self.span_end


def support_set_sha256(supports: Sequence[EffectiveSupport]) -> bytes:
    """Equal for equal sets, whatever their order."""
    listed = sorted(f"{key[0]}:{key[1]}:{key[2]}" for key in (support.key for support in supports))
    return hashlib.sha256("\n".join(listed).encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class Source:
    """The relationship to correct, as it stands: its ends with their wording, its predicate and the supports that count.

    `withheld` are granted supports whose evidence does not count now and may count again.
    """

    relationship: Relationship
    owner_profile_id: UUID
    subject: NamedEntity
    target: NamedEntity | None
    value: Value | None
    value_id: UUID | None
    predicate: Predicate
    supports: tuple[EffectiveSupport, ...]
    withheld: tuple[EffectiveSupport, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedPatch:
    """A patch with its keys: what must be looked up before it can be applied."""

    request: CorrectRequest
    subject_key: str | None
    object_key: str | None
    predicate_key: str | None
    value: Value | None
    valid_from: datetime | None | UnsetType
    valid_to: datetime | None | UnsetType


def prepare_patch(request: CorrectRequest) -> PreparedPatch:
    """
    Raises:
        Incorrect: with the JSON pointer of the first wrong field.
    """
    patch = request.patch
    assert patch is not None
    try:
        key = predicate.predicate_key(patch.predicate.key) if patch.predicate else None
    except ValueError as error:
        raise invalid("/patch/predicate/key", str(error)) from error
    value = patch.object_value
    try:
        typed = canonical_value(value.type, value.value, unit=value.unit, display=value.display) if value else None
    except ValueError as error:
        raise invalid("/patch/object_value/value", str(error)) from error
    return PreparedPatch(
        request,
        _name_key("subject_entity", patch.subject_entity),
        _name_key("object_entity", patch.object_entity),
        key,
        typed,
        UNSET if isinstance(patch.valid_from, UnsetType) else read_instant("/patch/valid_from", patch.valid_from),
        UNSET if isinstance(patch.valid_to, UnsetType) else read_instant("/patch/valid_to", patch.valid_to),
    )


def _name_key(field: str, end: EntityPatch | None) -> str | None:
    if end is None or end.name is None:
        return None
    try:
        return name_key(end.name)
    except ValueError as error:
        raise invalid(f"/patch/{field}/name", str(error)) from error


@dataclass(frozen=True, slots=True)
class Created:
    """An entity that the correction makes, since nothing carries its name."""

    name: str
    name_key: str
    entity_kind: str


@dataclass(frozen=True, slots=True)
class Amended:
    """The corrected statement, whose ends may still have to be made."""

    subject: NamedEntity | Created
    predicate: Predicate
    registered: bool
    target: NamedEntity | Created | None
    value: Value | None
    value_id: UUID | None
    polarity: str
    scope: str | None
    valid_from: datetime | None
    valid_to: datetime | None

    def statement(self, subject_id: UUID, target_id: UUID | None, value_id: UUID | None) -> Statement:
        return Statement(subject_id, self.predicate.key, target_id, value_id, self.polarity, self.scope, self.valid_from)

    def wording(self, valid_to: datetime | None) -> str:
        """The document text."""
        return render(
            RelationshipWording(
                subject=_name(self.subject),
                predicate=self.predicate.wording,
                object=_name(self.target) if self.target else shown_value(self.value),
                polarity=self.polarity,
                scope=self.scope,
                valid_from=self.valid_from,
                valid_to=valid_to,
            )
        )


def _name(end: NamedEntity | Created) -> str:
    return end.canonical_name if isinstance(end, NamedEntity) else end.name


def shown_value(value: Value | None) -> str:
    assert value is not None
    return f"{value.display} {value.unit}" if value.unit and value.unit not in value.display else value.display


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Ends that several entities may be; an end that is settled has no candidates."""

    subject: tuple[NamedEntity, ...]
    target: tuple[NamedEntity, ...]


def amend(source: Source, patch: PreparedPatch, names: NameState, selection: CorrectionSelection | None = None) -> Amended | Ambiguous:
    """Apply the patch. Without a selection an ambiguous end gives `Ambiguous`; with one every end must be settled.

    Raises:
        Rejected: by the first rule that does not hold, in the order of subject, object, predicate, kinds, validity, change.
    """
    fields = patch.request.patch
    assert fields is not None
    subject = _end(fields.subject_entity, patch.subject_key, names, selection.subject_entity_id if selection else None)
    target = _end(fields.object_entity, patch.object_key, names, selection.object_entity_id if selection else None)
    if isinstance(subject, tuple) or isinstance(target, tuple):
        if selection is not None:
            raise Rejected("persistent_ambiguity", concludes=True)
        return Ambiguous(subject if isinstance(subject, tuple) else (), target if isinstance(target, tuple) else ())
    value = patch.value
    if fields.object_entity is None and value is None:
        target, value = source.target, source.value
    found, registered = _predicate(source, patch, names)
    amended = Amended(
        subject=subject or source.subject,
        predicate=found,
        registered=registered,
        target=target,
        value=value if target is None else None,
        value_id=None
        if value is None
        else source.value_id
        if value == source.value
        else names.values.get((value.value_type, value.canonical, value.unit)),
        polarity=fields.polarity or source.relationship.statement.polarity,
        scope=_kept(fields.scope, source.relationship.statement.scope_key),
        valid_from=_kept(patch.valid_from, source.relationship.statement.valid_from),
        valid_to=_kept(patch.valid_to, source.relationship.valid_to),
    )
    _check_kinds(source, amended)
    _check_change(source, amended)
    return amended


def _kept(new: _T | UnsetType, old: _T) -> _T:
    return old if isinstance(new, UnsetType) else new


def _end(
    patch: EntityPatch | None, key: str | None, names: NameState, selected: UUID | None
) -> NamedEntity | Created | tuple[NamedEntity, ...] | None:
    """What an end should be; several where only a person can tell, None where the patch leaves it alone."""
    if patch is None:
        return None
    if patch.entity_id is not None:
        known: KnownEntity | None = names.by_id.get(patch.entity_id)
        if known is None:
            raise Rejected("entity_not_found")
        return known.entity
    assert key is not None and patch.name is not None
    candidates = names.by_key.get(key, [])
    resolution = entity.resolve(patch.entity_kind, candidates)
    if resolution.entity is not None:
        return resolution.entity
    if resolution.action == "create":
        if not patch.create_if_missing:
            raise Rejected("entity_not_found")
        return Created(patch.name, key, patch.entity_kind)
    distinct = {candidate.entity_id: candidate for candidate in candidates}
    if selected is not None and selected in distinct:
        return distinct[selected]
    if len(distinct) > CANDIDATE_LIMIT:
        raise Rejected("too_many_entity_candidates")
    return tuple(distinct[key] for key in sorted(distinct))


def _predicate(source: Source, patch: PreparedPatch, names: NameState) -> tuple[Predicate, bool]:
    """The predicate and whether the space knows it already; a seed is registered on first use."""
    if patch.predicate_key is None:
        return source.predicate, True
    found, policy = predicate.resolve(patch.predicate_key, names.predicates)
    if policy == "open_vocabulary_v1" or (found.lifecycle_state != "active" and found.key != source.predicate.key):
        raise Rejected("predicate_not_found")
    return found, policy == "known"


def _check_kinds(source: Source, amended: Amended) -> None:
    """Only what changed is checked: kinds that a predicate took before stay as they are."""
    moved = amended.predicate.key != source.predicate.key
    found = amended.predicate
    if (moved or amended.subject != source.subject) and found.subject_kinds and amended.subject.entity_kind not in found.subject_kinds:
        raise Rejected("predicate_subject_kind_mismatch", detail=f"the subject of {found.key} is one of: {', '.join(found.subject_kinds)}")
    kind = amended.target.entity_kind if amended.target else amended.value.value_type if amended.value else ""
    changed = moved or amended.target != source.target or amended.value != source.value
    if changed and found.object_kinds and kind not in found.object_kinds:
        raise Rejected("predicate_object_kind_mismatch", detail=f"the object of {found.key} is one of: {', '.join(found.object_kinds)}")


def _check_change(source: Source, amended: Amended) -> None:
    if amended.valid_from and amended.valid_to and amended.valid_to < amended.valid_from:
        raise Rejected("validity_reversed")
    if same_identity(source, amended) and amended.valid_to == source.relationship.valid_to:
        raise Rejected("no_change")


def same_identity(source: Source, amended: Amended) -> bool:
    """Whether the corrected statement is the same one: the end of its validity is no part of it."""
    if isinstance(amended.subject, Created) or isinstance(amended.target, Created) or (amended.target is None and amended.value_id is None):
        return False
    target_id = amended.target.entity_id if amended.target else None
    return amended.statement(amended.subject.entity_id, target_id, amended.value_id) == source.relationship.statement
