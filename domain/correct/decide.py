"""From a corrected statement to rows: what is superseded, what stands in its place, and who else gives way.

Pure. The source and what takes its place change together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from commonlore.domain.correct.amend import Amended, Created, Source, same_identity
from commonlore.domain.correct.request import CorrectRequest
from commonlore.domain.correct.result import CorrectionOutcome, Successor, VersionedRelationship
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.value import NORMALIZATION_VERSION
from commonlore.domain.remember.changes import (
    Changes,
    DecisionRow,
    DocumentRow,
    EntityRow,
    ObservationRow,
    PredicateRow,
    ReferenceRow,
    RelationshipChange,
    ResolutionRow,
    SupportRow,
    TransitionRow,
    ValueRow,
    VerificationRow,
)
from commonlore.domain.remember.standing import Relationship, relationship_row

VERIFIER = "author-correction-1"
SupportKey = tuple[UUID, int, int]
Disposition = Literal["created", "joined", "reactivated", "amended"]


def name_ends(amended: Amended, changes: Changes, *, new_id: NewId) -> Statement:
    """The corrected statement; entities, values and predicates that are not there yet are added to `changes`."""
    subject_id = _entity_id(amended.subject, "subject", changes, new_id)
    target_id = _entity_id(amended.target, "object", changes, new_id) if amended.target else None
    value_id = amended.value_id
    if amended.value is not None and value_id is None:
        value, value_id = amended.value, new_id()
        changes.values.append(
            ValueRow(
                value_id=value_id,
                value_type=value.value_type,
                canonical_value=value.canonical,
                unit=value.unit,
                display=value.display,
                normalization_version=NORMALIZATION_VERSION,
            )
        )
    if not amended.registered:
        found = amended.predicate
        changes.predicates.append(
            PredicateRow(
                event_id=new_id(),
                predicate_key=found.key,
                version=found.version,
                aliases=found.aliases,
                subject_kinds=found.subject_kinds,
                object_kinds=found.object_kinds,
                relationship_kind=found.relationship_kind,
                current_cardinality=found.current_cardinality,
                policy="seed_v1",
            )
        )
    return amended.statement(subject_id, target_id, None if target_id else value_id)


def _entity_id(end: NamedEntity | Created, side: str, changes: Changes, new_id: NewId) -> UUID:
    if isinstance(end, NamedEntity):
        return end.entity_id
    made = next((row for row in changes.entities if (row.name_key, row.entity_kind) == (end.name_key, end.entity_kind)), None)
    if made is None:
        made = EntityRow(entity_id=new_id(), entity_name_id=new_id(), entity_kind=end.entity_kind, display_name=end.name, name_key=end.name_key)
        changes.entities.append(made)
    changes.resolutions.append(
        ResolutionRow(
            event_id=new_id(),
            mention_ref=f"correction#{side}",
            name=end.name,
            entity_kind=end.entity_kind,
            action="create",
            entity_id=made.entity_id,
        )
    )
    return made.entity_id


def decide_correction(
    source: Source,
    amended: Amended,
    statement: Statement,
    request: CorrectRequest,
    *,
    existing: Sequence[Relationship],
    revoked: Mapping[SupportKey, UUID],
    changes: Changes,
    new_id: NewId,
    now: datetime,
) -> CorrectionOutcome:
    """Fill `changes`. `existing` are the author's canonical relationships that share the statement, or its one-current scope.

    `revoked` are supports of the one that states it already which do not count now: they are reinstated, not stored twice.
    """
    decision = _Decision(source, amended, statement, request, revoked, changes, new_id, now)
    if same_identity(source, amended):
        return decision.amend_validity()
    return decision.supersede([item for item in existing if item.relationship_id != source.relationship.relationship_id])


@dataclass(slots=True)
class _Decision:
    source: Source
    amended: Amended
    statement: Statement
    request: CorrectRequest
    revoked: Mapping[SupportKey, UUID]
    changes: Changes
    new_id: NewId
    now: datetime

    def amend_validity(self) -> CorrectionOutcome:
        """The end of the validity is no part of the identity: the row stays, at its next version."""
        item = self.source.relationship
        _, verification_id = self._observe(item.relationship_id)
        item.valid_to = self.amended.valid_to
        item.version += 1
        self._transition(item, item.status, "validity_corrected", verification_id)
        self._change(item)
        self._document(item)
        return CorrectionOutcome(superseded=None, successor=_successor(item, "amended"))

    def supersede(self, others: Sequence[Relationship]) -> CorrectionOutcome:
        source = self.source.relationship
        found = next((item for item in others if item.statement == self.statement), None)
        successor, disposition = self._take(found)
        observation_id, verification_id = self._observe(successor.relationship_id)
        self._end(source, "corrected", verification_id)
        before = None if disposition == "created" else found.status if found else None
        if disposition == "reactivated":
            successor.status, successor.known_to = "active", None
        if disposition != "joined" or "valid_to" in self._patched():
            successor.valid_to = self.amended.valid_to
        successor.version += 1
        reason = {"created": "corrected", "joined": "correction_joined", "reactivated": "reactivated_by_correction"}[disposition]
        self._transition(successor, before, reason, verification_id)
        self._copy_supports(successor, observation_id, verification_id)
        self._give_way(successor, others, verification_id)
        self._conclude(successor, disposition)
        self.changes.references.append(
            ReferenceRow(
                reference_id=self.new_id(),
                source_relationship_id=successor.relationship_id,
                source_version=successor.version,
                target_relationship_id=source.relationship_id,
                target_version=source.version,
                kind="corrects",
                verification_event_id=verification_id,
            )
        )
        self._document(successor)
        superseded = VersionedRelationship(relationship_id=source.relationship_id, relationship_version=source.version, status=source.status)
        return CorrectionOutcome(superseded=superseded, successor=_successor(successor, disposition))

    def _patched(self) -> set[str]:
        assert self.request.patch is not None
        return {"valid_to"} if not isinstance(self.request.patch.valid_to, msgspec.UnsetType) else set()

    def _take(self, found: Relationship | None) -> tuple[Relationship, Disposition]:
        if found is not None:
            return found, "joined" if found.status == "active" else "reactivated"
        predicate = self.amended.predicate
        made = Relationship(
            relationship_id=self.new_id(),
            statement=self.statement,
            status="active",
            version=0,
            valid_to=self.amended.valid_to,
            document_text=None,
            stored=False,
            relationship_kind=predicate.relationship_kind,
            current_cardinality=predicate.current_cardinality,
            predicate_version=predicate.version,
        )
        return made, "created"

    def _observe(self, relationship_id: UUID) -> tuple[UUID, UUID]:
        """The correction itself as an observation, and the author's word for it; the texts are not read anew."""
        observation_id, event_id = self.new_id(), self.new_id()
        corrects = self.source.relationship
        proposal = {
            "corrects": {"relationship_id": str(corrects.relationship_id), "version": corrects.version},
            "patch": msgspec.to_builtins(self.request.patch),
            "reason": self.request.reason,
        }
        self.changes.observations.append(
            ObservationRow(observation_id=observation_id, relationship_id=relationship_id, ref="correction", proposal=proposal)
        )
        self.changes.verifications.append(
            VerificationRow(
                event_id=event_id,
                observation_id=observation_id,
                evidence_verdict="entailed",
                verifier=VERIFIER,
                confidence=1.0,
                rationale="the author corrected the statement; its supports were carried over",
            )
        )
        return observation_id, event_id

    def _copy_supports(self, successor: Relationship, observation_id: UUID, verification_id: UUID) -> None:
        """Also those whose text is held: they count for the successor once it is released."""
        for support in (*self.source.supports, *self.source.withheld):
            if support.key in self.revoked:
                self.changes.decisions.append(
                    DecisionRow(event_id=self.new_id(), support_id=self.revoked[support.key], decision="reinstate", reason="corrected")
                )
            elif support.key not in successor.supports:
                self.changes.supports.append(
                    SupportRow(
                        support_id=self.new_id(),
                        decision_event_id=self.new_id(),
                        relationship_id=successor.relationship_id,
                        observation_id=observation_id,
                        verification_event_id=verification_id,
                        evidence_id=support.evidence_id,
                        source_group_key=support.source_group_key,
                        span_start=support.span_start,
                        span_end=support.span_end,
                        quote=support.quote,
                        authority=support.authority,
                        copied_from=support.support_id,
                    )
                )
        successor.supports |= {support.key for support in self.source.supports}
        successor.source_groups |= {support.source_group_key for support in self.source.supports}

    def _give_way(self, successor: Relationship, others: Sequence[Relationship], verification_id: UUID) -> None:
        """The author's other current statements of the same scope, as when it is remembered (dense-mem 24)."""
        if successor.current_cardinality != "one":
            return
        for other in others:
            rival = other is not successor and other.status == "active" and other.current_cardinality == "one"
            if rival and other.statement.current_scope == successor.statement.current_scope:
                self._end(other, "replaced", verification_id)

    def _end(self, item: Relationship, reason: str, verification_id: UUID) -> None:
        before, item.status, item.known_to = item.status, "superseded", self.now
        item.version += 1
        self._transition(item, before, reason, verification_id)
        self._change(item)

    def _transition(self, item: Relationship, before: str | None, reason: str, verification_id: UUID) -> None:
        self.changes.transitions.append(
            TransitionRow(
                event_id=self.new_id(),
                relationship_id=item.relationship_id,
                from_status=before,
                to_status=item.status,
                version=item.version,
                reason=reason,
                verification_event_id=verification_id,
            )
        )

    def _change(self, item: Relationship) -> None:
        self.changes.changed.append(
            RelationshipChange(
                relationship_id=item.relationship_id, status=item.status, valid_to=item.valid_to, version=item.version, known_to=item.known_to
            )
        )

    def _conclude(self, item: Relationship, disposition: Disposition) -> None:
        if disposition != "created":
            self._change(item)
            return
        self.changes.relationships.append(relationship_row(item))

    def _document(self, item: Relationship) -> None:
        text = self.amended.wording(item.valid_to)
        if text != item.document_text:
            row = DocumentRow(relationship_id=item.relationship_id, source_version=item.version, document_text=text, replaces=item.document_text)
            self.changes.documents.append(row)


def _successor(item: Relationship, disposition: Disposition) -> Successor:
    return Successor(relationship_id=item.relationship_id, relationship_version=item.version, status=item.status, disposition=disposition)
