"""One canonical form a value, and what is no value of its type."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.domain.ledger.value import canonical_value


def canonical(kind: str, raw: Any, unit: str | None = None) -> str:
    return canonical_value(kind, raw, unit=unit, display=None).canonical


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("number", 1.50, "1.5"),
        ("number", 3, "3"),
        ("number", 3.0, "3"),
        ("number", -0.0, "0"),
        ("number", 0, "0"),
        ("number", 100, "100"),
        ("number", 1e21, "1000000000000000000000"),
        ("number", 1e-7, "0.0000001"),
        ("number", -2.50, "-2.5"),
        ("number", 10**30 + 1, "1" + "0" * 29 + "1"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("date", "2026-07-01", "2026-07-01"),
        ("date_time", "2026-07-01T02:00:00+02:00", "2026-07-01T00:00:00Z"),
        ("date_time", "2026-07-01T00:00:00.500000Z", "2026-07-01T00:00:00.5Z"),
        ("string", "  two \t\n words ", "two words"),
        ("string", "Cafe\u0301", "Caf\u00e9"),
        ("string", "CASE stays", "CASE stays"),
    ],
)
def test_equal_values_have_one_form(kind: str, raw: Any, expected: str) -> None:
    """Numbers keep every digit, instants are UTC, strings are NFC with single blanks."""
    assert expected == canonical(kind, raw)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("number", float("nan")),
        ("number", float("inf")),
        ("date", "2026-02-30"),
        ("date", "2026-7-1"),
        ("date", "20260701"),
        ("date", "2026-07-01T00:00:00Z"),
        ("date_time", "2026-07-01"),
        ("date_time", "2026-07-01T00:00:00"),
        ("date_time", "now"),
    ],
)
def test_what_is_not_of_its_type_is_refused(kind: str, raw: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        canonical(kind, raw)


def test_the_display_is_what_was_given_or_said() -> None:
    said = canonical_value("number", 1.5, unit=" GB ", display="one and a half")
    plain = canonical_value("boolean", True, unit=None, display=None)

    assert ("one and a half", "GB") == (said.display, said.unit)
    assert ("true", None) == (plain.display, plain.unit)


def test_a_blank_unit_is_no_unit() -> None:
    assert canonical_value("number", 1, unit="  ", display=None).unit is None
