"""Checks that a schema cannot state, each naming the field by JSON pointer."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from functools import cache
from zoneinfo import available_timezones

from commonlore.domain.errors import invalid
from commonlore.domain.time import parse_moment

_INVISIBLE = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Co"))


def has_visible(text: str) -> bool:
    """Whether any character shows: not only blanks, controls and zero-width marks."""
    return any(unicodedata.category(character) not in _INVISIBLE for character in text)


def require_visible(pointer: str, text: str) -> None:
    """
    Raises:
        Incorrect: the text has no visible character.
    """
    if not has_visible(text):
        raise invalid(pointer, "expected at least one visible character")


def read_instant(pointer: str, text: str | None) -> datetime | None:
    """
    Raises:
        Incorrect: `text` is not RFC 3339 with an offset.
    """
    moment = read_moment(pointer, text)
    return None if moment is None else moment.astimezone(UTC)


def read_moment(pointer: str, text: str | None, form: str | None = None) -> datetime | None:
    """As `read_instant`, in the offset that it is written with; `form` is what is expected, where more than an instant is.

    Raises:
        Incorrect: `text` is not RFC 3339 with an offset.
    """
    if text is None:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        raise invalid(pointer, form or str(error)) from error


def read_time_zone(pointer: str, name: str) -> str:
    """
    Raises:
        Incorrect: no time zone of the IANA database has this name.
    """
    if name not in _time_zones():
        raise invalid(pointer, "expected the name of a time zone, such as Europe/Berlin")
    return name


@cache
def _time_zones() -> frozenset[str]:
    """Read once; the names of the machine's own settings, which say nothing to anybody else, are no zones."""
    return frozenset(available_timezones() - {"localtime", "posixrules", "Factory"})
