"""What may be asked of briefs: to list and read them, to take one for a time, to give it back, to answer it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.delegation.brief import parse_brief_id
from commonlore.domain.delegation.kind import KINDS, Decision, Field, Kind
from commonlore.domain.errors import invalid
from commonlore.domain.remember.request import EntityProposal, ObjectProposal, Polarity, PredicateProposal, RelationshipProposal, SpanProposal
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import InSpace
from commonlore.domain.text.parts import Span

BriefId = Annotated[str, Meta(min_length=1, max_length=128)]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]
MOST_QUOTES = 10
# Of a session, whose texts may state much.
MOST_QUOTES_OF_SESSION = 40
_FIELDS: tuple[Field, ...] = ("quotes", "preferred_position_id", "effective_at", "keep_entity_id", "summary", "relationships")
MOST_RELATIONSHIPS = 50


class ListBriefsRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Briefs that nobody decided, by kind and then in a fixed order. Without `kinds`, all."""

    kinds: Annotated[list[Kind], Meta(max_length=10)] = []
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    cursor: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None


class DescribeBriefRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One brief with what became of it."""

    brief_id: BriefId


class ClaimBriefRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Takes a brief for `lease_seconds`. With the `claim_id` of a claim that still runs it is extended."""

    brief_id: BriefId
    lease_seconds: Annotated[int, Meta(ge=10, le=3600)] = 600
    claim_id: UUID | None = None


class ReleaseBriefRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gives a claimed brief back before its time."""

    brief_id: BriefId
    claim_id: UUID
    reason: Reason

    def validate(self) -> None:
        require_visible("/reason", self.reason)


class BriefQuote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words of a text, exactly as they stand there. `start`, in code points, says which place is meant; without it, the first."""

    evidence_id: UUID
    quote: Annotated[str, Meta(min_length=1, max_length=999)]
    start: Annotated[int, Meta(ge=0)] | None = None


class ReadRelationship(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relationship that the quotes state. `evidence_indices` are places in the list of quotes."""

    ref: Annotated[str, Meta(min_length=1, max_length=128)]
    subject: EntityProposal
    predicate: PredicateProposal
    object: ObjectProposal
    evidence_indices: Annotated[list[Annotated[int, Meta(ge=0, le=MOST_QUOTES_OF_SESSION - 1)]], Meta(min_length=1, max_length=20)]
    polarity: Polarity = "+"
    scope: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    valid_from: str | None = None
    valid_to: str | None = None

    def proposal(self, evidence_ids: Sequence[UUID], spans: Sequence[Span]) -> RelationshipProposal:
        """As `remember` takes it, with the quoted places as its only evidence; `evidence_ids` and `spans` are of the quotes."""
        indices = list(dict.fromkeys(self.evidence_indices))
        return RelationshipProposal(
            ref=self.ref,
            subject=self.subject,
            predicate=self.predicate,
            object=self.object,
            polarity=self.polarity,
            # For whoever reads the proposal later: the places of the quotes are not stored with it.
            known_evidence_ids=list(dict.fromkeys(evidence_ids[index] for index in indices)),
            supports=[SpanProposal(evidence_index=index, start=spans[index].start, end=spans[index].end) for index in indices],
            scope=self.scope,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
        )

    def validate(self, pointer: str, quotes: int) -> None:
        self.subject.validate(f"{pointer}/subject")
        self.predicate.validate(f"{pointer}/predicate")
        self.object.validate(f"{pointer}/object")
        for place, index in enumerate(self.evidence_indices):
            if index >= quotes:
                raise invalid(f"{pointer}/evidence_indices/{place}", f"expected a place in quotes, 0 to {quotes - 1}")
        if self.scope is not None:
            require_visible(f"{pointer}/scope", self.scope)
        start, end = read_instant(f"{pointer}/valid_from", self.valid_from), read_instant(f"{pointer}/valid_to", self.valid_to)
        if start is not None and end is not None and end < start:
            raise invalid(f"{pointer}/valid_to", "expected a time not before valid_from")


class SubmitVerdictRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a claimed brief. What a decision needs and allows says the brief; `answered_by` names the model or person in your own words."""

    brief_id: BriefId
    claim_id: UUID
    decision: Decision
    reason: Reason
    quotes: Annotated[list[BriefQuote], Meta(max_length=MOST_QUOTES_OF_SESSION)] = []
    preferred_position_id: UUID | None = None
    effective_at: str | None = None
    keep_entity_id: UUID | None = None
    summary: Annotated[str, Meta(min_length=1, max_length=600)] | None = None
    relationships: Annotated[list[ReadRelationship], Meta(max_length=MOST_RELATIONSHIPS)] = []
    answered_by: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
            NotVisible: no brief has such a name.
        """
        kind = parse_brief_id(self.brief_id).kind
        verdicts = KINDS[kind].verdicts
        verdict = verdicts.get(self.decision)
        if verdict is None:
            raise invalid("/decision", f"expected one of {', '.join(verdicts)}")
        for field in _FIELDS:
            given = bool(getattr(self, field))
            if given and not verdict.takes(field):
                raise invalid(f"/{field}", f"expected only where the decision takes it; {self.decision} does not")
            if not given and field in verdict.needs:
                raise invalid(f"/{field}", f"missing; the decision {self.decision} needs it")
        if kind != "read_session" and len(self.quotes) > MOST_QUOTES:
            raise invalid("/quotes", f"expected at most {MOST_QUOTES} quotes for a brief of this kind")
        for name in ("reason", "summary", "answered_by"):
            if (text := getattr(self, name)) is not None:
                require_visible(f"/{name}", text)
        read_instant("/effective_at", self.effective_at)
        refs: dict[str, int] = {}
        for index, item in enumerate(self.relationships):
            item.validate(f"/relationships/{index}", len(self.quotes))
            if refs.setdefault(item.ref, index) != index:
                raise invalid(f"/relationships/{index}/ref", f"expected a ref of its own; /relationships/{refs[item.ref]} has it already")
        require_key(self.idempotency_key)
