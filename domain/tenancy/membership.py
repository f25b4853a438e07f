"""What a member may do: its role in the team, and its access to each named space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.tenancy.actor import SCOPES, Scope

Role = Literal["reader", "member", "admin"]
Access = Literal["none", "read", "write"]
ROLES: tuple[Role, ...] = get_args(Role)
ACCESSES: tuple[Access, ...] = get_args(Access)

# The most that a key of a member of this role may do.
ROLE_SCOPES: Mapping[Role, frozenset[Scope]] = MappingProxyType(
    {"reader": frozenset({"read"}), "member": frozenset({"read", "write"}), "admin": frozenset(SCOPES)}
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a member may do in a named space, since when. `granted_by_profile_id` is None for whoever holds the database."""

    profile_id: UUID
    name: str
    access: Access
    known_from: datetime | None
    granted_by_profile_id: UUID | None = None


def least_role(scopes: Iterable[Scope]) -> Role:
    """The first role, in the order of `ROLES`, whose keys may have all of these scopes."""
    asked = frozenset(scopes)
    return next(role for role in ROLES if asked <= ROLE_SCOPES[role])


def higher(one: Role, other: Role) -> Role:
    """The one of two roles that may more."""
    return max(one, other, key=ROLES.index)
