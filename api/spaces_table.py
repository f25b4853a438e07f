"""The operations on named spaces and memberships, as rows of the administrators' table, with what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol, TypedDict

from msgspec import Meta, Struct

from commonlore.api.fields import Id
from commonlore.domain.tenancy.actor import PublicSpaceKind, SpaceKind
from commonlore.domain.tenancy.administration import ProfileKind
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.membership import Access, Role
from commonlore.domain.tenancy.space_requests import (
    ChangeMemberRoleRequest,
    CreateSpaceRequest,
    ListSpaceAccessRequest,
    RenameSpaceRequest,
    SetSpaceAccessRequest,
    WhyNotRequest,
)
from commonlore.domain.tenancy.why_not import Reason, TargetKind

Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class MemberEntry(TypedDict):
    """A person or an agent of the team. `role`: the most that its keys may do."""

    profile_id: Id
    name: str
    profile_kind: ProfileKind
    role: Role
    known_from: Instant
    retired_at: Instant | None


class AdminSpace(TypedDict):
    """A space of the team. `owner` is the name of the member or key that it is private to."""

    space_id: Id
    kind: SpaceKind
    name: str | None
    owner: str | None
    lifecycle_state: str
    known_from: Instant


class GrantEntry(TypedDict):
    """What a member may do in a named space. `granted_by_profile_id` is null where the operator granted it."""

    profile_id: Id
    name: str
    access: Access
    known_from: Instant | None
    granted_by_profile_id: Id | None


class SpaceAccess(TypedDict):
    """Members who may read or write in a named space, by name."""

    space: AdminSpace
    members: list[GrantEntry]


class ReasonEntry(TypedDict):
    """One reason, by its code of the closed list."""

    reason: Reason
    message: str


class WhyNotAnswer(TypedDict):
    """What stands between somebody and something. Without a reason it is seen by a recall whose query finds it.

    `target_kind` and `space_kind` are null where no open space of the team has the id.
    """

    profile_id: Id
    name: str
    credential_id: Id | None
    target_id: Id
    target_kind: TargetKind | None
    space_kind: PublicSpaceKind | None
    space: str | None
    visible: bool
    reasons: list[ReasonEntry]


class SpaceOperations(Protocol):
    """Each call opens its own transaction, authenticates `key` in it and requires the scope `admin`.

    Raises:
        CommonloreError
    """

    async def create_space(self, key: PresentedKey, request: CreateSpaceRequest, *, correlation_id: str) -> AdminSpace: ...

    async def rename_space(self, key: PresentedKey, request: RenameSpaceRequest, *, correlation_id: str) -> AdminSpace: ...

    async def list_space_access(self, key: PresentedKey, request: ListSpaceAccessRequest, *, correlation_id: str) -> SpaceAccess: ...

    async def set_space_access(self, key: PresentedKey, request: SetSpaceAccessRequest, *, correlation_id: str) -> GrantEntry: ...

    async def change_member_role(self, key: PresentedKey, request: ChangeMemberRoleRequest, *, correlation_id: str) -> MemberEntry: ...

    async def why_not(self, key: PresentedKey, request: WhyNotRequest, *, correlation_id: str) -> WhyNotAnswer: ...


_ID, _OTHER = "01982f00-0000-7000-8000-000000000001", "01982f00-0000-7000-8000-000000000002"

SPACES: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "create_space",
        "Create a named space",
        "A shared space beside the team's own. The caller's member may write there; every other member is granted it.",
        CreateSpaceRequest,
        AdminSpace,
        {"name": "handbook"},
    ),
    (
        "rename_space",
        "Rename a space",
        "Grants and contents stay.",
        RenameSpaceRequest,
        AdminSpace,
        {"space_id": _ID, "name": "handbook"},
    ),
    (
        "list_space_access",
        "List who may do what in a space",
        "Members with a grant, by name. A grant counts for every key of the member, as far as the scopes of the key go.",
        ListSpaceAccessRequest,
        SpaceAccess,
        {"space_id": _ID},
    ),
    (
        "set_space_access",
        "Grant a space to a member, or take it away",
        "`read` lets the member's keys recall from the space, `write` store there as well, `none` neither. Counts from the next request on.",
        SetSpaceAccessRequest,
        GrantEntry,
        {"space_id": _ID, "profile_id": _OTHER, "access": "read"},
    ),
    (
        "change_member_role",
        "Change the role of a member",
        "`reader` keys read, those of a `member` write as well, those of an `admin` may everything. What keys may beyond it is taken from them for good.",
        ChangeMemberRoleRequest,
        MemberEntry,
        {"profile_id": _ID, "role": "reader"},
    ),
    (
        "why_not",
        "Say why somebody does not see something",
        "Reasons in the order in which a recall meets them, for a member or one key. Nothing of what it says is told, and of a private space nothing.",
        WhyNotRequest,
        WhyNotAnswer,
        {"profile_id": _ID, "target_id": _OTHER},
    ),
)
