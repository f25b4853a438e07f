"""Strict JSON: what two parsers could read differently is refused, before anything looks at a field.

Refused here: bytes that are not UTF-8, a byte-order mark, a key given twice, NaN and Infinity, nesting deeper than 64,
and more than 2 MiB of structure around the strings. Integers beyond 64 bits, numbers beyond a double, U+0000 and lone
surrogates are marked instead, so that `find_flaw` can name the field that holds them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from commonlore.domain.errors import Incorrect

MAX_DEPTH = 64
MAX_STRUCTURE_CHARS = 2 * 1024 * 1024
_INTEGER_LIMIT = 2**63
# Below this a parsed body cannot grow beyond a few megabytes, so its structure is not measured.
_SMALL_CHARS = 64 * 1024
# Possessive, and an unfinished string counts as one: otherwise a body of quotes and backslashes takes quadratic time.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_ESCAPED_FLAW = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_FLAW_IN_TEXT = re.compile("[\x00\ud800-\udfff]")


class _OutOfRange:
    """Stands for a number that no 64-bit integer or double holds."""


_OUT_OF_RANGE = _OutOfRange()


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON value. `suspect` is whether `find_flaw` has anything to look for."""

    value: Any
    suspect: bool


class _Reader:
    """The hooks of one parse; `suspect` is set when a number was replaced by a mark."""

    __slots__ = ("suspect",)

    def __init__(self) -> None:
        self.suspect = False

    def integer(self, literal: str) -> int | _OutOfRange:
        if len(literal) <= 20 and -_INTEGER_LIMIT <= (number := int(literal)) < _INTEGER_LIMIT:
            return number
        self.suspect = True
        return _OUT_OF_RANGE

    def real(self, literal: str) -> float | _OutOfRange:
        if math.isfinite(number := float(literal)):
            return number
        self.suspect = True
        return _OUT_OF_RANGE


def malformed(detail: str) -> Incorrect:
    return Incorrect("malformed_body", detail)


def parse(body: bytes) -> Parsed:
    """The value of one JSON text.

    Raises:
        Incorrect: `malformed_body`, saying which rule is broken and nothing of the text; `body_too_large` for the structure bound.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise malformed("the body is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise malformed("the body begins with a byte-order mark; send UTF-8 without one")
    _check_structure(text)
    reader = _Reader()
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=reader.integer, parse_float=reader.real)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise malformed("the body is not valid JSON") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    return Parsed(value, reader.suspect or _ESCAPED_FLAW.search(text) is not None)


def find_flaw(value: object) -> tuple[str, str] | None:
    """The JSON pointer and the fault of the first string or number that cannot be kept as it was sent, or None.

    A pointer ends above a key that is itself at fault. Nothing of the value is in the answer except key names of its path.
    """
    for pointer, leaf in _leaves(value):
        if isinstance(leaf, str):
            if _FLAW_IN_TEXT.search(leaf) is not None:
                return pointer, "expected text without U+0000 and without lone surrogates"
        elif isinstance(leaf, _OutOfRange):
            return pointer, "expected a number that fits 64 bits"
    return None


def pointer_token(key: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    """Every key and scalar with the pointer to report for it, in document order; a key with its object's pointer."""
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        pointer, item = stack.pop()
        if isinstance(item, dict):
            for key in item:
                if _FLAW_IN_TEXT.search(key) is not None:
                    yield pointer, key
            stack.extend((f"{pointer}/{pointer_token(key)}", child) for key, child in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend((f"{pointer}/{place}", item[place]) for place in reversed(range(len(item))))
        else:
            yield pointer, item


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise malformed("an object has the same key twice")
    return members


def _refuse_constant(_: str) -> float:
    raise malformed("NaN and Infinity are not JSON")


def _too_deep() -> Incorrect:
    return malformed(f"the body is nested deeper than {MAX_DEPTH}")


def _check_structure(text: str) -> None:
    """A large body of small pieces would take twenty times its size as objects; strings are what a large body is for."""
    if len(text) <= _SMALL_CHARS:
        return
    if len(_STRING.sub("", text)) > MAX_STRUCTURE_CHARS:
        raise Incorrect("body_too_large", f"expected at most {MAX_STRUCTURE_CHARS} characters outside of strings")


def _deeper_than(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
