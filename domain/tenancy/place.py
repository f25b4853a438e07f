"""How a request says which space it is about."""

from __future__ import annotations

from typing import Annotated, get_args

from msgspec import Meta, Struct

from commonlore.domain.tenancy.actor import PublicSpaceKind

SpaceName = Annotated[str, Meta(min_length=1, max_length=100)]


class InSpace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key's private space, the team's shared one, or with `space` a named one."""

    target_space: PublicSpaceKind = "team_shared"
    space: SpaceName | None = None


def place_fields(text: str) -> dict[str, str]:
    """The fields of a request for `private`, `team_shared` or the name of a named space."""
    return {"target_space": text} if text in get_args(PublicSpaceKind) else {"space": text}
