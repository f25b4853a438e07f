"""An evaluation set on disk: texts, questions, what each should find, and where there are any, contradictions and relationships.

`docs/how-to/evaluate.md` describes the files. A set with more than one space gives each a team of its own.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from commonlore.api.importing import stopped, unreadable
from commonlore.domain.quality.metrics import Judged, TwoSides

_Item = TypeVar("_Item")
_MOST_QUERY_CHARS = 512
_STATEMENT = ("subject", "predicate", "object", "evidence_ids")


@dataclass(frozen=True, slots=True)
class Document:
    """One text. `proposal` is what `remember` is sent for it."""

    id: str
    space: str
    proposal: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is cut to what a recall accepts. `exclude`: texts that are no answer, such as the question's own message.

    `time`: the half-open period that it asks about, and `asked_at` when it is asked, where the set says so.
    """

    id: str
    space: str
    category: str
    text: str
    is_cut: bool
    exclude: frozenset[str]
    time: tuple[str, str] | None = None
    asked_at: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One relationship as the set has it, with the texts it was read in; `question` is the one that it answers, if any."""

    number: int
    subject: str
    predicate: str
    object: str
    documents: tuple[str, ...]
    valid_from: str | None = None
    valid_to: str | None = None
    question: str | None = None


@dataclass(slots=True)
class EvaluationSet:
    """Everything of one set, by space."""

    name: str
    title: str
    documents: dict[str, list[Document]]
    questions: list[Question]
    relevance: dict[str, dict[str, int]]
    pairs: list[TwoSides] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    @property
    def spaces(self) -> list[str]:
        return sorted({*self.documents, *(question.space for question in self.questions)})

    @property
    def judged(self) -> list[Judged]:
        """The questions that should find something."""
        return [Judged(question.id, question.category, self.relevance[question.id]) for question in self.questions if self.relevance.get(question.id)]


def read_set(folder: Path, *, relationships: bool) -> EvaluationSet:
    """
    Raises:
        OperatorError: `import_failed`, naming the file and the line that cannot be read; `file_unreadable`.
    """
    meta = _meta(folder / "meta.json")
    several = int(meta.get("spaces", 1)) > 1

    def space_of(item: dict[str, Any]) -> str:
        return str(item.get("space")) if several else "all"

    places: Counter[tuple[str, str]] = Counter()
    documents: dict[str, list[Document]] = defaultdict(list)
    for document in _each(folder / "corpus.jsonl", lambda item: Document(item["id"], space_of(item), _proposal(item, space_of(item), places))):
        documents[document.space].append(document)
    relevance: dict[str, dict[str, int]] = defaultdict(dict)
    for question, name, grade in _each(folder / "qrels.jsonl", lambda item: (item["query_id"], item["doc_id"], int(item["grade"]))):
        if grade > 0:
            relevance[question][name] = grade
    return EvaluationSet(
        name=str(meta.get("name", folder.resolve().name)),
        title=str(meta.get("title", folder.resolve().name)),
        documents=dict(documents),
        questions=list(_each(folder / "queries.jsonl", lambda item: _question(item, space_of(item)))),
        relevance=dict(relevance),
        pairs=list(_each(folder / "conflicts.jsonl", _two_sides)) if (folder / "conflicts.jsonl").exists() else [],
        statements=_statements(folder) if relationships else [],
    )


def sample(texts: EvaluationSet, questions: int) -> EvaluationSet:
    """So many questions, spread evenly over the set, and the texts that share a session or a text with what any of them should find.

    Texts without a session are kept whole. What the remaining relationships were read in is all there.
    """
    step = max(1, len(texts.questions) // questions)
    kept = texts.questions[::step][:questions]
    names = {question.id for question in kept}
    relevance = {name: found for name, found in texts.relevance.items() if name in names}
    wanted = {(question.space, text) for question in kept for text in relevance.get(question.id, ())}
    sessions = {
        (space, document.proposal.get("session")) for space, rows in texts.documents.items() for document in rows if (space, document.id) in wanted
    }
    sessions |= {(space, None) for space in texts.documents}
    documents = {
        space: left for space, rows in texts.documents.items() if (left := [row for row in rows if (space, row.proposal.get("session")) in sessions])
    }
    ids = {document.id for rows in documents.values() for document in rows}
    return replace(
        texts,
        documents=documents,
        questions=kept,
        relevance=relevance,
        pairs=[pair for pair in texts.pairs if pair.question in names],
        statements=[statement for statement in texts.statements if ids.issuperset(statement.documents)],
    )


def _meta(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise stopped(f"{path} cannot be read as the description of an evaluation set; see docs/how-to/evaluate.md") from error
    if not isinstance(found, dict):
        raise stopped(f"{path}: expected an object")
    return found


def _each(path: Path, make: Callable[[dict[str, Any]], _Item]) -> Iterator[_Item]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise stopped(f"{path} is not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            made = make(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise stopped(f"{path.name}, line {number}: {type(error).__name__}: {error}") from error
        yield made


def _proposal(item: dict[str, Any], space: str, places: Counter[tuple[str, str]]) -> dict[str, Any]:
    speaker, session = item.get("speaker"), item.get("session")
    if session is not None:
        places[space, session] += 1
    fields = {
        "content": item["text"],
        "source_type": "conversation" if speaker else "document",
        "speaker": speaker,
        "session": session,
        "sequence": places[space, session] if session is not None else None,
        "occurred_at": _instant(item.get("timestamp")),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _question(item: dict[str, Any], space: str) -> Question:
    text = str(item["text"])
    return Question(
        id=item["id"],
        space=space,
        category=str(item.get("category")),
        text=text[:_MOST_QUERY_CHARS],
        is_cut=len(text) > _MOST_QUERY_CHARS,
        exclude=frozenset(item.get("exclude") or ()),
        time=_period(item.get("time_cue")),
        asked_at=_instant(item.get("asked_at")),
    )


def _period(cue: dict[str, Any] | None) -> tuple[str, str] | None:
    first, end = (_instant(cue.get(name)) for name in ("after", "before")) if cue else (None, None)
    return (first, end) if first is not None and end is not None else None


def _two_sides(item: dict[str, Any]) -> TwoSides:
    return TwoSides(item["query_id"], str(item["kind"]), frozenset(item["side_a"]), frozenset(item["side_b"]))


def _statements(folder: Path) -> list[Statement]:
    """From triples.jsonl and facts.jsonl; lines without subject, predicate, object and evidence are no relationships."""
    found = [item for name in ("triples.jsonl", "facts.jsonl") if (folder / name).exists() for item in _each(folder / name, dict)]
    whole = [item for item in found if all(item.get(name) for name in _STATEMENT)]
    if not whole:
        raise stopped(f"{folder} has neither triples.jsonl nor facts.jsonl with relationships; leave out --relationships")
    return [
        Statement(
            number=number,
            subject=str(item["subject"]),
            predicate=str(item["predicate"]),
            object=str(item["object"]),
            documents=tuple(item["evidence_ids"]),
            valid_from=_instant(item.get("valid_from")),
            valid_to=_instant(item.get("valid_to")),
            question=item.get("query_id"),
        )
        for number, item in enumerate(whole)
    ]


def _instant(text: str | None) -> str | None:
    """RFC 3339; the sets hold times of UTC without an offset."""
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment.isoformat() + ("Z" if moment.tzinfo is None else "")
