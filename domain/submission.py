"""Calls that may be repeated: the one mechanism by which a repeated call gets its first answer and writes nothing.

An idempotency key belongs to a credential, or to whoever holds the database. The submission is inserted first in the
write's own transaction, so a second call with the same key waits for the first, and a write that is cut off leaves none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import Conflict, invalid

LONGEST_KEY = 128
IdempotencyKey = Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY)]
Result = TypeVar("Result", bound=Struct | dict[str, Any])


@dataclass(frozen=True, slots=True)
class Claim:
    """One call: its own id, what is asked, and the instant at which it began. The key is None where a repetition is another call."""

    submission_id: UUID
    kind: str
    idempotency_key: str | None
    request_sha256: bytes
    now: datetime

    def at(self, instant: datetime) -> Claim:
        """The same call at the instant that the ledger lock gave it."""
        return replace(self, now=instant)


@dataclass(frozen=True, slots=True)
class Replay:
    """A submission that was stored before under the same key: the hash of its request and its result, as stored."""

    request_sha256: bytes
    result: str | None


class Submissions(Protocol):
    """Where submissions are kept, inside one transaction."""

    async def claim_submission(self, claim: Claim) -> Replay | None:
        """Insert the submission into the open space, or wait for the one that has its key and return it."""
        ...

    async def conclude_submission(self, claim: Claim, result: Struct | dict[str, Any]) -> None:
        """Keep the answer with the submission."""
        ...


def require_key(idempotency_key: str | None) -> None:
    """
    Raises:
        Incorrect: the key shows nothing, or is too long.
    """
    if idempotency_key is not None:
        require_visible("/idempotency_key", idempotency_key)
        if len(idempotency_key) > LONGEST_KEY:
            raise invalid("/idempotency_key", f"expected 1 to {LONGEST_KEY} characters")


def request_sha256(kind: str, request: Struct) -> bytes:
    """The kind and the whole request but its key, in one canonical form: the same request gives the same hash."""
    content = msgspec.to_builtins(request)
    content.pop("idempotency_key", None)
    return hashlib.sha256(msgspec.json.encode([kind, content], order="sorted")).digest()


def first_answer(request_sha256: bytes, replay: Replay) -> str:
    """The stored answer as its JSON text.

    Raises:
        Conflict: `idempotency_conflict`, the key belongs to another request; `commit_conflict`, the first has no answer yet.
    """
    if replay.request_sha256 != request_sha256:
        raise Conflict("idempotency_conflict", "the idempotency key was used for another request")
    if replay.result is None:
        raise Conflict("commit_conflict", "the first request with this key has not ended", retry_after_s=1)
    return replay.result


async def answer_once(submissions: Submissions, claim: Claim, write: Callable[[], Awaitable[Result]]) -> Result | str:
    """What `write` answers, kept with the submission; the stored answer, and no write, where the key has one already.

    Raises:
        Conflict: as `first_answer`.
    """
    if (replay := await submissions.claim_submission(claim)) is not None:
        return first_answer(claim.request_sha256, replay)
    result = await write()
    await submissions.conclude_submission(claim, result)
    return result
