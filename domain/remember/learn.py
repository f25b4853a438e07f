"""Names that a request teaches: a proposal names an entity by its id and by another name that the cited text carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from commonlore.domain.ids import NewId
from commonlore.domain.remember.changes import NameRow
from commonlore.domain.remember.ground import CitedText, ground
from commonlore.domain.remember.request import EntityProposal
from commonlore.domain.remember.resolve import End, NameState, ResolvedProposal
from commonlore.domain.remember.standing import Cited
from commonlore.domain.text.normalise import name_key
from commonlore.domain.text.parts import Span


def learn_names(
    resolved: Sequence[ResolvedProposal], names: NameState, cited: Mapping[int, Cited], known_cited: Mapping[UUID, Cited], *, new_id: NewId
) -> list[NameRow]:
    """Aliases with the text that carries each, in the order of the proposals.

    A name is learned where one cited text entails the proposal by that name alone, and no entity of the space carries it:
    a name that another one has would make both ambiguous. A text in quarantine teaches nothing.
    """
    learned: dict[str, NameRow] = {}
    for item in resolved:
        for proposal, key, end, other, is_subject in _ends(item):
            known = names.by_id.get(proposal.known_entity_id) if proposal.known_entity_id else None
            if known is None or key is None or proposal.name is None or names.by_key.get(key) or key in learned:
                continue
            if key in {name_key(name) for name in known.names}:
                continue
            for text, span in _texts(item, cited, known_cited):
                sides = ([proposal.name], other.names) if is_subject else (other.names, [proposal.name])
                speaker = text.text.speaker if text.text.speaker and text.text.speaker.casefold() != proposal.name.casefold() else None
                found = ground(CitedText(text.text.content, speaker, span), *sides)
                if found.span is not None:
                    assert end.entity_id is not None
                    learned[key] = NameRow(
                        entity_name_id=new_id(),
                        entity_id=end.entity_id,
                        entity_kind=known.entity.entity_kind,
                        display_name=proposal.name,
                        name_key=key,
                        evidence_id=text.evidence_id,
                        span_start=found.span.start,
                        span_end=found.span.end,
                    )
                    break
    return list(learned.values())


def _ends(item: ResolvedProposal) -> Iterator[tuple[EntityProposal, str | None, End, End, bool]]:
    if item.statement is None or item.subject is None or item.target is None:
        return
    proposal = item.prepared.proposal
    yield proposal.subject, item.prepared.subject_key, item.subject, item.target, True
    if proposal.object.entity is not None:
        yield proposal.object.entity, item.prepared.object_key, item.target, item.subject, False


def _texts(item: ResolvedProposal, cited: Mapping[int, Cited], known_cited: Mapping[UUID, Cited]) -> Iterator[tuple[Cited, Span | None]]:
    proposal = item.prepared.proposal
    spans = [(cited[span.evidence_index], Span(span.start, span.end)) for span in proposal.supports]
    whole = [cited[index] for index in dict.fromkeys(proposal.evidence_indices)]
    known = [known_cited[key] for key in dict.fromkeys(proposal.known_evidence_ids) if key in known_cited]
    yield from ((text, span) for text, span in spans if not text.is_held)
    yield from ((text, None) for text in (*whole, *known) if not text.is_held)
