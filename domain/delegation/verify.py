"""Verdicts on a pending relationship, as changes of the ledger.

`entailed` is a `remember` of the same statement with the quoted places as its only evidence, by whoever decides: the same
resolution of names, the same verifier, the same rules of what gives way. What that call would leave pending is refused here.
`contradicted` is the one verdict that no other call has (decisions.md 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast
from uuid import UUID

from commonlore.domain.correct.amend import Source
from commonlore.domain.delegation.quotes import Quoted
from commonlore.domain.errors import Conflict, Forbidden, invalid
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.remember.changes import Changes, RelationshipChange, TransitionRow, VerificationRow
from commonlore.domain.remember.decide import decide
from commonlore.domain.remember.prepare import PreparedRelationship
from commonlore.domain.remember.request import (
    EntityKind,
    EntityProposal,
    ObjectProposal,
    PredicateProposal,
    RelationshipProposal,
    SpanProposal,
    ValueProposal,
)
from commonlore.domain.remember.resolve import NameState, ResolvedProposal, resolve_proposals
from commonlore.domain.remember.result import SplitResult
from commonlore.domain.remember.standing import Relationship
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.text.mentions import find_mentions
from commonlore.domain.text.normalise import name_key
from commonlore.domain.time import render_instant

VERIFIER = "delegated-1"
_REF = "brief"


class OwnRelationships(Protocol):
    """What the decider has stated already, read under the ledger lock."""

    async def read_relationships(self, statements: Sequence[Statement]) -> list[Relationship]: ...


@dataclass(frozen=True, slots=True)
class Verified:
    """Rows to write, and the relationship that they are about."""

    changes: Changes
    relationship_id: UUID
    version: int
    status: str


def require_pending(source: Source, version: int) -> None:
    """
    Raises:
        Conflict: `stale_input`, it does not wait for evidence at this version any more.
    """
    if source.relationship.status != "pending_evidence" or source.relationship.version != version:
        raise Conflict("stale_input", "the relationship does not wait for evidence at this version any more")


def restated(source: Source, quotes: Sequence[Quoted]) -> PreparedRelationship:
    """The pending statement as a proposal that cites the quoted places and nothing else; text `n` is that of quote `n`."""
    item, statement = source.relationship, source.relationship.statement
    if source.target is not None:
        target = ObjectProposal(entity=_entity(source.target))
    else:
        assert source.value is not None
        value = source.value
        raw: str | int | float | bool = value.canonical
        if value.value_type == "boolean":
            raw = value.canonical == "true"
        elif value.value_type == "number":
            raw = float(value.canonical)
        target = ObjectProposal(value=ValueProposal(type=value.value_type, value=raw, display=value.display, unit=value.unit))  # type: ignore[arg-type]
    proposal = RelationshipProposal(
        ref=_REF,
        subject=_entity(source.subject),
        predicate=PredicateProposal(known_predicate_key=statement.predicate_key),
        object=target,
        polarity="-" if statement.polarity == "-" else "+",
        supports=[SpanProposal(evidence_index=index, start=item.span.start, end=item.span.end) for index, item in enumerate(quotes)],
        scope=statement.scope_key,
        valid_from=render_instant(statement.valid_from) if statement.valid_from else None,
        valid_to=render_instant(item.valid_to) if item.valid_to else None,
    )
    return PreparedRelationship(proposal, None, None, statement.predicate_key, source.value, statement.valid_from, item.valid_to)


def _entity(end: NamedEntity) -> EntityProposal:
    return EntityProposal(known_entity_id=end.entity_id, entity_kind=cast("EntityKind", end.entity_kind))


async def entail(source: Source, quotes: Sequence[Quoted], names: NameState, own: OwnRelationships, *, new_id: NewId, now: datetime) -> Verified:
    """
    Raises:
        Incorrect: no quote names both ends, or the statement takes no new relationship.
    """
    changes = Changes()
    [resolved] = resolve_proposals([restated(source, quotes)], names, changes, new_id=new_id)
    _require_statement(resolved)
    assert resolved.statement is not None
    existing = await own.read_relationships([resolved.statement])
    cited = {index: item.cited for index, item in enumerate(quotes)}
    [result] = decide([resolved], existing=existing, cited=cited, known_cited={}, changes=changes, new_id=new_id, now=now)
    if changes.verifications[-1].evidence_verdict != "entailed":
        raise invalid("/quotes", f"expected words that name both ends of the statement: {changes.verifications[-1].rationale}")
    [split] = result.splits
    return _verified(changes, split)


def _require_statement(resolved: ResolvedProposal) -> None:
    if resolved.refusal is not None:
        raise invalid("/decision", f"the statement cannot be remembered: {resolved.refusal.message}")


def _verified(changes: Changes, split: SplitResult) -> Verified:
    return Verified(changes, split.relationship_id, split.relationship_version, split.status)


def contradict(
    source: Source, quotes: Sequence[Quoted], subject_names: Sequence[str], *, observation_id: UUID, reason: str, actor: Actor, new_id: NewId
) -> Verified:
    """Reject a pending relationship: the author's own, or any with the scope admin.

    Raises:
        Forbidden: it is another member's. Incorrect: no quote names the subject.
    """
    if source.owner_profile_id != actor.profile_id and "admin" not in actor.scopes:
        raise Forbidden("wrong_owner", "the relationship is another member's; rejecting it needs the scope admin")
    if not any(_names(item, subject_names) for item in quotes):
        raise invalid("/quotes", "expected a quote that names the subject, or whose speaker is the subject")
    item, event_id = source.relationship, new_id()
    version = item.version + 1
    changes = Changes(
        changed=[RelationshipChange(relationship_id=item.relationship_id, status="rejected", valid_to=item.valid_to, version=version, known_to=None)],
        verifications=[
            VerificationRow(
                event_id=event_id,
                observation_id=observation_id,
                evidence_verdict="contradicted",
                verifier=VERIFIER,
                confidence=1.0,
                rationale=reason,
            )
        ],
        transitions=[
            TransitionRow(
                event_id=new_id(),
                relationship_id=item.relationship_id,
                from_status=item.status,
                to_status="rejected",
                version=version,
                reason="verification:contradicted",
                verification_event_id=event_id,
            )
        ],
    )
    return Verified(changes, item.relationship_id, version, "rejected")


def _names(quoted: Quoted, names: Sequence[str]) -> bool:
    text = quoted.cited.text
    if next(iter(find_mentions(text.content[quoted.span.start : quoted.span.end], list(names))), None) is not None:
        return True
    try:
        return text.speaker is not None and name_key(text.speaker) in {name_key(name) for name in names}
    except ValueError:
        return False
