"""Cursors of an administrator's lists go on where a page ended, and nothing else passes for one."""

from __future__ import annotations

import base64
from uuid import UUID

import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.tenancy.paging import decode_cursor, encode_cursor

TEAM, OTHER, LAST = UUID(int=5), UUID(int=6), UUID("01982f00-0000-7000-8000-000000000001")
CURSOR = encode_cursor(TEAM, "members", LAST)


def test_a_cursor_comes_back_as_it_went() -> None:
    """The id after which the next page begins."""

    assert LAST == decode_cursor(CURSOR, TEAM, "members")


def test_every_changed_character_is_noticed() -> None:
    """Another letter at any place is refused by the field's name."""

    refused = []
    for place, letter in enumerate(CURSOR):
        with pytest.raises(Incorrect) as caught:
            decode_cursor(CURSOR[:place] + ("B" if letter != "B" else "C") + CURSOR[place + 1 :], TEAM, "members")
        refused.append(caught.value.problems[0].pointer)

    assert ["/cursor"] * len(CURSOR) == refused


@pytest.mark.parametrize(
    "text",
    [
        encode_cursor(OTHER, "members", LAST),
        encode_cursor(TEAM, "keys", LAST),
        encode_cursor(TEAM, "members", LAST)[:-4],
        CURSOR + "AAAA",
        CURSOR + "=",
        CURSOR + "\n",
        " " + CURSOR,
        CURSOR.replace("_", "/").replace("-", "+") + " ",
        base64.urlsafe_b64encode(LAST.bytes).decode(),
        str(LAST),
        "é",
        "\ud800",
        "=",
        "A",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """Another team's, another list's, a cut or longer one, an id alone, and noise."""
    with pytest.raises(Incorrect) as caught:
        decode_cursor(text, TEAM, "members")

    assert ("invalid_input", "/cursor") == (caught.value.code, caught.value.problems[0].pointer)
