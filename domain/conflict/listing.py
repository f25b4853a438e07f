"""Pages of cases, in the order in which they were opened, and the cursor between them."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

import msgspec

from commonlore.domain.errors import Incorrect, invalid


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The last case shown, bound to the team and to the filter it was made with."""

    team_id: UUID
    status: str | None
    conflict_id: UUID

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii").rstrip("=")


def decode_cursor(text: str, team_id: UUID, status: str | None) -> UUID:
    """The id of the last case shown.

    Raises:
        Incorrect: not a cursor of this list of this team.
    """
    try:
        cursor = msgspec.json.decode(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), type=Cursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise _not_ours() from error
    if (cursor.team_id, cursor.status) != (team_id, status):
        raise _not_ours()
    return cursor.conflict_id


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same list with the same status")
