"""Briefs answered by a language model, as a client of a running service: its public REST route and nothing else of it.

The texts of a brief go to the endpoint that the operator named and nowhere else. Nothing here decides anything: the service
checks every verdict as it checks a person's, and a verdict that it refuses leaves the brief for somebody else.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from commonlore.api.prompting import Malformed, messages, read_verdict
from commonlore.domain.delegation.kind import Kind
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.place import place_fields

_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_MOST_ANSWER_BYTES = 1024 * 1024
_MOST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegateOptions:
    """What to answer and how hard to try. `per_minute` bounds the calls of the endpoint; `tries`, those for one brief."""

    model: str
    kinds: tuple[Kind, ...] = ()
    target_space: str = "team_shared"
    most: int | None = None
    dry_run: bool = False
    once: bool = False
    per_minute: int = 30
    tries: int = 3
    timeout_s: float = 60.0
    lease_s: int = 600
    interval_s: float = 30.0
    temperature: float | None = 0.0


@dataclass(slots=True)
class DelegateSummary:
    """`decided` by decision; `given_back`: briefs that no verdict could be got for; `taken`: others were faster; `seen`: looked at."""

    seen: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    given_back: int = 0
    taken: int = 0
    calls: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def document(self) -> dict[str, Any]:
        return {
            "seen": self.seen,
            "decided": dict(sorted(self.decided.items())),
            "given_back": self.given_back,
            "taken_by_others": self.taken,
            "endpoint_calls": self.calls,
            "failures": dict(sorted(self.failures.items())),
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True, slots=True)
class Told:
    """One brief that was gone through, for whoever watches."""

    brief_id: str
    title: str
    outcome: str
    detail: str = ""


Progress = Callable[[Told, DelegateSummary], None]
Sleep = Callable[[float], Awaitable[None]]


class Refused(Exception):
    """The service or the endpoint said no, and saying it again would not help."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def stopped(message: str) -> OperatorError:
    return OperatorError("delegation_failed", message)


@dataclass(slots=True)
class Delegate:
    """One worker. `service` has the address and key of the service, `endpoint` those of the model: two clients, so that neither learns the other's key."""

    service: httpx.AsyncClient
    endpoint: httpx.AsyncClient
    options: DelegateOptions
    progress: Progress | None = None
    sleep: Sleep = asyncio.sleep
    summary: DelegateSummary = field(default_factory=DelegateSummary)
    _left: set[str] = field(default_factory=set)
    _next_call: float = 0.0
    _asks_for_json: bool = True

    async def run(self) -> DelegateSummary:
        """Answer briefs until none is left with `once`, else for good; `most` ends it sooner.

        Raises:
            OperatorError: `delegation_failed`, the service or the endpoint refuses this worker altogether.
        """
        started = time.monotonic()
        try:
            while True:
                found = await self._round()
                self.summary.seconds = time.monotonic() - started
                if self.options.once or self.options.dry_run or self._is_done():
                    return self.summary
                if not found:
                    await self.sleep(self.options.interval_s)
        finally:
            self.summary.seconds = time.monotonic() - started

    def _is_done(self) -> bool:
        return self.options.most is not None and self.summary.seen >= self.options.most

    async def _round(self) -> int:
        """Every brief that is open now, once; how many were gone through."""
        cursor, found = None, 0
        while True:
            body = {"kinds": list(self.options.kinds), "limit": 50, "cursor": cursor, **place_fields(self.options.target_space)}
            try:
                page = await self._ask("list_briefs", body)
            except Refused as refused:
                raise stopped(f"the service does not list briefs: {refused.message} ({refused.code})") from refused
            for entry in page["briefs"]:
                if self._is_done():
                    return found
                if entry["state"] == "open" and entry["brief_id"] not in self._left:
                    # A brief that was given up, or only shown, is not taken again by this run.
                    self._left.add(entry["brief_id"])
                    self.summary.seen += 1
                    found += 1
                    self._tell(await self._answer(entry["brief_id"], entry["title"]))
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def _tell(self, told: Told) -> None:
        if self.progress is not None:
            self.progress(told, self.summary)

    async def _answer(self, brief_id: str, title: str) -> Told:
        place = {"brief_id": brief_id, **place_fields(self.options.target_space)}
        if self.options.dry_run:
            brief = (await self._ask_or_none("describe_brief", place) or {}).get("brief") or {"texts": []}
            chars = sum(len(text["content"]) for text in brief["texts"])
            return Told(brief_id, title, "would_ask", f"{len(brief['texts'])} texts, {chars} characters")
        claimed = await self._ask_or_none("claim_brief", {**place, "lease_seconds": self.options.lease_s})
        if claimed is None:
            self.summary.taken += 1
            return Told(brief_id, title, "taken")
        claim = {**place, "claim_id": claimed["claim_id"]}
        try:
            decision = await self._decide(claimed["brief"], claim)
        except (Refused, Malformed, httpx.HTTPError) as failure:
            code = failure.code if isinstance(failure, Refused) else "malformed" if isinstance(failure, Malformed) else type(failure).__name__
            self.summary.failures[code] += 1
            self.summary.given_back += 1
            await self._ask_or_none("release_brief", {**claim, "reason": f"no verdict of {self.options.model[:100]}: {code}"})
            return Told(brief_id, title, "given_back", code)
        except BaseException:
            # Stopped in the middle, or a failure of the whole worker: somebody else need not wait for the claim to run out.
            await self._ask_or_none("release_brief", {**claim, "reason": "the worker was stopped"})
            raise
        self.summary.decided[decision] += 1
        return Told(brief_id, title, "decided", decision)

    async def _decide(self, brief: dict[str, Any], claim: dict[str, Any]) -> str:
        """Ask the model until the service takes its verdict, at most `tries` times; each time with what was wrong before.

        Raises:
            Refused, Malformed, httpx.HTTPError: the last failure.
        """
        wrong: list[tuple[str, str]] = []
        failure: Exception = Malformed("no answer")
        for _ in range(self.options.tries):
            text = await self._complete(messages(brief, wrong))
            try:
                verdict = read_verdict(text, brief)
                body = {**claim, **verdict, "answered_by": self.options.model[:200], "idempotency_key": f"delegate-{claim['claim_id']}-{len(wrong)}"}
                await self._ask("submit_verdict", body)
            except Malformed as malformed:
                failure = malformed
                wrong.append((text[:2000], str(malformed)))
            except Refused as refused:
                if refused.code != "invalid_input":
                    raise
                failure = refused
                wrong.append((text[:2000], refused.message))
            else:
                decision: str = verdict["decision"]
                return decision
        raise failure

    async def _complete(self, conversation: list[dict[str, str]]) -> str:
        """One answer of the model; waits for its turn first.

        Raises:
            Refused: the endpoint does not take the request. Malformed: what it answers is no completion.
            OperatorError: it takes no request of this worker at all.
        """
        response = await self._post_completion(conversation)
        if response.status_code in (400, 422) and self._asks_for_json:
            # Not every endpoint knows the field; the rules ask for JSON all the same.
            self._asks_for_json = False
            response = await self._post_completion(conversation)
        if response.status_code in (401, 403, 404):
            raise stopped(f"the endpoint answers {response.status_code}: check --endpoint, --model and the key")
        if response.status_code != 200:
            raise Refused(f"endpoint_{response.status_code}", "the endpoint does not take the request")
        if len(response.content) > _MOST_ANSWER_BYTES:
            raise Malformed("the answer is too long")
        try:
            text = msgspec.json.decode(response.content)["choices"][0]["message"]["content"]
        except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError) as error:
            raise Malformed("the endpoint's answer is no chat completion") from error
        if not isinstance(text, str):
            raise Malformed("the endpoint's answer has no text")
        return text

    async def _post_completion(self, conversation: list[dict[str, str]]) -> httpx.Response:
        body: dict[str, Any] = {"model": self.options.model, "messages": conversation, "stream": False}
        if self._asks_for_json:
            body["response_format"] = {"type": "json_object"}
        if self.options.temperature is not None:
            body["temperature"] = self.options.temperature
        return await self._retried(lambda: self.endpoint.post("chat/completions", json=body, timeout=self.options.timeout_s), self._turn)

    async def _turn(self) -> None:
        """At most `per_minute` calls of the endpoint, spread evenly; a retry is a call."""
        now = time.monotonic()
        wait = self._next_call - now
        self._next_call = max(now, self._next_call) + 60.0 / self.options.per_minute
        if wait > 0:
            await self.sleep(wait)
        self.summary.calls += 1

    async def _ask(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """
        Raises:
            Refused: with the service's code.
            OperatorError: the service does not know this worker.
        """
        content = {name: value for name, value in body.items() if value is not None}
        try:
            response = await self._retried(lambda: self.service.post(f"v1/{operation}", json=content, timeout=self.options.timeout_s))
        except httpx.HTTPError as error:
            raise stopped(f"the service does not answer ({type(error).__name__})") from error
        try:
            answer = msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            answer = None
        if not isinstance(answer, dict):
            raise stopped("what answers is no Commonlore service")
        if response.status_code == 401:
            raise stopped(f"the service refuses the key: {answer.get('message', '')}")
        if response.status_code != 200:
            raise Refused(str(answer.get("code", response.status_code)), str(answer.get("message", "the service refused")))
        return answer

    async def _ask_or_none(self, operation: str, body: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return await self._ask(operation, body)
        except Refused:
            return None

    async def _retried(self, send: Callable[[], Awaitable[httpx.Response]], before: Callable[[], Awaitable[None]] | None = None) -> httpx.Response:
        """What is answered in the end: timeouts, lost connections and busy servers are tried again, each time after a longer pause.

        Raises:
            httpx.HTTPError: the last failure.
        """
        for attempt in range(self.options.tries):
            is_last = attempt == self.options.tries - 1
            pause_s = min(0.5 * 2.0**attempt, _MOST_PAUSE_S)
            if before is not None:
                await before()
            try:
                response = await send()
            except httpx.TransportError:
                if is_last:
                    raise
            else:
                # Somebody else's brief is not waited for: there are others.
                if is_last or response.status_code not in _RETRIED:
                    return response
                after = response.headers.get("retry-after", "")
                pause_s = min(max(pause_s, float(after) if after.isdigit() else 0.0), _MOST_PAUSE_S)
            await self.sleep(pause_s)
        raise AssertionError("tries is at least 1")
