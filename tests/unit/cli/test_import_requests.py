"""The import as a client: what it sends, what it repeats and where it stops. The service is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonlore.api import importing
from commonlore.api.importing import ImportOptions, ImportSummary, run_import
from commonlore.domain.errors import OperatorError

Answer = Callable[[dict[str, Any], httpx.Request], httpx.Response]


def problem(status: int, code: str, *, retryable: bool, **more: Any) -> httpx.Response:
    headers = {"retry-after": "0"} if status == 503 else {}
    return httpx.Response(status, json={"code": code, "message": f"because of {code}", "retryable": retryable, **more}, headers=headers)


class Service:
    """Stores what it is sent under its key, as the real one does."""

    def __init__(self, first: list[httpx.Response | None] | None = None) -> None:
        self.first = first or []
        self.requests: list[dict[str, Any]] = []
        self.stored: dict[str, dict[str, Any]] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        if self.first and (answer := self.first.pop(0)) is not None:
            return answer
        key = body["idempotency_key"]
        if key not in self.stored:
            evidence = [{"evidence_id": f"{key}-{n}", "search_state": "current"} for n, _ in enumerate(body["evidence"])]
            self.stored[key] = {"correlation_id": request.headers["x-correlation-id"], "evidence": evidence}
        return httpx.Response(200, json=self.stored[key])


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(seconds: float) -> None:
        return None

    monkeypatch.setattr(importing.asyncio, "sleep", at_once)


def write(path: Path, *lines: str) -> Path:
    file = path / "lines.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def texts(count: int) -> list[str]:
    return [json.dumps({"text": f"text {number}"}) for number in range(count)]


async def send(service: Service, file: Path, **options: Any) -> ImportSummary:
    async with httpx.AsyncClient(transport=httpx.MockTransport(service), base_url="http://service") as client:
        return await run_import(file, client, ImportOptions(source="s", **options))


async def test_a_second_run_stores_nothing_twice(tmp_path: Path) -> None:
    """Every batch is known by its key; the summary says so."""

    service, file = Service(), write(tmp_path, *texts(45))
    first, second = await send(service, file), await send(service, file)

    assert (45, 45, 0) == (first.lines, first.stored, first.already_imported)
    assert (45, 0, 45) == (second.lines, second.stored, second.already_imported)
    assert len(service.stored) == 3


async def test_an_overloaded_service_is_asked_again(tmp_path: Path) -> None:
    """503 and a lost connection to a proxy are waited for; the repeated request is the same one."""

    service = Service([problem(503, "overloaded", retryable=True), httpx.Response(502, text="bad gateway")])
    summary = await send(service, write(tmp_path, *texts(2)))

    assert summary.stored == 2
    assert service.requests[0] == service.requests[1] == service.requests[2]


async def test_a_service_that_stays_away_ends_the_import(tmp_path: Path) -> None:
    """Waiting is bounded, and the message says for which lines."""

    service = Service()

    def going(request: httpx.Request) -> httpx.Response:
        if service.stored:
            raise httpx.ConnectError("refused", request=request)
        return service(request)

    with pytest.raises(OperatorError, match=r"^lines 3 to 4: the service does not answer \(ConnectError\), after waiting"):
        await send(going, write(tmp_path, *texts(4)), batch=2, concurrency=1)  # type: ignore[arg-type]


async def test_a_service_that_never_answered_is_not_waited_for(tmp_path: Path) -> None:
    """A wrong address is told at once, with the address."""

    asked = []

    def absent(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(OperatorError, match="no service answers on http://service"):
        await send(absent, write(tmp_path, *texts(2)))  # type: ignore[arg-type]
    assert len(asked) == 1


async def test_a_refused_field_is_named_by_its_line(tmp_path: Path) -> None:
    """The pointer into the batch becomes the number of the line in the file."""

    errors = [{"pointer": "/evidence/1/speaker", "detail": "expected a shorter name"}]
    service = Service([problem(422, "invalid_input", retryable=False, errors=errors)])

    with pytest.raises(OperatorError) as raised:
        await send(service, write(tmp_path, *texts(3)))
    assert raised.value.message == "line 2, field speaker: expected a shorter name"


async def test_a_refused_key_stops_at_once(tmp_path: Path) -> None:
    """What cannot succeed is not repeated."""

    service = Service([problem(401, "credential_invalid", retryable=False)])

    with pytest.raises(OperatorError, match="credential_invalid"):
        await send(service, write(tmp_path, *texts(1)))
    assert len(service.requests) == 1


async def test_a_wrong_line_stops_before_its_batch_is_sent_and_a_later_run_goes_on(tmp_path: Path) -> None:
    """What came before is stored; after the correction only the rest is new."""

    service, lines = Service(), texts(5)
    broken = write(tmp_path, *lines[:3], "{", lines[4])
    with pytest.raises(OperatorError, match="^line 4: "):
        await send(service, broken, batch=2)
    sent = [item["content"] for body in service.requests for item in body["evidence"]]
    summary = await send(service, write(tmp_path, *lines), batch=2)

    assert sent == ["text 0", "text 1"]
    assert (5, 3, 2) == (summary.lines, summary.stored, summary.already_imported)


async def test_what_was_said_before_is_told_apart_from_what_waits(tmp_path: Path) -> None:
    """Repeated words and pending vectors are counted each on their own."""

    def answer(request: httpx.Request) -> httpx.Response:
        evidence = [
            {"evidence_id": "e1", "search_state": "current", "reason": "duplicate_occurrence"},
            {"evidence_id": "e2", "search_state": "pending"},
        ]
        return httpx.Response(200, json={"correlation_id": request.headers["x-correlation-id"], "evidence": evidence})

    summary = await send(answer, write(tmp_path, json.dumps({"text": "a", "id": "one"}), json.dumps({"text": "b"})))  # type: ignore[arg-type]

    assert (1, 1, 1) == (summary.stored, summary.repeated, summary.pending_vectors)
    assert summary.evidence_ids == {"one": "e1", "line 2": "e2"}
