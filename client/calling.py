"""One call from its first try to its answer, without any I/O: what to send, when to wait, when to give up.

A driver sends what a conversation yields and hands back what came; the sync and the async client differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import httpx
import msgspec

from commonlore.client.errors import ClientError, NotAnswered, ServiceError, UnexpectedAnswer

# always: the same call again changes nothing more. with_key: it does not under the same idempotency key. never: it may.
Repeatable = Literal["always", "with_key", "never"]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Retries:
    """When a call is sent again: at most `tries` times in all, within `within_s`, after `first_s`, then twice as long each time.

    A time that the service names is waited for instead where it is longer. Only what is safe is repeated: a refusal that the service calls
    retryable, and a lost answer of a call that changes nothing more when it is repeated.
    """

    tries: int = 4
    first_s: float = 0.25
    most_s: float = 10.0
    within_s: float = 60.0

    def pause_s(self, tried: int, waited_s: float, error: ClientError) -> float | None:
        """Seconds until the next try; None to give up. `tried` counts from 1."""
        named = error.retry_after_s if isinstance(error, ServiceError) else None
        pause_s = max(min(self.first_s * 2.0 ** (tried - 1), self.most_s), named or 0.0)
        return None if tried >= self.tries or waited_s + pause_s > self.within_s else pause_s


@dataclass(frozen=True, slots=True)
class Send:
    """One request to be sent as it is."""

    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Reply = httpx.Response | httpx.TransportError | None
Conversation = Generator[Send | Pause, Reply, Answer]


def converse(path: str, request: Mapping[str, Any], repeatable: Repeatable, retries: Retries) -> Conversation:
    """The conversation of one call. A write that takes an idempotency key gets one of its own where the caller gave none.

    Raises:
        ClientError: the last failure, when it may not or no longer be tried again.
    """
    content = dict(request)
    if repeatable == "with_key" and content.get("idempotency_key") is None:
        content["idempotency_key"] = str(uuid4())
    send = Send(path, msgspec.json.encode(content))
    tried, waited_s = 0, 0.0
    while True:
        outcome = _outcome((yield send))
        tried += 1
        if not isinstance(outcome, ClientError):
            return outcome
        pause_s = retries.pause_s(tried, waited_s, outcome) if _may_repeat(outcome, repeatable) else None
        if pause_s is None:
            raise outcome
        waited_s += pause_s
        yield Pause(pause_s)


def _may_repeat(error: ClientError, repeatable: Repeatable) -> bool:
    if isinstance(error, ServiceError):
        # A request that took too long may have been stored all the same.
        return error.retryable and (repeatable != "never" or error.code != "request_timeout")
    if isinstance(error, NotAnswered):
        return repeatable != "never" or not error.reached
    return isinstance(error, UnexpectedAnswer) and error.status in (429, 502, 503, 504) and repeatable != "never"


def _outcome(reply: Reply) -> Answer | ClientError:
    if isinstance(reply, httpx.TransportError):
        reached = not isinstance(reply, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol)
        return NotAnswered(f"the service does not answer ({type(reply).__name__})", reached=reached)
    assert reply is not None
    try:
        found = msgspec.json.decode(reply.content)
    except msgspec.DecodeError:
        found = None
    if not isinstance(found, dict):
        return UnexpectedAnswer(reply.status_code, f"what answers with {reply.status_code} is no Commonlore")
    if reply.status_code == 200:
        return found
    if not {"code", "message", "retryable"} <= found.keys():
        return UnexpectedAnswer(reply.status_code, f"the service answered {reply.status_code} without saying why")
    return ServiceError(reply.status_code, found, _seconds(reply.headers.get("retry-after", "")))


def _seconds(text: str) -> float | None:
    return float(text) if text.isdigit() else None


def http_settings(url: str, key: str, timeout_s: float) -> dict[str, Any]:
    """Arguments of an httpx client. The key must reach the named service only: neither a proxy of the environment nor a redirect is followed.

    Raises:
        ValueError: the address is none of HTTP.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError("the address of the service must begin with http:// or https://")
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json", "user-agent": "commonlore-client"}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout_s, "trust_env": False, "follow_redirects": False}
