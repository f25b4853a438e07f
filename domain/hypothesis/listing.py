"""Pages of hypotheses, the newest first, and the cursor between them."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

import msgspec

from commonlore.domain.errors import Incorrect, invalid


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The last hypothesis shown, bound to the team and to the filter it was made with."""

    team_id: UUID
    list_name: str
    status: str | None
    hypothesis_id: UUID

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii").rstrip("=")


_NAME = "dreams"


def encode_cursor(team_id: UUID, status: str | None, hypothesis_id: UUID) -> str:
    return Cursor(team_id, _NAME, status, hypothesis_id).encode()


def decode_cursor(text: str, team_id: UUID, status: str | None) -> UUID:
    """The id of the last hypothesis shown.

    Raises:
        Incorrect: not a cursor of this list of this team.
    """
    try:
        cursor = msgspec.json.decode(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), type=Cursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise _not_ours() from error
    if (cursor.team_id, cursor.list_name, cursor.status) != (team_id, _NAME, status):
        raise _not_ours()
    return cursor.hypothesis_id


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same list with the same status")
