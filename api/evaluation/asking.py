"""Load an evaluation set into a running service and ask it, through the public REST API alone."""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import httpx

from commonlore.api.evaluation.sets import Document, EvaluationSet, Question, Statement
from commonlore.api.importing import MOST_LINES, stopped
from commonlore.domain.errors import OperatorError
from commonlore.domain.ledger.predicate import predicate_key
from commonlore.domain.quality.lane import LaneAnswer, LaneItem

LANE_LIMIT = 5
_MOST_LIMIT = 50
_MOST_STATEMENTS = 200
_MOST_NAME_CHARS, _MOST_PREDICATE_CHARS = 256, 128
# A service that is overloaded is asked again after 0.25, 0.5, 1 ... s.
_MOST_TRIES = 8
_BUSY = (429, 502, 503, 504)
# Spaces that are loaded at a time; within one, batches go one after the other, in the order of the set.
_LANES = 2

Step = Callable[[int], None]
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class LoadedSpace:
    """What a space's team holds, as the service named it. `keys`: one for each author, who take turns; the first one asks.

    `merged` counts what was stored as a relationship that was there already, by whether it states the same. `private` are the
    texts for the first author's own space. `halfway` is an instant between two batches, `early` what was stored by then: texts
    and meanings of the set, and ids of the service. `stated` are the meanings of what counts, `active` the relationships of the shared space
    that do.
    """

    keys: tuple[str, ...]
    private: frozenset[str] = frozenset()
    halfway: str | None = None
    early: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)
    sent_by: dict[str, str] = field(default_factory=dict)
    documents: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    evidence: dict[str, str] = field(default_factory=dict)
    meaning: dict[str, str] = field(default_factory=dict)
    citable: set[str] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    merged: Counter[bool] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `documents`: ranked, without those that are excluded. `foreign`: ids that the asked space does not hold. `outside`: that the view does not."""

    documents: tuple[str, ...]
    foreign: int
    milliseconds: float
    degradations: tuple[str, ...]
    lane: LaneAnswer
    outside: int = 0


async def load(client: httpx.AsyncClient, texts: EvaluationSet, spaces: Mapping[str, LoadedSpace], done: Step) -> None:
    """Store every text and relationship; `done` is called with the number of texts of each batch.

    Raises:
        OperatorError: `import_failed`, the service refuses something of the set.
    """
    wanted = by_last_document(texts, frozenset(name for space in spaces.values() for name in space.private))
    waiting = iter(texts.spaces)

    async def lane() -> None:
        for name in waiting:
            space, documents = spaces[name], texts.documents.get(name, [])
            sides = [[document for document in documents if (document.id in space.private) == private] for private in (False, True)]
            left = len(documents) / 2
            for private, side in enumerate(sides):
                for number, batch in enumerate(batches(side, wanted)):
                    if left <= 0 and space.halfway is None:
                        space.halfway = datetime.now(UTC).isoformat()
                    await store(client, space, space.keys[0 if private else number % len(space.keys)], batch, wanted, private=bool(private))
                    done(len(batch))
                    left -= len(batch)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_LANES):
                group.create_task(lane())
    except* OperatorError as failed:
        raise failed.exceptions[0] from None


def by_last_document(texts: EvaluationSet, private: frozenset[str] = frozenset()) -> dict[str, list[Statement]]:
    """Relationships by the last text that they were read in: when it is sent, the others are stored.

    One that was read in texts of two spaces is left out.
    """
    order = {document.id: place for rows in texts.documents.values() for place, document in enumerate(rows)}
    found: dict[str, list[Statement]] = defaultdict(list)
    for statement in texts.statements:
        if all(name in order for name in statement.documents) and _fits(statement) and len({name in private for name in statement.documents}) == 1:
            found[max(statement.documents, key=order.__getitem__)].append(statement)
    return found


def _fits(statement: Statement) -> bool:
    """Whether the service could read it at all; one that it cannot would have the whole batch refused."""
    try:
        predicate_key(statement.predicate)
    except ValueError:
        return False
    names = (statement.subject, statement.object)
    return len(statement.predicate) <= _MOST_PREDICATE_CHARS and all(name.strip() and len(name) <= _MOST_NAME_CHARS for name in names)


def batches(documents: Sequence[Document], wanted: Mapping[str, list[Statement]]) -> Iterator[list[Document]]:
    """In their order, as many together as one call accepts with their relationships."""
    held: list[Document] = []
    statements = 0
    for document in documents:
        more = len(wanted.get(document.id, ()))
        if held and (len(held) == MOST_LINES or statements + more > _MOST_STATEMENTS):
            yield held
            held, statements = [], 0
        held.append(document)
        statements += more
    if held:
        yield held


async def store(
    client: httpx.AsyncClient, space: LoadedSpace, key: str, batch: list[Document], wanted: Mapping[str, list[Statement]], *, private: bool = False
) -> None:
    """Remember texts with the relationships that end in them, and note what the service made of both."""
    places = {document.id: place for place, document in enumerate(batch)}
    statements = {str(item.number): item for document in batch for item in wanted.get(document.id, ())[:_MOST_STATEMENTS]}
    body = {
        "evidence": [document.proposal for document in batch],
        "relationships": [_relationship(ref, item, places, space) for ref, item in statements.items()],
        "target_space": "private" if private else "team_shared",
    }
    answer, _ = await _post(client, key, "remember", body)
    for document, stored in zip(batch, answer["evidence"], strict=True):
        if document.id not in space.documents[stored["evidence_id"]]:
            space.documents[stored["evidence_id"]].append(document.id)
        space.evidence[document.id] = stored["evidence_id"]
        space.sent_by.setdefault(document.id, key)
        _note(space, document.id, stored["evidence_id"])
    for outcome in answer["relationship_results"]:
        statement = statements[outcome["ref"]]
        space.outcomes[outcome["splits"][0]["status"] if outcome["splits"] else outcome.get("reason", "not_stored")] += 1
        for split in outcome["splits"]:
            if split["relationship_id"] in space.meaning:
                space.merged[space.meaning[split["relationship_id"]] == meaning_of(statement)] += 1
            space.meaning.setdefault(split["relationship_id"], meaning_of(statement))
            if split["status"] == "active":
                space.citable.update(statement.documents)
                space.stated.add(meaning_of(statement))
                if not private:
                    space.active.add(split["relationship_id"])
                _note(space, meaning_of(statement), split["relationship_id"])


def _note(space: LoadedSpace, *names: str) -> None:
    if space.halfway is None:
        space.early.update(names)


def _relationship(ref: str, item: Statement, places: Mapping[str, int], space: LoadedSpace) -> dict[str, Any]:
    fields = {
        "ref": ref,
        "subject": {"name": item.subject},
        "predicate": {"proposed_key": item.predicate},
        "object": {"entity": {"name": item.object}},
        "evidence_indices": [places[name] for name in item.documents if name in places],
        "known_evidence_ids": [space.evidence[name] for name in item.documents if name not in places],
        "valid_from": item.valid_from,
        "valid_to": item.valid_to,
    }
    return {name: value for name, value in fields.items() if value is not None}


def meaning_of(statement: Statement) -> str:
    """What a relationship states, told apart by the words that the set uses and not by the service's own rules."""
    words = (
        re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
        for text in (statement.subject, statement.predicate, statement.object)
    )
    return "\x1f".join((*words, statement.valid_from or "", statement.valid_to or ""))


async def ask(
    client: httpx.AsyncClient, space: LoadedSpace, question: Question, *, limit: int, relationship_limit: int, fields: Mapping[str, Any] = NO_FIELDS
) -> Answer:
    """Ask one question as the first author of its space. `fields` are further ones of the request, such as a view.

    Raises:
        OperatorError: `import_failed`, the service refuses the question.
    """
    wanted = min(_MOST_LIMIT, limit + len(question.exclude))
    asked = {} if question.asked_at is None else {"asked_at": question.asked_at}
    body = {"query": question.text, "limit": wanted, "relationship_limit": relationship_limit, "community_limit": 0, **asked, **fields}
    answer, milliseconds = await _post(client, space.keys[0], "recall_memory", body)
    return read_answer(answer, space, question, limit=limit, milliseconds=milliseconds, fields=fields)


def read_answer(
    answer: Mapping[str, Any], space: LoadedSpace, question: Question, *, limit: int, milliseconds: float, fields: Mapping[str, Any] = NO_FIELDS
) -> Answer:
    """What was found, in the ids of the set; an id that the space does not hold is a leak, whatever it is."""
    results, lane = answer["results"], answer["related_relationships"]
    names = [name for item in results for name in space.documents.get(item["evidence_id"], ())]
    texts = [key for item in results for key in (item["evidence_id"], *item["equivalent_evidence_ids"])]
    texts += [key for item in lane for key in item["evidence_ids"]]
    shown = [(item["relationship_id"], *item["equivalent_relationship_ids"]) for item in lane]
    carried = [key for item in results for key in item["relationship_ids"]]
    foreign = sum(key not in space.documents for key in texts) + sum(
        key not in space.meaning for key in [*carried, *(key for ids in shown for key in ids)]
    )
    cited = [tuple(name for key in item["evidence_ids"] for name in space.documents.get(key, ())) for item in lane]
    return Answer(
        documents=tuple(name for name in names if name not in question.exclude)[:limit],
        foreign=foreign,
        milliseconds=milliseconds,
        degradations=tuple(item["code"] for item in answer["degradations"]),
        lane=LaneAnswer(tuple(LaneItem(ids, documents) for ids, documents in zip(shown, cited, strict=True)), tuple(names), tuple(carried)),
        outside=_outside(lane, [*texts, *carried, *(key for ids in shown for key in ids)], space, fields),
    )


def _outside(lane: Sequence[Mapping[str, Any]], ids: Sequence[str], space: LoadedSpace, fields: Mapping[str, Any]) -> int:
    """What the view that was asked for cannot have: relationships that did not hold at `valid_at`, ids that came after `known_at`."""
    count = 0
    if (valid_at := fields.get("valid_at")) is not None:
        at = datetime.fromisoformat(valid_at)
        for item in lane:
            first, end = (datetime.fromisoformat(item[name]) if item.get(name) else None for name in ("valid_from", "valid_to"))
            count += (first is not None and at < first) or (end is not None and at >= end)
    if "known_at" in fields:
        count += sum(key not in space.early for key in ids)
    return count


async def _post(client: httpx.AsyncClient, key: str, tool: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    for attempt in range(_MOST_TRIES):
        begun = time.perf_counter()
        try:
            response = await client.post(f"/v1/{tool}", json=body, headers={"authorization": f"Bearer {key}"})
        except httpx.TransportError as error:
            raise stopped(f"the service does not answer {tool} ({type(error).__name__})") from error
        milliseconds = (time.perf_counter() - begun) * 1000
        if response.status_code == 200:
            answer: dict[str, Any] = response.json()
            return answer, milliseconds
        if response.status_code not in _BUSY:
            break
        await asyncio.sleep(0.25 * 2**attempt)
    raise stopped(f"the service answered {tool} with {response.status_code}: {response.text[:300]}")
