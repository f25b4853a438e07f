"""Pages of the lists that an administrator reads, and the cursors between them.

A list is in the order of its ids, which are of version 7 and never change: in the order in which its entries were made.
A page begins after the last id shown, so what comes or goes meanwhile moves nothing else.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, Literal, TypeVar
from uuid import UUID

from commonlore.domain.errors import Incorrect, invalid

T = TypeVar("T")
ListName = Literal["members", "keys", "spaces", "jobs", "audit", "near_duplicates", "failed_vectors"]
_SUM_BYTES = 8
_CHARS = (_SUM_BYTES + 16) * 4 // 3


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Entries in the order of their ids. `last_id` is that of the last one where more follow, else None."""

    entries: Sequence[T]
    last_id: UUID | None


def encode_cursor(team_id: UUID, name: ListName, last_id: UUID) -> str:
    """The place after `last_id` in one list of one team.

    The sum in it finds mistakes; it is no secret and guards nothing. What a page shows is decided by the key and the policies.
    """
    total = blake2b(team_id.bytes + last_id.bytes + name.encode("ascii"), digest_size=_SUM_BYTES, person=b"commonlore-page").digest()
    return urlsafe_b64encode(total + last_id.bytes).decode("ascii")


def decode_cursor(text: str, team_id: UUID, name: ListName) -> UUID:
    """The last id that was shown.

    Raises:
        Incorrect: not a cursor of this list of this team, or changed on its way.
    """
    try:
        last_id = UUID(bytes=urlsafe_b64decode(text.encode("ascii"))[_SUM_BYTES:])
    except (ValueError, binascii.Error) as error:
        raise _not_ours() from error
    if len(text) != _CHARS or encode_cursor(team_id, name, last_id) != text:
        raise _not_ours()
    return last_id


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same list of this team")
