"""Keys: their text, their parts, and what they never show."""

from __future__ import annotations

import hashlib
import hmac
from uuid import UUID

import pytest

from commonlore.domain.tenancy import key as keys
from commonlore.domain.tenancy.key import PresentedKey, matches, mint, parse

TEAM = UUID("0197a0b0-0000-7000-8000-000000000001")


def test_a_minted_key_is_read_back_and_matches_its_own_hash_only() -> None:
    minted, other = mint(TEAM), mint(TEAM)

    presented = parse(minted.text)

    assert presented is not None
    assert (TEAM, minted.prefix) == (presented.team_id, presented.prefix)
    assert matches(presented, minted.secret_sha256)
    assert not matches(presented, other.secret_sha256)
    assert minted.text.endswith(minted.suffix)


def test_the_stored_hash_is_of_the_secret_alone_and_keys_never_repeat() -> None:
    minted = mint(TEAM)

    assert hashlib.sha256(minted.text.rsplit("_", 1)[1].encode()).digest() == minted.secret_sha256
    assert len({mint(TEAM).text for _ in range(200)}) == 200


def test_a_missing_row_does_not_match_even_a_hash_of_zeros() -> None:
    assert not matches(PresentedKey(TEAM, "a" * 12, bytes(32)), None)
    assert matches(PresentedKey(TEAM, "a" * 12, bytes(32)), bytes(32))


def test_secrets_are_compared_in_constant_time_for_present_and_missing_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    original = hmac.compare_digest

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return original(a, b)

    monkeypatch.setattr(keys.hmac, "compare_digest", compare)
    presented = parse(mint(TEAM).text)
    assert presented is not None

    matches(presented, bytes(32))
    matches(presented, None)

    assert [(presented.secret_sha256, bytes(32))] * 2 == compared


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "cl_",
        "clé_" + "a" * 32,
        "cl_" + TEAM.hex + "_" + "a" * 12 + "_" + "é" * 52,
        "cl_" + TEAM.hex + "_" + "a" * 12 + "_" + "a" * 51,
        "cl_" + TEAM.hex + "_" + "a" * 12 + "_" + "a" * 53,
        "cl_" + TEAM.hex.upper() + "_" + "a" * 12 + "_" + "a" * 52,
        "cl_" + TEAM.hex + "_" + "a" * 12 + "_" + "a" * 52 + "\n",
        "cl_" + TEAM.hex + "_" + "a" * 12 + "_" + "１" * 52,
        "\x00",
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_a_malformed_key_is_refused_without_an_error(text: str) -> None:
    """Non-ASCII text too: hmac.compare_digest would raise TypeError for it."""
    assert parse(text) is None


def test_repr_shows_no_secret() -> None:
    minted = mint(TEAM)
    presented = parse(minted.text)
    secret = minted.text.rsplit("_", 1)[1]

    shown = f"{minted!r} {presented!r} {minted} {presented}"

    assert secret not in shown
    assert minted.suffix not in shown.replace(minted.prefix, "")
    assert minted.secret_sha256.hex() not in shown
    assert repr(minted.secret_sha256) not in shown
