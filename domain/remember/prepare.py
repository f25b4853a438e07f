"""What can be known of a request before any row is read: hashes, parts, terms, keys and typed values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from commonlore.domain.checks import read_instant
from commonlore.domain.errors import invalid
from commonlore.domain.ledger.echo import runs_of
from commonlore.domain.ledger.evidence import content_sha256
from commonlore.domain.ledger.predicate import predicate_key
from commonlore.domain.ledger.signals import Signal, scan
from commonlore.domain.ledger.speaker import is_person
from commonlore.domain.ledger.value import Value, canonical_value
from commonlore.domain.remember.request import EvidenceProposal, RelationshipProposal, RememberRequest
from commonlore.domain.submission import request_sha256
from commonlore.domain.text.analyse import terms
from commonlore.domain.text.normalise import name_key
from commonlore.domain.text.parts import split_parts

Raw = TypeVar("Raw")
Read = TypeVar("Read")
KIND = "remember"
MAX_PART_TOKENS = 254
_PLAIN = re.compile("[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Part:
    """A searchable piece: half-open span in code points, its terms with their frequency, and the text that is embedded.

    A text without any word piece, such as a lone zero-width mark, has no meaning to embed and needs no vector.
    """

    part_no: int
    start: int
    end: int
    search_text: str
    frequencies: dict[str, int]
    length: int
    embeddable: bool


@dataclass(frozen=True, slots=True)
class PreparedEvidence:
    proposal: EvidenceProposal
    content_sha256: bytes
    occurred_at: datetime | None
    parts: tuple[Part, ...]
    signals: tuple[Signal, ...] = ()
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedRelationship:
    """A proposal with its keys; name keys are None where only an id was given."""

    proposal: RelationshipProposal
    subject_key: str | None
    object_key: str | None
    predicate_key: str
    value: Value | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class Prepared:
    request: RememberRequest
    request_sha256: bytes
    evidence: tuple[PreparedEvidence, ...]
    relationships: tuple[PreparedRelationship, ...]


def prepare(request: RememberRequest, *, count_tokens: Callable[[str], int]) -> Prepared:
    """Linear in the length of the texts; run it in a thread when they are long.

    Raises:
        Incorrect: with the JSON pointer of the first wrong field.
    """
    request.validate()
    return Prepared(
        request=request,
        request_sha256=request_sha256(KIND, request),
        evidence=tuple(prepare_evidence(f"/evidence/{index}", item, count_tokens) for index, item in enumerate(request.evidence)),
        relationships=tuple(prepare_relationship(f"/relationships/{index}", item) for index, item in enumerate(request.relationships)),
    )


def search_prefix(speaker: str | None) -> str:
    """What a part's text begins with when it is searched: who said it, unless that is only a role."""
    return f"{speaker}: " if is_person(speaker) else ""


def prepare_evidence(pointer: str, proposal: EvidenceProposal, count_tokens: Callable[[str], int]) -> PreparedEvidence:
    """One text that was validated.

    Raises:
        Incorrect: its speaker leaves no room for the text.
    """
    prefix = search_prefix(proposal.speaker)
    room = MAX_PART_TOKENS - (count_tokens(prefix) if prefix else 0)
    if room < 64:
        raise invalid(f"{pointer}/speaker", "expected a name that leaves room for the text: at most 190 word pieces")
    prefix_terms = terms(prefix) if prefix else []
    parts = []
    for number, span in enumerate(split_parts(proposal.content, count_tokens, max_tokens=room)):
        text = proposal.content[span.start : span.end]
        found = Counter(prefix_terms)
        found.update(terms(text))
        parts.append(Part(number, span.start, span.end, prefix + text, dict(found), max(1, found.total()), _has_meaning(text, count_tokens)))
    return PreparedEvidence(
        proposal=proposal,
        content_sha256=content_sha256(proposal.content),
        occurred_at=read_instant(f"{pointer}/occurred_at", proposal.occurred_at),
        parts=tuple(parts),
        signals=scan(proposal.content),
        runs=tuple(runs_of(proposal.content)),
    )


def _has_meaning(text: str, count_tokens: Callable[[str], int]) -> bool:
    """Whether a text has a word piece; counting them is slow, so it is asked of texts without a plain letter or digit alone."""
    return _PLAIN.search(text) is not None or (bool(text.strip()) and count_tokens(text) > 0)


def prepare_relationship(pointer: str, proposal: RelationshipProposal) -> PreparedRelationship:
    """One proposal that was validated.

    Raises:
        Incorrect: a name, predicate or value has no normal form.
    """
    wording = proposal.predicate.proposed_key or proposal.predicate.known_predicate_key or ""
    field = "proposed_key" if proposal.predicate.proposed_key else "known_predicate_key"
    entity, value = proposal.object.entity, proposal.object.value
    return PreparedRelationship(
        proposal=proposal,
        subject_key=_name_key(f"{pointer}/subject/name", proposal.subject.name),
        object_key=_name_key(f"{pointer}/object/entity/name", entity.name) if entity else None,
        predicate_key=_checked(f"{pointer}/predicate/{field}", predicate_key, wording),
        value=_checked(
            f"{pointer}/object/value/value", lambda raw: canonical_value(value.type, raw, unit=value.unit, display=value.display), value.value
        )
        if value
        else None,
        valid_from=read_instant(f"{pointer}/valid_from", proposal.valid_from),
        valid_to=read_instant(f"{pointer}/valid_to", proposal.valid_to),
    )


def _name_key(pointer: str, name: str | None) -> str | None:
    return None if name is None else _checked(pointer, name_key, name)


def _checked(pointer: str, read: Callable[[Raw], Read], raw: Raw) -> Read:
    try:
        return read(raw)
    except ValueError as error:
        raise invalid(pointer, str(error)) from error
