"""API keys: `cl_<team>_<prefix>_<secret>`, shown once and stored as a hash.

The text carries the team so that the row can be looked up under that team's own context (decisions.md 20); the team a
request runs as comes from the row that matched, never from anything else in the request. The secret has 256 random
bits, so a plain SHA-256 resists guessing as well as a slow hash would, and costs a microsecond.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b32encode
from dataclasses import dataclass
from uuid import UUID

_KEY = re.compile(r"cl_(?P<team>[0-9a-f]{32})_(?P<prefix>[a-z2-7]{12})_(?P<secret>[a-z2-7]{52})")


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A well-formed key as a caller sent it. Its `repr` hides the secret."""

    team_id: UUID
    prefix: str
    secret_sha256: bytes

    def __repr__(self) -> str:
        return f"PresentedKey(prefix={self.prefix!r})"


@dataclass(frozen=True, slots=True)
class MintedKey:
    """A new key. `text` is shown to its owner once and kept nowhere."""

    text: str
    prefix: str
    suffix: str
    secret_sha256: bytes

    def __repr__(self) -> str:
        return f"MintedKey(prefix={self.prefix!r})"


def _random(bits: int) -> str:
    return b32encode(secrets.token_bytes(bits // 8)).decode("ascii").rstrip("=").lower()


def mint(team_id: UUID) -> MintedKey:
    """A new key of `team_id`; prefix 60 random bits, secret 256."""
    prefix, secret = _random(64)[:12], _random(256)
    return MintedKey(f"cl_{team_id.hex}_{prefix}_{secret}", prefix, secret[-4:], hashlib.sha256(secret.encode("ascii")).digest())


def parse(text: str) -> PresentedKey | None:
    """The parts of a well-formed key, or None. Says nothing about whether it exists."""
    match = _KEY.fullmatch(text)
    if match is None:
        return None
    return PresentedKey(UUID(match["team"]), match["prefix"], hashlib.sha256(match["secret"].encode("ascii")).digest())


def matches(presented: PresentedKey, stored_sha256: bytes | None) -> bool:
    """Whether the secret is the stored one; takes the same time for a missing row as for a wrong secret."""
    return hmac.compare_digest(presented.secret_sha256, stored_sha256 or bytes(32)) and stored_sha256 is not None
