"""What an administrator's key may ask about named spaces and about what members may do."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct

from commonlore.domain.errors import invalid
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.tenancy.administration import read_space_name
from commonlore.domain.tenancy.membership import Access, Role
from commonlore.domain.tenancy.place import SpaceName


class CreateSpaceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shared space with a name of its own. The caller's own member may write there; others are granted it."""

    name: SpaceName

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the name has no visible character, or one that hides text.
        """
        read_space_name("/name", self.name)


class RenameSpaceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another name for a named space."""

    space_id: UUID
    name: SpaceName

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the name has no visible character, or one that hides text.
        """
        read_space_name("/name", self.name)


class ListSpaceAccessRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named space."""

    space_id: UUID


class SetSpaceAccessRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a member may do in a named space; `none` takes everything away."""

    space_id: UUID
    profile_id: UUID
    access: Access


class WhyNotRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a member, or one key, does not see what an id names: a space, a text or a relationship. The times are those of a recall."""

    target_id: UUID
    profile_id: UUID | None = None
    credential_id: UUID | None = None
    valid_at: str | None = None
    known_at: str | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: neither a member nor a key, or both; a time is wrong.
        """
        if (self.profile_id is None) == (self.credential_id is None):
            raise invalid("/profile_id", "expected either profile_id or credential_id")
        self.view().view()

    def view(self) -> RecallRequest:
        """A recall at the times asked for."""
        return RecallRequest(query="-", valid_at=self.valid_at, known_at=self.known_at)


class ChangeMemberRoleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most that a member's keys may do."""

    profile_id: UUID
    role: Role
