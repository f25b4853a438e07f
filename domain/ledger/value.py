"""Typed values: one canonical form, so that equal values are one record."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from commonlore.domain.time import INSTANT_FORM, parse_instant, render_instant

NORMALIZATION_VERSION = 1
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Value:
    """`canonical` identifies the value together with type and unit; `display` is how it is shown."""

    value_type: str
    canonical: str
    unit: str | None
    display: str


def canonical_value(value_type: str, raw: str | float | bool, *, unit: str | None, display: str | None) -> Value:
    """The one form of a value: 1.50 is 1.5, instants are UTC, strings are NFC with single blanks.

    Raises:
        ValueError: the text is not of the declared type, with the form that is expected.
    """
    if value_type == "boolean":
        canonical = "true" if raw is True else "false"
    elif value_type == "number":
        canonical = _number(raw)
    elif value_type == "date":
        canonical = _date(str(raw))
    elif value_type == "date_time":
        canonical = _instant(str(raw))
    else:
        canonical = _BLANKS.sub(" ", unicodedata.normalize("NFC", str(raw))).strip()
    unit = _BLANKS.sub(" ", unicodedata.normalize("NFC", unit)).strip() or None if unit else None
    return Value(value_type, canonical, unit, display or (canonical if isinstance(raw, bool) else str(raw)))


def _number(raw: object) -> str:
    try:
        number = Decimal(str(raw))
    except InvalidOperation as error:
        raise ValueError("expected a finite number") from error
    if not number.is_finite():
        raise ValueError("expected a finite number")
    # Not normalize(): it rounds to 28 digits, so that two numbers would become one.
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _date(text: str) -> str:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is None:
        raise ValueError("expected a date such as 2026-07-01")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ValueError("expected a date of the calendar such as 2026-07-01") from error


def _instant(text: str) -> str:
    try:
        return render_instant(parse_instant(text))
    except ValueError as error:
        raise ValueError(INSTANT_FORM) from error
