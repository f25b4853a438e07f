"""From statements to rows: which relationships are new, which gain support, which give way.

Pure: the same proposals and the same state give the same decisions. Proposals count in the order of the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from commonlore.domain.ids import NewId
from commonlore.domain.ledger.relationship import STATUS_OF_VERDICT, Statement, Verdict
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.remember.changes import (
    Changes,
    DecisionRow,
    DocumentRow,
    ObservationRow,
    ReferenceRow,
    RelationshipChange,
    SupportRow,
    TransitionRow,
    VerificationRow,
)
from commonlore.domain.remember.ground import VERIFIER, CitedText, Grounding, Mentions, ground, mentions_by_name
from commonlore.domain.remember.resolve import ResolvedProposal
from commonlore.domain.remember.result import RelationshipResult, SplitResult
from commonlore.domain.remember.standing import Cited, Relationship, relationship_row
from commonlore.domain.text.parts import Span


def wording_of(resolved: ResolvedProposal, valid_to: datetime | None) -> str:
    """The document text of a resolved proposal."""
    assert resolved.statement and resolved.subject and resolved.target and resolved.predicate
    statement = resolved.statement
    return render(
        RelationshipWording(
            subject=resolved.subject.wording,
            predicate=resolved.predicate.wording,
            object=resolved.target.wording,
            polarity=statement.polarity,
            scope=statement.scope_key,
            valid_from=statement.valid_from,
            valid_to=valid_to,
        )
    )


def decide(
    resolved: Sequence[ResolvedProposal],
    *,
    existing: Sequence[Relationship],
    cited: Mapping[int, Cited],
    known_cited: Mapping[UUID, Cited],
    changes: Changes,
    new_id: NewId,
    now: datetime,
) -> list[RelationshipResult]:
    """Fill `changes` and return one result a proposal, in order.

    `existing` are the author's own relationships that share a statement, or the one-current scope of one, with a
    proposal. `cited` is by evidence index.
    """
    decision = _Decision({item.statement: item for item in existing}, {item.statement for item in resolved}, cited, known_cited, changes, new_id, now)
    decision.read_mentions(resolved)
    taken = [decision.take(item) for item in resolved]
    decision.conclude()
    # A later proposal may have changed what an earlier one made, so the answers come last.
    return [_result(*item) for item in taken]


_Taken = tuple[ResolvedProposal, "Relationship | None", Verdict, str]


@dataclass(slots=True)
class _Decision:
    relationships: dict[Statement, Relationship]
    stated: set[Statement | None]
    cited: Mapping[int, Cited]
    known_cited: Mapping[UUID, Cited]
    changes: Changes
    new_id: NewId
    now: datetime
    documents: dict[UUID, DocumentRow] = field(default_factory=dict)
    mentions: dict[UUID, Mentions] = field(default_factory=dict)

    def read_mentions(self, resolved: Sequence[ResolvedProposal]) -> None:
        """Every name that is looked for in a text, found in one reading of it: a long text is read once, not once a proposal."""
        wanted: dict[UUID, tuple[CitedText, list[str]]] = {}
        for proposal in resolved:
            if proposal.subject and proposal.target:
                for item, span in self._citations(proposal):
                    if span is None:
                        wanted.setdefault(item.evidence_id, (item.text, []))[1].extend((*proposal.subject.names, *proposal.target.names))
        self.mentions = {key: mentions_by_name(text.content, names) for key, (text, names) in wanted.items()}

    def take(self, resolved: ResolvedProposal) -> _Taken:
        if resolved.statement is None:
            self._observe(resolved, None)
            return resolved, None, "insufficient", ""
        assert resolved.subject and resolved.target and resolved.predicate
        groundings = [(item, self._ground(item, span, resolved)) for item, span in self._citations(resolved)]
        verdict: Verdict = "entailed" if any(found.verdict == "entailed" for _, found in groundings) else "insufficient"
        relationship = self._relationship(resolved, verdict)
        observation_id = self._observe(resolved, relationship.relationship_id)
        rationale = next((found.rationale for _, found in groundings if found.verdict == verdict), "no cited text is visible in this space")
        verification_id = self._verify(observation_id, verdict, rationale)
        gained, heard = self._support(relationship, groundings, observation_id, verification_id)
        self._transition(resolved, relationship, verdict, gained, heard, verification_id)
        if heard and relationship.status == "active":
            self._correct(resolved, relationship, verification_id)
        return resolved, relationship, verdict, rationale

    def _citations(self, resolved: ResolvedProposal) -> list[tuple[Cited, Span | None]]:
        """Each cited text once, in the order of the request; an explicit span takes the place of its whole text."""
        proposal = resolved.prepared.proposal
        spanned = [(self.cited[item.evidence_index], Span(item.start, item.end)) for item in proposal.supports]
        explicit = {item.evidence_index for item in proposal.supports}
        indexed = [(self.cited[index], None) for index in dict.fromkeys(proposal.evidence_indices) if index not in explicit]
        known = [(self.known_cited[key], None) for key in dict.fromkeys(proposal.known_evidence_ids) if key in self.known_cited]
        return [*spanned, *indexed, *known]

    def _ground(self, item: Cited, span: Span | None, resolved: ResolvedProposal) -> Grounding:
        assert resolved.subject and resolved.target
        text = CitedText(item.text.content, item.text.speaker, span)
        return ground(text, resolved.subject.names, resolved.target.names, self.mentions.get(item.evidence_id) if span is None else None)

    def _relationship(self, resolved: ResolvedProposal, verdict: Verdict) -> Relationship:
        statement, predicate = resolved.statement, resolved.predicate
        assert statement is not None and predicate is not None
        found = self.relationships.get(statement)
        if found is None:
            found = Relationship(
                relationship_id=self.new_id(),
                statement=statement,
                status=STATUS_OF_VERDICT[verdict],
                version=0,
                valid_to=resolved.prepared.valid_to,
                document_text=None,
                stored=False,
                relationship_kind=predicate.relationship_kind,
                current_cardinality=predicate.current_cardinality,
                predicate_version=predicate.version,
            )
            self.relationships[statement] = found
        return found

    def _observe(self, resolved: ResolvedProposal, relationship_id: UUID | None) -> UUID:
        observation_id = self.new_id()
        proposal = msgspec.to_builtins(resolved.prepared.proposal)
        self.changes.observations.append(
            ObservationRow(observation_id=observation_id, relationship_id=relationship_id, ref=resolved.prepared.proposal.ref, proposal=proposal)
        )
        return observation_id

    def _verify(self, observation_id: UUID, verdict: Verdict, rationale: str) -> UUID:
        event_id = self.new_id()
        self.changes.verifications.append(
            VerificationRow(
                event_id=event_id,
                observation_id=observation_id,
                evidence_verdict=verdict,
                verifier=VERIFIER,
                confidence=1.0 if verdict == "entailed" else 0.0,
                rationale=rationale,
            )
        )
        return event_id

    def _support(
        self, relationship: Relationship, groundings: Sequence[tuple[Cited, Grounding]], observation_id: UUID, verification_id: UUID
    ) -> tuple[bool, set[UUID]]:
        """Whether the relationship gained a support that counts, and which texts say it that count: one in quarantine waits."""
        before = len(relationship.supports)
        heard = {item.evidence_id for item, found in groundings if found.span is not None and not item.is_held}
        for item, found in groundings:
            known = relationship.supports | relationship.held | (relationship.revoked.keys() if item.is_held else set())
            if found.span is None or (key := (item.evidence_id, found.span.start, found.span.end)) in known:
                continue
            if item.is_held:
                relationship.held.add(key)
            else:
                relationship.supports.add(key)
                relationship.source_groups.add(item.source_group_key)
            if (support_id := relationship.revoked.pop(key, None)) is not None:
                row = DecisionRow(event_id=self.new_id(), support_id=support_id, decision="reinstate", reason="stated_again")
                self.changes.decisions.append(row)
                continue
            self.changes.supports.append(
                SupportRow(
                    support_id=self.new_id(),
                    decision_event_id=self.new_id(),
                    relationship_id=relationship.relationship_id,
                    observation_id=observation_id,
                    verification_event_id=verification_id,
                    evidence_id=item.evidence_id,
                    source_group_key=item.source_group_key,
                    span_start=found.span.start,
                    span_end=found.span.end,
                    quote=item.text.content[found.span.start : found.span.end],
                    authority=item.authority,
                )
            )
        return len(relationship.supports) > before, heard

    def _transition(
        self, resolved: ResolvedProposal, item: Relationship, verdict: Verdict, gained: bool, heard: set[UUID], verification_id: UUID
    ) -> None:
        """A new row, new support, a reactivation or a newly known end each make a version; anything else leaves the row alone."""
        new = item.version == 0
        before = None if new else item.status
        fresh = gained or (item.status == "superseded" and self._changes_back(item, heard))
        reactivated = not new and fresh and item.status in ("pending_evidence", "superseded", "retracted")
        valid_to = resolved.prepared.valid_to
        ended = not new and bool(heard) and valid_to is not None and valid_to != item.valid_to
        if not (new or gained or reactivated or ended):
            return
        if new and item.status == "active" and not item.supports:
            item.status = "pending_evidence"
        if reactivated:
            item.status, item.known_to = "active", None
        if ended:
            item.valid_to = valid_to
        item.version += 1
        reason = f"verification:{verdict}" if new else "reactivated" if reactivated else "support_granted" if gained else "validity_learned"
        self._transition_row(item, before, reason, verification_id)
        if item.current_cardinality == "one" and item.status == "active" and (new or reactivated):
            self._supersede_siblings(item, verification_id)
        self._document(resolved, item)

    def _changes_back(self, item: Relationship, heard: set[UUID]) -> bool:
        """Who changes back says the same words again. A request in which the same text says what replaced it as well changes nothing."""
        rivals = (rival for rival in self._rivals(item) if rival.statement in self.stated)
        return bool(heard) and not any(support[0] in heard for rival in rivals for support in rival.supports)

    def _supersede_siblings(self, item: Relationship, verification_id: UUID) -> None:
        """The author's earlier current statements of the same scope give way (dense-mem 24)."""
        for rival in self._rivals(item):
            rival.status, rival.known_to = "superseded", self.now
            rival.version += 1
            self._transition_row(rival, "active", "replaced", verification_id)

    def _rivals(self, item: Relationship) -> list[Relationship]:
        """What else is current where one statement may be."""
        others = (other for other in self.relationships.values() if other is not item and other.status == "active")
        return [other for other in others if other.current_cardinality == "one" and other.statement.current_scope == item.statement.current_scope]

    def _correct(self, resolved: ResolvedProposal, item: Relationship, verification_id: UUID) -> None:
        """What the proposal means to correct gives way to it. One that another proposal ended first, or that says the same, is left alone."""
        wanted = resolved.prepared.proposal.correction_target
        target = next((known for known in self.relationships.values() if wanted and known.relationship_id == wanted.relationship_id), None)
        if target is None or target is item:
            return
        if target.status == "active":
            target.status, target.known_to = "superseded", self.now
            target.version += 1
            self._transition_row(target, "active", "corrected", verification_id)
        self.changes.references.append(
            ReferenceRow(
                reference_id=self.new_id(),
                source_relationship_id=item.relationship_id,
                source_version=item.version,
                target_relationship_id=target.relationship_id,
                target_version=target.version,
                kind="corrects",
                verification_event_id=verification_id,
            )
        )

    def _transition_row(self, item: Relationship, before: str | None, reason: str, verification_id: UUID) -> None:
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

    def _document(self, resolved: ResolvedProposal, item: Relationship) -> None:
        text = wording_of(resolved, item.valid_to)
        if text == item.document_text:
            return
        stored = self.documents.get(item.relationship_id)
        self.documents[item.relationship_id] = DocumentRow(
            relationship_id=item.relationship_id,
            source_version=item.version,
            document_text=text,
            replaces=stored.replaces if stored else item.document_text,
        )

    def conclude(self) -> None:
        """Turn the final state of each relationship into one row."""
        for item in self.relationships.values():
            if not item.stored:
                self.changes.relationships.append(relationship_row(item))
            elif item.version != item.first_version:
                change = RelationshipChange(
                    relationship_id=item.relationship_id, status=item.status, valid_to=item.valid_to, version=item.version, known_to=item.known_to
                )
                self.changes.changed.append(change)
        self.changes.documents.extend(self.documents.values())


def _result(resolved: ResolvedProposal, item: Relationship | None, verdict: Verdict, rationale: str) -> RelationshipResult:
    """How the relationship stands at the end of the request."""
    ref = resolved.prepared.proposal.ref
    if item is None:
        refusal = resolved.refusal
        assert refusal is not None
        return RelationshipResult(
            ref=ref, disposition="not_stored", splits=[], reason=refusal.reason, message=refusal.message, remediation=refusal.remediation
        )
    explained = {}
    if verdict != "entailed":
        explained = {
            "reason": "relationship_pending_evidence" if item.status == "pending_evidence" else "evidence_insufficient",
            "message": rationale,
            "remediation": "Cite evidence that names both ends, or declare its speaker.",
        }
    elif item.held and item.status != "active":
        explained = {
            "reason": "evidence_quarantined",
            "message": "the cited text is in quarantine, so that it does not count yet",
            "remediation": "Ask an administrator to release the text, or cite another one.",
        }
    return RelationshipResult(
        ref=ref,
        disposition="stored",
        splits=[SplitResult(relationship_id=item.relationship_id, relationship_version=item.version, split_index=0, status=item.status)],
        subject_entity_id=item.statement.subject_entity_id,
        object_entity_id=item.statement.object_entity_id or msgspec.UNSET,
        predicate_key=item.statement.predicate_key,
        **explained,
    )
