"""What a key with the scope `destroy` may ask to erase, and what administrators may hold back."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import Conflict, invalid

TargetKind = Literal["evidence", "source", "subject", "profile", "credential", "space", "team"]
HoldKind = Literal["evidence", "source", "profile", "space", "team"]
ErasureState = Literal["deleted", "restored", "hidden", "deleting", "checking", "done", "incomplete"]
DeletedKind = Literal["space", "team"]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]
Token = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$")]
Typed = Annotated[
    str, Meta(min_length=1, max_length=100, description="Typed by the caller: the name of the space or team, or the id of anything else.")
]
PURGE_DAYS = 30
Days = Annotated[int, Meta(ge=1, le=90)]


class ErasureTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is erased. `with_mentions`: of a subject, also texts that only name it, whatever was claimed from them."""

    target_kind: TargetKind
    target_id: UUID
    with_mentions: bool = False

    def validate(self) -> None:
        """
        Raises:
            Incorrect: `with_mentions` for another kind than a subject.
        """
        if self.with_mentions and self.target_kind != "subject":
            raise invalid("/with_mentions", "expected only with the target_kind subject")


class EraseRequest(ErasureTarget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An erasure as it was previewed. It cannot be taken back."""

    reason: Reason
    confirmation: Typed
    confirmation_token: Token

    def validate(self) -> None:
        """
        Raises:
            Incorrect: as `ErasureTarget`; the reason shows nothing.
        """
        ErasureTarget.validate(self)
        require_visible("/reason", self.reason)


class DeleteRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A space or the team, out of sight at once and erased after `purge_after_days`, until which it can be restored."""

    target_kind: DeletedKind
    target_id: UUID
    reason: Reason
    confirmation: Typed
    confirmation_token: Token
    purge_after_days: Days = PURGE_DAYS

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the reason shows nothing.
        """
        require_visible("/reason", self.reason)


class ErasureRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One erasure of the team."""

    erasure_id: UUID


class ListErasuresRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Erasures of the team, the newest first. `item_id` keeps the one that erased this text or relationship."""

    item_id: UUID | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class PlaceHoldRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may not be erased until the hold is released."""

    target_kind: HoldKind
    target_id: UUID
    reason: Reason

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the reason shows nothing.
        """
        require_visible("/reason", self.reason)


class HoldRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One legal hold of the team."""

    hold_id: UUID


class ListHoldsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Legal holds of the team, the newest first; `released` shows those that are over as well."""

    released: bool = False
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


class ListExportsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files that were made from the team's rows, the newest first."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 100


class ExportRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file that was made from the team's rows."""

    export_id: UUID


def require_typed(typed: str, wanted: str, kind: str) -> None:
    """What the caller typed is what is erased; nothing is guessed or trimmed.

    Raises:
        Incorrect: another text.
    """
    if typed != wanted:
        what = "its name, exactly" if kind in ("space", "team") else "its id, in lower case"
        raise invalid("/confirmation", f"expected {what}")


def require_state(given: str, counted: str) -> None:
    """What is erased is what was counted.

    Raises:
        Conflict: `stale_input`, something came or went since the preview.
    """
    if given != counted:
        raise Conflict("stale_input", "what would be erased has changed since the preview that gave this confirmation_token; preview it again")
