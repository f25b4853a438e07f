"""Identity of sessions and events, and what of a call is new."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.errors import Conflict, Incorrect
from commonlore.domain.ingest.events import KnownEvent, Said, event_sha256, session_name, session_sha256, sort_events, user_name
from commonlore.domain.ingest.request import MOST_TEXT_BYTES, SessionRequest
from commonlore.domain.time import parse_instant

OWNER, OTHER = UUID(int=1), UUID(int=2)
NAMES = ("framework", "app_name", "user_id", "session_id")


def a_request(*events: dict[str, Any], **names: str) -> SessionRequest:
    fields = {**dict(zip(NAMES, ("adk", "app", "ada", "s1"), strict=True)), **names}
    return msgspec.convert({**fields, "events": list(events) or [{"event_id": "e1", "text": "Hello."}]}, SessionRequest)


def said(content: str = "a", speaker: str = "user", at: str | None = None) -> Said:
    return Said(content.encode(), speaker, parse_instant(at) if at else None)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_part_of_the_identity(name: str) -> None:
    """Of the session, its name in evidence, and its events."""
    one, other = a_request(), a_request(**{name: "x"})

    assert session_sha256(one) != session_sha256(other)
    assert session_name(one) != session_name(other)
    assert event_sha256(OWNER, one, "e1") != event_sha256(OWNER, other, "e1")
    assert (user_name(one) == user_name(other)) == (name == "session_id")


def test_an_event_id_belongs_to_its_owner() -> None:
    assert event_sha256(OWNER, a_request(), "e1") != event_sha256(OTHER, a_request(), "e1")


@given(
    st.lists(st.text("a/%~é", min_size=1, max_size=150), min_size=4, max_size=4),
    st.lists(st.text("a/%~é", min_size=1, max_size=150), min_size=4, max_size=4),
)
def test_two_sessions_never_share_a_name(one: list[str], other: list[str]) -> None:
    """Also where the names hold what joins them, or are long; the joined name fits its field."""
    first, second = (session_name(a_request(**dict(zip(NAMES, names, strict=True)))) for names in (one, other))

    assert (one == other) == (first == second)
    assert len(first) <= 256


def test_what_is_new_and_what_is_there() -> None:
    """By identity, in the order of the call; the same event twice in one call is stored once."""
    keys = [b"1", b"2", b"3", b"2"]

    found = sort_events(keys, [said("a"), said("b"), said("c"), said("b")], {b"1": KnownEvent(UUID(int=7), said("a"))})

    assert ((1, 2), {0: None, 3: 1}) == (found.new, dict(found.repeated))


@pytest.mark.parametrize(
    ("before", "now", "field"),
    [
        (said("a"), said("b"), "text"),
        (said(speaker="user"), said(speaker="Ben"), "speaker"),
        (said(at="2026-07-01T09:00:00Z"), said(at="2026-07-01T09:00:01Z"), "occurred_at"),
    ],
)
@pytest.mark.parametrize("where", ["stored", "in the call"])
def test_an_event_never_changes(before: Said, now: Said, field: str, where: str) -> None:
    """The conflict names the field of the event that differs."""
    known = {b"1": KnownEvent(UUID(int=7), before)} if where == "stored" else {}
    keys, given_ = ([b"2", b"1"], [said("z"), now]) if known else ([b"1", b"1"], [before, now])

    with pytest.raises(Conflict) as caught:
        sort_events(keys, given_, known)

    assert ("event_conflict", [f"/events/1/{field}"]) == (caught.value.code, [problem.pointer for problem in caught.value.problems])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("2026-07-01T09:00:00Z", "2026-07-01T11:00:00+02:00"),
        ("2026-07-01T09:00:00Z", None),
        (None, "2026-07-01T09:00:00Z"),
    ],
)
def test_the_same_instant_or_none_is_the_same_event(before: str | None, now: str | None) -> None:
    assert () == sort_events([b"1"], [said(at=now)], {b"1": KnownEvent(UUID(int=7), said(at=before))}).new


def test_an_erased_event_is_compared_with_nothing() -> None:
    """What differs would tell of the words that are gone."""
    assert {0: None} == dict(sort_events([b"1"], [said("other")], {b"1": KnownEvent(None, None, "not_required", "erased")}).repeated)


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        (a_request(framework="\u200b"), "/framework"),
        (a_request({"event_id": " ", "text": "x"}), "/events/0/event_id"),
        (a_request({"event_id": "e", "text": "\u200b"}), "/events/0/text"),
        (a_request({"event_id": "e", "text": "x", "speaker": "\n"}), "/events/0/speaker"),
        (a_request({"event_id": "e", "text": "x", "occurred_at": "2026-07-01T09:00:00"}), "/events/0/occurred_at"),
        (a_request({"event_id": "e", "text": "é" * (MOST_TEXT_BYTES // 2)}, {"event_id": "f", "text": "x"}), "/events/1/text"),
    ],
    ids=["framework", "id", "text", "speaker", "time", "length"],
)
def test_a_wrong_field_is_named_with_its_range(request_: SessionRequest, pointer: str) -> None:
    with pytest.raises(Incorrect) as caught:
        request_.validate()

    assert [pointer] == [problem.pointer for problem in caught.value.problems]
    assert caught.value.problems[0].detail


def test_the_longest_call_is_taken() -> None:
    """Twenty events, names of 256 characters, and texts of the whole room."""
    room = MOST_TEXT_BYTES // 20
    a_request(*({"event_id": f"{number:0256}", "text": "x" * room} for number in range(20)), framework="f" * 256).validate()
