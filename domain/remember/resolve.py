"""From proposals to statements: which entity, predicate and value each one means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from commonlore.domain.ids import NewId
from commonlore.domain.ledger import entity, predicate
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.value import NORMALIZATION_VERSION, Value
from commonlore.domain.remember.changes import Changes, EntityRow, PredicateRow, ResolutionRow, ValueRow
from commonlore.domain.remember.prepare import PreparedRelationship
from commonlore.domain.remember.request import EntityProposal

ValueKey = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An active entity with every name it currently carries, canonical first."""

    entity: NamedEntity
    names: tuple[str, ...]


@dataclass(slots=True)
class NameState:
    """What one space knows of the names in a request, read under its ledger lock."""

    by_key: dict[str, list[NamedEntity]] = field(default_factory=dict)
    by_id: dict[UUID, KnownEntity] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    values: dict[ValueKey, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a proposal is not stored; its evidence is."""

    reason: str
    message: str
    remediation: str


@dataclass(frozen=True, slots=True)
class End:
    """One end as resolved: its id, the wording of the document, and the names that ground it in a text."""

    entity_id: UUID | None
    value_id: UUID | None
    wording: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResolvedProposal:
    """A proposal as a statement, or the reason why it is none."""

    prepared: PreparedRelationship
    statement: Statement | None
    predicate: Predicate | None
    subject: End | None
    target: End | None
    refusal: Refusal | None = None


def resolve_proposals(
    proposals: Sequence[PreparedRelationship],
    state: NameState,
    changes: Changes,
    *,
    new_id: NewId,
    refused: Mapping[str, Refusal] = MappingProxyType({}),
) -> list[ResolvedProposal]:
    """Resolve in the order given; a name created by one proposal is reused by the next.

    New entities, values and predicates are added to `changes` and to `state`. A proposal that is refused already, by its ref,
    makes none.
    """
    resolver = _Resolver(state, changes, new_id)
    return [
        ResolvedProposal(proposal, None, None, None, None, refused[proposal.proposal.ref])
        if proposal.proposal.ref in refused
        else resolver.resolve(proposal)
        for proposal in proposals
    ]


@dataclass(slots=True)
class _Resolver:
    state: NameState
    changes: Changes
    new_id: NewId

    def resolve(self, prepared: PreparedRelationship) -> ResolvedProposal:
        proposal = prepared.proposal
        found, policy = predicate.resolve(prepared.predicate_key, self.state.predicates)
        if (refusal := _refuse_predicate(prepared, found, policy)) is not None:
            return ResolvedProposal(prepared, None, found, None, None, refusal)
        for end, key, side in ((proposal.subject, prepared.subject_key, "subject"), (proposal.object.entity, prepared.object_key, "object")):
            # Both ends before either is made, so that a refused proposal leaves no entity behind.
            if end is not None and isinstance(refused := self._find(end, key, f"{proposal.ref}#{side}"), Refusal):
                return ResolvedProposal(prepared, None, found, None, None, refused)
        subject = self._entity(proposal.subject, prepared.subject_key, f"{proposal.ref}#subject")
        if isinstance(subject, Refusal):
            return ResolvedProposal(prepared, None, found, None, None, subject)
        target: End | Refusal
        if proposal.object.entity is not None:
            target = self._entity(proposal.object.entity, prepared.object_key, f"{proposal.ref}#object")
        else:
            assert prepared.value is not None
            target = self._value(prepared.value)
        if isinstance(target, Refusal):
            return ResolvedProposal(prepared, None, found, None, None, target)
        if policy != "known":
            self._register(found, policy)
        assert subject.entity_id is not None
        statement = Statement(
            subject_entity_id=subject.entity_id,
            predicate_key=found.key,
            object_entity_id=target.entity_id,
            object_value_id=target.value_id,
            polarity=proposal.polarity,
            scope_key=proposal.scope,
            valid_from=prepared.valid_from,
        )
        return ResolvedProposal(prepared, statement, found, subject, target)

    def _entity(self, proposal: EntityProposal, key: str | None, mention_ref: str) -> End | Refusal:
        found = self._find(proposal, key, mention_ref)
        if isinstance(found, Refusal):
            return found
        if found is not None:
            return self._reuse(found, proposal, key, mention_ref)
        assert key is not None and proposal.name is not None
        return self._create(proposal.name, proposal.entity_kind, key, mention_ref)

    def _find(self, proposal: EntityProposal, key: str | None, mention_ref: str) -> KnownEntity | Refusal | None:
        """The entity that an end means, or None where it must be made."""
        if proposal.known_entity_id is not None:
            return self.state.by_id.get(proposal.known_entity_id) or Refusal(
                "entity_not_found",
                "known_entity_id names no entity of this space",
                "Use an entity_id from an answer of the same space, or a name.",
            )
        assert key is not None and proposal.name is not None
        resolution = entity.resolve(proposal.entity_kind, self.state.by_key.get(key, []))
        if resolution.action == "ambiguous":
            self._note(mention_ref, proposal.name, proposal.entity_kind, "ambiguous", None)
            return Refusal(
                "identity_needs_review", "several entities carry this name", "Name the one you mean with known_entity_id, or state its entity_kind."
            )
        return self.state.by_id[resolution.entity.entity_id] if resolution.entity is not None else None

    def _reuse(self, known: KnownEntity, proposal: EntityProposal, key: str | None, mention_ref: str) -> End:
        """The entity with the names that ground it: its own, and the one that the proposal gives, unless that one is another entity's."""
        name = proposal.name or known.entity.canonical_name
        self._note(mention_ref, name, known.entity.entity_kind, "reuse", known.entity.entity_id)
        carriers = self.state.by_key.get(key, []) if key is not None else []
        foreign = bool(carriers) and known.entity not in carriers
        return End(known.entity.entity_id, None, known.entity.canonical_name, known.names if foreign else tuple(dict.fromkeys((name, *known.names))))

    def _create(self, name: str, kind: str, key: str, mention_ref: str) -> End:
        created = NamedEntity(self.new_id(), kind, name)
        self.changes.entities.append(
            EntityRow(entity_id=created.entity_id, entity_name_id=self.new_id(), entity_kind=kind, display_name=name, name_key=key)
        )
        self.state.by_key.setdefault(key, []).append(created)
        self.state.by_id[created.entity_id] = KnownEntity(created, (name,))
        self._note(mention_ref, name, kind, "create", created.entity_id)
        return End(created.entity_id, None, name, (name,))

    def _note(self, mention_ref: str, name: str, kind: str, action: str, entity_id: UUID | None) -> None:
        row = ResolutionRow(event_id=self.new_id(), mention_ref=mention_ref, name=name, entity_kind=kind, action=action, entity_id=entity_id)
        self.changes.resolutions.append(row)

    def _value(self, value: Value) -> End:
        key = (value.value_type, value.canonical, value.unit)
        if key not in self.state.values:
            self.state.values[key] = self.new_id()
            self.changes.values.append(
                ValueRow(
                    value_id=self.state.values[key],
                    value_type=value.value_type,
                    canonical_value=value.canonical,
                    unit=value.unit,
                    display=value.display,
                    normalization_version=NORMALIZATION_VERSION,
                )
            )
        shown = f"{value.display} {value.unit}" if value.unit and value.unit not in value.display else value.display
        return End(None, self.state.values[key], shown, tuple(dict.fromkeys((value.display, value.canonical))))

    def _register(self, found: Predicate, policy: str) -> None:
        self.state.predicates[found.key] = found
        self.changes.predicates.append(
            PredicateRow(
                event_id=self.new_id(),
                predicate_key=found.key,
                version=found.version,
                aliases=found.aliases,
                subject_kinds=found.subject_kinds,
                object_kinds=found.object_kinds,
                relationship_kind=found.relationship_kind,
                current_cardinality=found.current_cardinality,
                policy=policy,
            )
        )


def _refuse_predicate(prepared: PreparedRelationship, found: Predicate, policy: str) -> Refusal | None:
    proposal = prepared.proposal
    if proposal.predicate.known_predicate_key is not None and policy == "open_vocabulary_v1":
        return Refusal("predicate_not_found", "known_predicate_key names no predicate of this space", "Send the wording as proposed_key.")
    if found.lifecycle_state != "active":
        return Refusal("predicate_needs_review", "the predicate takes no new relationships", "Use another predicate.")
    if found.subject_kinds and proposal.subject.entity_kind not in found.subject_kinds:
        return Refusal(
            "predicate_needs_review", f"the subject of {found.key} is one of: {', '.join(found.subject_kinds)}", "Correct the kind or the predicate."
        )
    kind = proposal.object.entity.entity_kind if proposal.object.entity else prepared.value.value_type if prepared.value else ""
    if found.object_kinds and kind not in found.object_kinds:
        return Refusal(
            "predicate_needs_review", f"the object of {found.key} is one of: {', '.join(found.object_kinds)}", "Correct the kind or the predicate."
        )
    return None
