"""When a call is sent again, with what, and what is raised in the end; no service is needed for it."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import pytest

from commonlore.client import Client, ClientError, NotAnswered, Retries, ServiceError, UnexpectedAnswer
from commonlore.client.calling import Pause, Repeatable, Reply, Send, converse
from commonlore.domain.errors import CODES

QUICK = Retries(tries=3, first_s=0.5, most_s=4.0, within_s=10.0)


def refusal(code: str, status: int = 503, **headers: str) -> httpx.Response:
    problem = {"code": code, "message": "no", "retryable": CODES[code].retryable, "errors": [{"pointer": "/query", "detail": "expected text"}]}
    return httpx.Response(status, json=problem, headers=headers)


def talk(replies: list[Reply], repeatable: Repeatable = "always", request: dict[str, Any] | None = None, retries: Retries = QUICK) -> dict[str, Any]:
    """What came of it: bodies sent, pauses made, and the answer or the failure."""
    conversation = converse("/v1/x", request or {}, repeatable, retries)
    found: dict[str, Any] = {"sent": [], "pauses": []}
    reply: Reply = None
    try:
        step = next(conversation)
        while True:
            if isinstance(step, Pause):
                found["pauses"].append(step.seconds)
                reply = None
            else:
                assert isinstance(step, Send)
                found["sent"].append(msgspec.json.decode(step.body))
                reply = replies.pop(0)
            step = conversation.send(reply)
    except StopIteration as end:
        return found | {"answer": end.value}
    except ClientError as error:
        return found | {"error": error}


def test_an_answer_ends_it() -> None:
    assert {"sent": [{}], "pauses": [], "answer": {"a": 1}} == talk([httpx.Response(200, json={"a": 1})])


def test_a_refusal_that_may_pass_is_waited_for() -> None:
    """Twice as long each time, and as long as the service says where that is longer."""
    found = talk([refusal("overloaded"), refusal("overloaded", **{"retry-after": "3"}), httpx.Response(200, json={})])

    assert ([0.5, 3.0], {}) == (found["pauses"], found["answer"])


@pytest.mark.parametrize(
    ("replies", "repeatable", "tries"),
    [
        ([refusal("overloaded")] * 9, "never", 3),
        ([refusal("overloaded", **{"retry-after": "60"})] * 9, "always", 1),
        ([refusal("invalid_input", 422)] * 9, "always", 1),
        ([refusal("request_timeout", 504)] * 9, "never", 1),
        ([refusal("request_timeout", 504)] * 9, "with_key", 3),
        ([httpx.ReadTimeout("")] * 9, "never", 1),
        ([httpx.ReadTimeout("")] * 9, "with_key", 3),
        ([httpx.ConnectError("")] * 9, "never", 3),
        ([httpx.Response(502, text="bad gateway")] * 9, "always", 3),
        ([httpx.Response(502, text="bad gateway")] * 9, "never", 1),
        ([httpx.Response(200, text="<html>")] * 9, "always", 1),
    ],
)
def test_only_what_is_safe_is_repeated(replies: list[Reply], repeatable: Repeatable, tries: int) -> None:
    """A call that may have had an effect is sent again only where the effect is the same."""
    found = talk(list(replies), repeatable)

    assert (tries, tries - 1) == (len(found["sent"]), len(found["pauses"]))
    assert isinstance(found["error"], ServiceError | NotAnswered | UnexpectedAnswer)


def test_a_write_has_one_idempotency_key_for_all_its_tries() -> None:
    """One of its own where the caller gave none, another for each call; the caller's stays."""
    first = talk([httpx.ReadTimeout(""), httpx.Response(200, json={})], "with_key")["sent"]
    second = talk([httpx.Response(200, json={})], "with_key")["sent"]
    given = talk([httpx.Response(200, json={})], "with_key", {"idempotency_key": "mine"})["sent"]

    assert 1 == len({body["idempotency_key"] for body in first})
    assert first[0] != second[0]
    assert [{"idempotency_key": "mine"}] == given


def test_a_refusal_says_what_is_wrong() -> None:
    error = talk([refusal("invalid_input", 422)])["error"]

    assert ("invalid_input", 422, "/query", False, "no (invalid_input)") == (
        error.code,
        error.status,
        error.places[0].pointer,
        error.retryable,
        str(error),
    )


@pytest.mark.parametrize("url", ["127.0.0.1:7411", "ftp://x", ""])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="http"):
        Client(url, "key")


def test_the_key_is_shown_nowhere() -> None:
    client = Client("http://127.0.0.1", "cl_secret")

    assert "cl_secret" not in repr(client) + str(vars(client))
    client.close()
