"""Where a trace goes on: the last row of each list that was cut, bound to one relationship."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from uuid import UUID

import msgspec

from commonlore.domain.errors import Incorrect, invalid

SECTIONS = (
    "observations",
    "evidence_supports",
    "evidence_support_decision_events",
    "verification_events",
    "transitions",
    "evidence_lifecycle_events",
    "cross_profile_references",
    "supersession_lineage",
    "cross_references",
    "identity_corrections",
)


class Place(msgspec.Struct, frozen=True, array_like=True):
    """The known time and id of the last row shown."""

    known_from: datetime
    id: UUID


class TraceCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`places` holds the lists that go on; a list that is not in it has ended."""

    relationship_id: UUID
    places: dict[str, Place]

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii").rstrip("=")


def decode_cursor(text: str, relationship_id: UUID) -> TraceCursor:
    """
    Raises:
        Incorrect: not a cursor of this relationship.
    """
    try:
        cursor = msgspec.json.decode(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), type=TraceCursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise _not_ours() from error
    if cursor.relationship_id != relationship_id or not set(cursor.places) <= set(SECTIONS):
        raise _not_ours()
    if any(place.known_from.tzinfo is None for place in cursor.places.values()):
        raise _not_ours()
    return cursor


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same relationship")
