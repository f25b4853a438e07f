"""Names, ends and scopes that an administrator gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from commonlore.domain.errors import Forbidden, Incorrect
from commonlore.domain.tenancy.administration import IssuedKey, Key, read_expiry, read_name, read_scopes, require_grantable

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Support", "Support"),
        ("  Support \t", "Support"),
        ("\u00a0Support\u3000", "Support"),
        ("Cafe\u0301", "Café"),
        ("x" * 100, "x" * 100),
        ("100% _team_ \\ 'quoted'", "100% _team_ \\ 'quoted'"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔬", "👩\u200d🔬"),
    ],
)
def test_a_name_is_stored_trimmed_and_composed(text: str, stored: str) -> None:
    assert stored == read_name("/name", text)


@pytest.mark.parametrize(
    "text", ["", "   ", "\u200d", "x" * 101, "a\x00b", "a\nb", "a\x7fb", "a\u202eb", "a\u2028b", "\ud800x", "a\ufeffb", "\u2066x"]
)
def test_an_empty_long_or_deceiving_name_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(Incorrect) as refused:
        read_name("/name", text)

    assert refused.value.code == "invalid_input"
    assert refused.value.problems[0].pointer == "/name"


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        (None, None),
        ("12h", NOW + timedelta(hours=12)),
        ("90d", NOW + timedelta(days=90)),
        ("99999d", NOW + timedelta(days=99999)),
        ("2026-08-01T00:00:00+02:00", datetime(2026, 7, 31, 22, tzinfo=UTC)),
    ],
)
def test_an_end_is_a_duration_or_an_instant(text: str | None, instant: datetime | None) -> None:
    assert instant == read_expiry("/expires", text, now=NOW)


@pytest.mark.parametrize(
    "text",
    ["", "0d", "-1d", "1", "d", "1w", "1.5d", "100000d", "١d", "90 d", "90D", "2026-08-01", "2026-07-01T12:00:00Z", "2020-01-01T00:00:00Z", "never"],
)
def test_another_form_or_a_passed_instant_is_refused(text: str) -> None:
    with pytest.raises(Incorrect):
        read_expiry("/expires", text, now=NOW)


def test_scopes_are_read_once_each_and_in_their_own_order() -> None:
    assert read_scopes("/scopes", ["admin", "read", "admin"]) == ("read", "admin")


@pytest.mark.parametrize("texts", [[], ["root"], ["read", "Read"]])
def test_no_scope_or_an_unknown_one_is_refused(texts: list[str]) -> None:
    with pytest.raises(Incorrect):
        read_scopes("/scopes", texts)


def test_a_key_hands_on_only_what_it_holds() -> None:
    require_grantable(("read", "admin"), frozenset(("read", "admin")))

    with pytest.raises(Forbidden) as refused:
        require_grantable(("read", "destroy"), frozenset(("read", "admin")))
    assert refused.value.details == {"scope": "destroy"}


def test_a_key_is_expired_from_its_end_on_and_revoked_for_good() -> None:
    key = Key(uuid4(), uuid4(), "p", "n", "prefix12", "wxyz", ("read",), "shared_only", NOW, expires_at=NOW)
    revoked = Key(uuid4(), uuid4(), "p", "n", "prefix12", "wxyz", ("read",), "shared_only", NOW, expires_at=NOW, revoked_at=NOW)

    assert [key.state(NOW - timedelta(microseconds=1)), key.state(NOW)] == ["active", "expired"]
    assert revoked.state(NOW) == "revoked"


def test_an_issued_key_hides_its_text() -> None:
    issued = IssuedKey(Key(uuid4(), uuid4(), "p", "n", "prefix12", "wxyz", ("read",), "shared_only", NOW), "cl_secret")

    assert "cl_secret" not in repr(issued)
