"""Which event is which: its identity, what of it must stay as it was, and what of a call is new. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote
from uuid import UUID

from commonlore.domain.degradation import SearchState
from commonlore.domain.errors import Conflict, Problem
from commonlore.domain.ingest.request import SessionRequest

USER = "user"
LONGEST_NAME = 256


def session_name(request: SessionRequest) -> str:
    """The session as evidence carries it: the four names in one, so that the sessions of two users never meet."""
    return _joined(request.framework, request.app_name, request.user_id, request.session_id)


def user_name(request: SessionRequest) -> str:
    """One user of one application counts as one source, in how many sessions he says it."""
    return _joined(request.framework, request.app_name, request.user_id)


def _joined(*names: str) -> str:
    """At most `LONGEST_NAME` characters, and another text for other names; a long one ends in a hash of the whole."""
    whole = "/".join(quote(name, safe=" @:.,+=()#") for name in names)
    if len(whole) <= LONGEST_NAME:
        return whole
    digest = hashlib.sha256(whole.encode("ascii")).hexdigest()
    return f"{whole[: LONGEST_NAME - len(digest) - 1]}~{digest}"


def session_sha256(request: SessionRequest) -> bytes:
    """The identity of a session in its space, 32 bytes."""
    return _sha256(request.framework, request.app_name, request.user_id, request.session_id)


def event_sha256(owner_profile_id: UUID, request: SessionRequest, event_id: str) -> bytes:
    """The identity of an event in its space, 32 bytes: nobody takes an id from another member."""
    return _sha256(str(owner_profile_id), request.framework, request.app_name, request.user_id, request.session_id, event_id)


def _sha256(*names: str) -> bytes:
    # Names hold no U+0000: it is refused at the edge.
    return hashlib.sha256("\0".join(names).encode("utf-8")).digest()


@dataclass(frozen=True, slots=True)
class Said:
    """What of an event never changes: its words as a hash, its speaker, and its time where one was given."""

    content_sha256: bytes
    speaker: str
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event that was taken in before. Once it was erased nothing is left of it but that it was: no text, and `said` is None.

    `end`: how its text was withdrawn, if it was, or `quarantined`. `search_state`: of its vectors.
    """

    evidence_id: UUID | None
    said: Said | None
    search_state: SearchState = "current"
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Sorted:
    """The events of a call by their index: `new`, in order, and `repeated` with the index of the same event earlier in the call, or None."""

    new: tuple[int, ...]
    repeated: Mapping[int, int | None]


def sort_events(keys: Sequence[bytes], said: Sequence[Said], known: Mapping[bytes, KnownEvent]) -> Sorted:
    """Which events are new. `keys` and `said` are of the events of the call, in order.

    Raises:
        Conflict: `event_conflict`, with the pointer of the first event whose text, speaker or time is another than it was.
    """
    new: list[int] = []
    repeated: dict[int, int | None] = {}
    first: dict[bytes, int] = {}
    for index, key in enumerate(keys):
        if key in known:
            repeated[index] = None
            before = known[key].said
        elif key in first:
            repeated[index] = first[key]
            before = said[first[key]]
        else:
            first[key] = index
            new.append(index)
            continue
        if before is not None:
            _require_same(index, before, said[index])
    return Sorted(tuple(new), repeated)


def _require_same(index: int, before: Said, now: Said) -> None:
    """A time that is left out in either is not compared."""
    field = None
    if before.content_sha256 != now.content_sha256:
        field = "text"
    elif before.speaker != now.speaker:
        field = "speaker"
    elif before.occurred_at is not None and now.occurred_at is not None and before.occurred_at != now.occurred_at:
        field = "occurred_at"
    if field is not None:
        pointer, detail = f"/events/{index}/{field}", f"expected the {field} that this event was taken in with; an event never changes"
        raise Conflict("event_conflict", f"{pointer}: {detail}; nothing of the call was stored", problems=(Problem(pointer, detail),))
