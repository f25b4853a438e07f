"""Cursors of a trace go on where it stopped, and nothing else passes for one."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.trace.cursor import SECTIONS, Place, TraceCursor, decode_cursor

OURS = UUID(int=5)
PLACE = Place(datetime(2026, 7, 1, 0, 0, 0, 123_456, tzinfo=UTC), UUID(int=9))


def encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def test_a_cursor_comes_back_as_it_went() -> None:
    cursor = TraceCursor(OURS, {"transitions": PLACE})

    assert cursor == decode_cursor(cursor.encode(), OURS)


def test_the_longest_cursor_fits_the_request() -> None:
    assert len(TraceCursor(OURS, dict.fromkeys(SECTIONS, PLACE)).encode()) <= 2048


GOOD = {"relationship_id": str(OURS), "places": {"transitions": ["2026-07-01T00:00:00Z", str(UUID(int=9))]}}


@pytest.mark.parametrize(
    "text",
    [
        TraceCursor(UUID(int=6), {"transitions": PLACE}).encode(),
        encoded({**GOOD, "places": {"evidence": ["2026-07-01T00:00:00Z", str(UUID(int=9))]}}),
        encoded({**GOOD, "places": {"transitions": ["2026-07-01T00:00:00", str(UUID(int=9))]}}),
        encoded({**GOOD, "places": {"transitions": ["yesterday", str(UUID(int=9))]}}),
        encoded({**GOOD, "places": {"transitions": ["2026-07-01T00:00:00Z", "9"]}}),
        encoded({**GOOD, "places": {"transitions": ["2026-07-01T00:00:00Z"]}}),
        encoded({**GOOD, "space": "x"}),
        encoded([]),
        encoded(None),
        TraceCursor(OURS, {"transitions": PLACE}).encode()[:-4],
        TraceCursor(OURS, {"transitions": PLACE}).encode() + "!",
        "é",
        "=",
        "A",
        "////",
        "\x00",
    ],
)
def test_anything_else_is_refused_by_its_field(text: str) -> None:
    """Another relationship's, another list's, a naive time, a cut one, one with more in it, and noise."""
    with pytest.raises(Incorrect) as caught:
        decode_cursor(text, OURS)

    assert "/cursor" == caught.value.problems[0].pointer


def test_the_untampered_one_is_accepted() -> None:
    assert {"transitions"} == set(decode_cursor(encoded(GOOD), OURS).places)
