"""Conversations and documents from JSON Lines, through the public REST API, in batches that can be sent again.

There is no state file. Each batch carries an idempotency key made of the source's name, the line numbers and the content, so
the service itself says what is stored already, and says so before it embeds anything. That stays true on another machine and
after a database was restored, where a local note would lie; a repeated batch costs a few milliseconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec

from commonlore.domain.errors import Incorrect, OperatorError
from commonlore.domain.ids import new_id
from commonlore.domain.remember.request import EvidenceProposal
from commonlore.domain.tenancy.place import place_fields

MOST_LINES = 20
_MOST_BATCH_BYTES = 4 * 1024 * 1024
_TIME_NAMES = ("timestamp", "time", "occurred_at")
_COPIED = ("speaker", "session", "sequence", "source", "source_type", "authority", "labels")
_KNOWN = frozenset(("text", "id", "metadata", *_TIME_NAMES, *_COPIED))
_NAIVE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")
_PLACE = re.compile(r" - at `\$\.?(?P<field>[^`\[.]*)[^`]*`")
# Waiting for an overloaded or restarting service, for one batch.
_MOST_TRIES = 12
_MOST_WAIT_S = 180.0
_REQUEST_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How lines become evidence. `source` names the import and is the evidence's source where a line names none."""

    source: str
    target_space: str = "team_shared"  # or private, or the name of a named space
    assume_utc: bool = False
    keep_unknown: bool = False
    batch: int = MOST_LINES
    concurrency: int = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line as evidence. `number` counts from 1, blank lines included."""

    number: int
    id: str | None
    evidence: dict[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class Batch:
    lines: tuple[Line, ...]
    idempotency_key: str

    @property
    def span(self) -> str:
        first, last = self.lines[0].number, self.lines[-1].number
        return f"line {first}" if first == last else f"lines {first} to {last}"


@dataclass(slots=True)
class ImportSummary:
    """`stored`: texts that are new. `repeated`: the same words of the same speaker, noted as a further occurrence.
    `already_imported`: lines of batches that an earlier run had stored. `pending_vectors`: texts that wait for a worker."""

    lines: int = 0
    stored: int = 0
    repeated: int = 0
    already_imported: int = 0
    pending_vectors: int = 0
    seconds: float = 0.0
    evidence_ids: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def lines_per_second(self) -> float:
        return self.lines / self.seconds if self.seconds > 0 else 0.0


Progress = Callable[[ImportSummary], None]


def stopped(message: str) -> OperatorError:
    return OperatorError("import_failed", message)


def unreadable(path: Path, error: OSError) -> OperatorError:
    return OperatorError("file_unreadable", f"{path} cannot be read: {error.strerror}")


def count_lines(path: Path) -> int:
    """Lines with content, for a progress bar.

    Raises:
        OperatorError: `file_unreadable`.
    """
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip())
    except OSError as error:
        raise unreadable(path, error) from error


def read_lines(path: Path, options: ImportOptions) -> Iterator[Line]:
    """The lines of a file as evidence, each checked in full by the rules of `remember`.

    `sequence` defaults to the line's place inside its session, so that the order of a conversation is kept.

    Raises:
        OperatorError: `import_failed`, naming the line and the field; `file_unreadable`.
    """
    places: Counter[str] = Counter()
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if raw.strip():
                    yield _read_line(number, raw, options, places)
    except OSError as error:
        raise unreadable(path, error) from error


def _read_line(number: int, raw: bytes, options: ImportOptions, places: Counter[str]) -> Line:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise stopped(f"line {number}: it is not well-formed JSON in UTF-8 ({error})") from error
    if not isinstance(found, dict):
        raise stopped(f"line {number}: expected one JSON object")
    item = {name: value for name, value in found.items() if value is not None}
    if "text" not in item:
        raise stopped(f"line {number}, field text: it is missing")
    evidence = {"content": item["text"], "source": options.source} | {name: item[name] for name in _COPIED if name in item}
    evidence.setdefault("source_type", "conversation" if "speaker" in item else "document")
    evidence["metadata"] = _metadata(number, item, options)
    if (instant := _instant(number, item, options)) is not None:
        evidence["occurred_at"] = instant
    if isinstance(session := item.get("session"), str):
        places[session] += 1
        evidence.setdefault("sequence", places[session])
    _check(number, evidence)
    identifier = item.get("id")
    return Line(number, None if identifier is None else str(identifier), evidence, len(raw))


def _metadata(number: int, item: dict[str, Any], options: ImportOptions) -> dict[str, Any]:
    metadata = item.get("metadata", {})
    if not isinstance(metadata, dict):
        raise stopped(f"line {number}, field metadata: expected an object")
    unknown = {name: value for name, value in item.items() if name not in _KNOWN}
    if unknown and not options.keep_unknown:
        raise stopped(
            f"line {number}, field {min(unknown)}: it is not known; expected {', '.join(sorted(_KNOWN))}, or --keep-unknown to keep it as metadata"
        )
    return {**unknown, **({"id": item["id"]} if "id" in item else {}), **metadata}


def _instant(number: int, item: dict[str, Any], options: ImportOptions) -> str | None:
    given = [name for name in _TIME_NAMES if name in item]
    if not given:
        return None
    if len(given) > 1:
        raise stopped(f"line {number}, field {given[1]}: expected only one of {', '.join(_TIME_NAMES)}")
    text = item[given[0]]
    if not isinstance(text, str):
        raise stopped(f"line {number}, field {given[0]}: expected a text such as 2026-07-01T09:00:00Z")
    if _NAIVE.fullmatch(text) is None:
        return text
    if not options.assume_utc:
        raise stopped(f"line {number}, field {given[0]}: it has no offset from UTC; add one, or give --assume-utc")
    try:
        return datetime.fromisoformat(text.upper()).isoformat() + "Z"
    except ValueError as error:
        raise stopped(f"line {number}, field {given[0]}: there is no such time") from error


def _check(number: int, evidence: dict[str, Any]) -> None:
    try:
        msgspec.convert(evidence, EvidenceProposal).validate("")
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        raise stopped(f"line {number}, field {_named(place['field'] if place else '')}: {_PLACE.sub('', text)}") from error
    except Incorrect as error:
        problem = error.problems[0]
        raise stopped(f"line {number}, field {_named(problem.pointer.split('/')[1])}: {problem.detail}") from error


def _named(name: str) -> str:
    return {"content": "text", "occurred_at": "time"}.get(name, name)


def batches(lines: Iterator[Line], options: ImportOptions) -> Iterator[Batch]:
    """Lines in groups of at most `options.batch`, below the service's body limit."""
    held: list[Line] = []
    size = 0
    for line in lines:
        if held and (len(held) >= options.batch or size + line.size > _MOST_BATCH_BYTES):
            yield _batch(held, options)
            held, size = [], 0
        held.append(line)
        size += line.size
    if held:
        yield _batch(held, options)


def _batch(lines: list[Line], options: ImportOptions) -> Batch:
    content = msgspec.json.encode([[line.number, line.evidence] for line in lines], order="sorted")
    digest = hashlib.sha256(f"{options.source}\0{options.target_space}\0".encode() + content).hexdigest()
    return Batch(tuple(lines), f"import-{digest}")


async def run_import(path: Path, client: httpx.AsyncClient, options: ImportOptions, *, progress: Progress | None = None) -> ImportSummary:
    """Send a file. `client` has the service's address and the key.

    The first failure stops the import: batches in flight end, no further one is sent, and a later run goes on from there.

    Raises:
        OperatorError: `import_failed`, naming the line and what is wrong with it.
    """
    run = _Run(client, options, progress)
    await run.all(batches(read_lines(path, options), options))
    return run.summary


class _Run:
    def __init__(self, client: httpx.AsyncClient, options: ImportOptions, progress: Progress | None) -> None:
        self._client, self._options, self._progress = client, options, progress
        self._failure: OperatorError | None = None
        # A service that never answered is not waited for: its address is probably wrong.
        self._answered = False
        self._started = time.perf_counter()
        self.summary = ImportSummary()

    async def all(self, source: Iterator[Batch]) -> None:
        await asyncio.gather(*(self._lane(source) for _ in range(self._options.concurrency)))
        if self._failure is not None:
            raise self._failure

    async def _lane(self, source: Iterator[Batch]) -> None:
        try:
            while self._failure is None and (batch := next(source, None)) is not None:
                self._note(batch, *await self._send(batch))
        except OperatorError as error:
            self._failure = self._failure or error

    def _note(self, batch: Batch, answer: dict[str, Any], correlation_id: str) -> None:
        summary = self.summary
        summary.lines += len(batch.lines)
        summary.seconds = time.perf_counter() - self._started
        repeated_call = answer["correlation_id"] != correlation_id
        for line, result in zip(batch.lines, answer["evidence"], strict=True):
            summary.already_imported += repeated_call
            summary.repeated += not repeated_call and result.get("reason") == "duplicate_occurrence"
            summary.stored += not repeated_call and result.get("reason") != "duplicate_occurrence"
            summary.pending_vectors += not repeated_call and result["search_state"] == "pending"
            summary.evidence_ids[line.id or f"line {line.number}"] = result["evidence_id"]
        if self._progress is not None:
            self._progress(summary)

    async def _send(self, batch: Batch) -> tuple[dict[str, Any], str]:
        correlation_id = str(new_id())
        body = msgspec.json.encode(
            {
                "evidence": [line.evidence for line in batch.lines],
                **place_fields(self._options.target_space),
                "idempotency_key": batch.idempotency_key,
            }
        )
        headers = {"content-type": "application/json", "x-correlation-id": correlation_id}
        waited = 0.0
        for attempt in range(_MOST_TRIES):
            pause_s = min(2.0**attempt * 0.25, 30.0)
            try:
                response = await self._client.post("/v1/remember", content=body, headers=headers, timeout=_REQUEST_TIMEOUT_S)
            except httpx.TransportError as error:
                if not self._answered and isinstance(error, httpx.ConnectError):
                    raise stopped(f"no service answers on {self._client.base_url}; start it with `commonlore up`, or give its address") from error
                reason = f"the service does not answer ({type(error).__name__})"
            else:
                self._answered = True
                if response.status_code == 200:
                    return response.json(), correlation_id
                reason = _refusal(batch, response)
                pause_s = max(pause_s, _retry_after_s(response))
            if waited + pause_s > _MOST_WAIT_S:
                break
            waited += pause_s
            await asyncio.sleep(pause_s)
        raise stopped(f"{batch.span}: {reason}, after waiting {waited:.0f} s")


def _refusal(batch: Batch, response: httpx.Response) -> str:
    """Why a batch may be sent again.

    Raises:
        OperatorError: it may not.
    """
    try:
        problem = response.json()
        code, message, retryable = str(problem["code"]), str(problem["message"]), bool(problem["retryable"])
    except (ValueError, KeyError, TypeError):
        code, message, retryable = "", f"the service answered {response.status_code}", response.status_code in (429, 502, 503, 504)
        problem = {}
    if retryable:
        return f"{message} ({code})" if code else message
    for entry in problem.get("errors", []):
        place = re.fullmatch(r"/evidence/(\d+)/?([a-z_]*).*", str(entry.get("pointer", "")))
        if place is not None and int(place[1]) < len(batch.lines):
            raise stopped(f"line {batch.lines[int(place[1])].number}, field {_named(place[2] or 'text')}: {entry['detail']}")
    raise stopped(f"{batch.span}: {message}" + (f" ({code})" if code else ""))


def _retry_after_s(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0
