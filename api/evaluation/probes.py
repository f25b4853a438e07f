"""What both lanes are asked beside the questions as they are: at another time, and by what stands in a text letter by letter.

Everything follows from the set, so that every contract is asked the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from commonlore.api.evaluation.asking import LoadedSpace, meaning_of
from commonlore.api.evaluation.sets import Document, EvaluationSet, Question, Statement
from commonlore.domain.recall.hints import parse_hints

Slice = Literal["as_asked", "temporal", "valid_at", "known_at", "exact_anchor"]
SLICES: tuple[Slice, ...] = ("as_asked", "temporal", "valid_at", "known_at", "exact_anchor")
# How many relationships the lane is asked for when it is measured alone, and what leaves it alone.
DEPTH = 10
ALONE: Mapping[str, Any] = MappingProxyType({"filter": {"labels": ["commonlore evaluate"]}})
# An anchor that more texts or relationships than these have points at nothing.
_MOST_FOUND = 10
_PHRASE_WORDS = 5


@dataclass(frozen=True, slots=True)
class Probe:
    """One asking: `fields` are those of the request beside the query; `texts` and `statements` what it should find in each lane."""

    question: Question
    slices: tuple[Slice, ...]
    texts: Mapping[str, int]
    statements: frozenset[str]
    fields: Mapping[str, Any] = field(default_factory=dict)


def make_probes(texts: EvaluationSet, spaces: Mapping[str, LoadedSpace]) -> list[Probe]:
    """Every question as it is, at its time, and as known halfway through loading; and one exact anchor of each kind for each question.

    Of relationships those are expected that the service holds as active.
    """
    answering: dict[str, set[str]] = defaultdict(set)
    for statement in texts.statements:
        if statement.question is not None:
            answering[statement.question].add(meaning_of(statement))
    probes: list[Probe] = []
    for question in texts.questions:
        space = spaces[question.space]
        wanted = texts.relevance.get(question.id, {})
        statements = frozenset(answering[question.id] & space.stated)
        probes += _of_question(question, space, wanted, statements)
    probes += _anchors(texts, spaces)
    return [probe for probe in probes if probe.texts or probe.statements]


def _of_question(question: Question, space: LoadedSpace, wanted: Mapping[str, int], statements: frozenset[str]) -> Iterator[Probe]:
    yield Probe(question, ("as_asked", "temporal") if question.time else ("as_asked",), wanted, statements)
    if question.time is not None:
        first, end = map(datetime.fromisoformat, question.time)
        yield Probe(question, ("valid_at",), wanted, statements, MappingProxyType({"valid_at": (first + (end - first) / 2).isoformat()}))
    if space.halfway is not None:
        known = {name: grade for name, grade in wanted.items() if name in space.early}
        yield Probe(question, ("known_at",), known, statements & space.early, MappingProxyType({"known_at": space.halfway}))


def _anchors(texts: EvaluationSet, spaces: Mapping[str, LoadedSpace]) -> Iterator[Probe]:
    """A phrase and an identifier of what a question should find, and the name at the end of a relationship read there."""
    by_text: dict[str, list[Statement]] = defaultdict(list)
    for statement in texts.statements:
        for name in statement.documents:
            by_text[name].append(statement)
    contents = {name: [(document, str(document.proposal["content"])) for document in rows] for name, rows in texts.documents.items()}
    asked: set[tuple[str, str]] = set()
    for question in texts.questions:
        for query in _quotes(texts.relevance.get(question.id, {}), contents.get(question.space, []), by_text):
            anchor = query.strip('"')
            if (question.space, anchor) in asked:
                continue
            asked.add((question.space, anchor))
            holding = {document.id: 1 for document, text in contents[question.space] if anchor in text}
            stated = _stating(anchor, texts.statements, spaces[question.space])
            if len(holding) <= _MOST_FOUND and len(stated) <= _MOST_FOUND:
                found = Question(f"{question.id} {anchor}", question.space, "exact_anchor", query, False, frozenset())
                yield Probe(found, ("exact_anchor",), holding, stated)


def _quotes(wanted: Mapping[str, int], contents: Sequence[tuple[Document, str]], by_text: Mapping[str, list[Statement]]) -> Iterator[str]:
    text = next((text for document, text in contents if document.id in wanted), None)
    if text is None:
        return
    words = text.replace('"', " ").split(" ")
    start = max(0, len(words) // 2 - _PHRASE_WORDS // 2)
    if (phrase := " ".join(words[start : start + _PHRASE_WORDS]).strip()) in text:
        yield f'"{phrase}"'
    yield from [anchor.text for anchor in parse_hints(text.replace('"', " "), None).anchors if anchor.kind != "quote"][:1]
    yield from [f'"{statement.object}"' for name in sorted(wanted) for statement in by_text.get(name, ())][:1]


def _stating(anchor: str, statements: Sequence[Statement], space: LoadedSpace) -> frozenset[str]:
    """What begins or ends in a thing of exactly that name."""
    return frozenset(meaning_of(statement) for statement in statements if anchor in (statement.subject, statement.object)) & space.stated
