"""What an administrator's key may ask. The team is that of the key, so no request names one."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct, field

from commonlore.domain.tenancy.actor import MemoryBinding, Scope, UnclaimedEvidence
from commonlore.domain.tenancy.administration import NAME_LIMIT, ProfileKind, read_name
from commonlore.domain.tenancy.membership import Role

Name = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
Expiry = Annotated[str, Meta(min_length=2, max_length=64, description="Hours or days such as 12h or 90d, or an RFC 3339 instant to come.")]


class ListRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of a list, in the order in which its entries were made. `cursor` is the `next_cursor` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class AddMemberRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person or an agent of the team. `role`: the most that its keys may do; a key that may more raises it."""

    name: Name
    profile_kind: ProfileKind = "human"
    role: Role = "member"

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the name has no visible character, or one that hides text.
        """
        read_name("/name", self.name)


class RetireMemberRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A member that ends."""

    profile_id: UUID


class CreateKeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of a member. `memory_binding` says whose private space it has; without `expires` it does not end."""

    profile_id: UUID
    name: Name = "key"
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4, description="Without it read and write.")] = field(
        default_factory=lambda: ["read", "write"]
    )
    memory_binding: MemoryBinding = "credential_private"
    expires: Expiry | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: the name has no visible character, or one that hides text.
        """
        read_name("/name", self.name)


class RotateKeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that gets a new text. Without `expires` it keeps its end."""

    credential_id: UUID
    expires: Expiry | None = None


class RevokeKeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that ends."""

    credential_id: UUID


class DescribeTeamRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key's own team; an empty object."""


class UpdateTeamRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`withheld` keeps evidence out of recalls until a relationship that it supports is active."""

    unclaimed_evidence: UnclaimedEvidence
