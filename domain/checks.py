"""Checks that a schema cannot state, each naming the field by JSON pointer."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from commonlore.domain.errors import invalid
from commonlore.domain.time import parse_instant

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
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        raise invalid(pointer, str(error)) from error
