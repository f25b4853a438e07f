"""Pages of briefs over several kinds, and the cursor between them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from uuid import UUID

import msgspec

from commonlore.domain.delegation.kind import ALL_KINDS, KINDS, Kind
from commonlore.domain.delegation.request import ListBriefsRequest
from commonlore.domain.errors import Incorrect, invalid
from commonlore.domain.tenancy.actor import Actor


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The place behind the last brief shown, bound to the team, the space and the kinds of the list."""

    team_id: UUID
    space: str
    kinds: list[Kind]
    kind: Kind
    after: str | None

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii").rstrip("=")


def kinds_for(actor: Actor, wanted: Sequence[Kind]) -> list[Kind]:
    """The kinds that the actor may decide, among the wanted ones; all of them where none is named."""
    return [kind for kind in ALL_KINDS if KINDS[kind].scope in actor.scopes and (not wanted or kind in wanted)]


def listed_place(request: ListBriefsRequest) -> str:
    """What a cursor remembers of the space."""
    return request.target_space if request.space is None else f"{request.target_space} {request.space}"


def decode_cursor(text: str, team_id: UUID, space: str, kinds: Sequence[Kind]) -> Cursor:
    """
    Raises:
        Incorrect: not a cursor of this list of this team.
    """
    try:
        cursor = msgspec.json.decode(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), type=Cursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise _not_ours() from error
    if (cursor.team_id, cursor.space, cursor.kinds) != (team_id, space, list(kinds)) or cursor.kind not in kinds:
        raise _not_ours()
    return cursor


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same list")
