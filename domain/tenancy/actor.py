"""Who asks now: the team, profile and credential, and the spaces that one request may read and write."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.errors import Forbidden, NotVisible, invalid
from commonlore.domain.limits.policy import UNSET, Limits

Scope = Literal["read", "write", "admin", "destroy"]
SpaceKind = Literal["team_shared", "profile_private", "credential_private"]
PublicSpaceKind = Literal["private", "team_shared"]
MemoryBinding = Literal["shared_only", "profile_private", "credential_private"]
UnclaimedEvidence = Literal["eligible", "withheld"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Space:
    """A place where rows live. Its id and epoch never leave the service; `public_kind` does.

    `has_content` is false as long as nothing was ever written here; `can_write` is false where the caller was granted reading only.
    """

    space_id: UUID
    kind: SpaceKind
    name: str | None = None
    has_content: bool = True
    can_write: bool = True

    @property
    def public_kind(self) -> PublicSpaceKind:
        return "team_shared" if self.kind == "team_shared" else "private"

    @property
    def order(self) -> tuple[int, str, str]:
        """Private, then the team's shared space, then named spaces by name; id at last (decisions.md 2)."""
        return (0 if self.kind != "team_shared" else 1 if self.name is None else 2, self.name or "", str(self.space_id))


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated caller. `spaces` are those it may read, in `Space.order`.

    `keeps_feedback`: whether the team keeps what its recalls show, by id, so that feedback on them can be taken.
    """

    team_id: UUID
    profile_id: UUID
    credential_id: UUID
    scopes: frozenset[Scope]
    spaces: tuple[Space, ...]
    unclaimed_evidence: UnclaimedEvidence = "eligible"
    keeps_feedback: bool = False
    limits: Limits = UNSET

    @property
    def spaces_to_read(self) -> tuple[Space, ...]:
        """The spaces that a recall asks: the team's shared one, whose state it reports, and every other that holds anything."""
        return tuple(space for space in self.spaces if space.has_content or (space.kind == "team_shared" and space.name is None))

    def only(self, names: Sequence[str]) -> Actor:
        """The same caller for whom there are no other spaces than these: `private`, `team_shared`, or named ones.

        Raises:
            Incorrect, NotVisible: as `target`; the pointer is of the field `spaces`.
        """
        wanted = {self._read(name, f"/spaces/{place}") for place, name in enumerate(names)}
        return replace(self, spaces=tuple(space for space in self.spaces if space in wanted))

    def _read(self, text: str, pointer: str) -> Space:
        for kind in get_args(PublicSpaceKind):
            if text == kind:
                return self._unnamed(kind, pointer)
        return self._named(text, pointer)

    def require(self, scope: Scope) -> None:
        """
        Raises:
            Forbidden: `unauthorized_scope`.
        """
        if scope not in self.scopes:
            raise Forbidden("unauthorized_scope", f"this operation needs the scope {scope}", details={"scope": scope})

    def target(self, kind: PublicSpaceKind, name: str | None = None, *, reads: bool = False) -> Space:
        """The space that a call is about: the credential's private one, the team's shared one, or a named one.

        `reads`: it is enough that the caller may read there.

        Raises:
            Incorrect: the credential has no private space, or a name stands beside `private`.
            NotVisible: no named space that this caller may read; one that is not there alike.
            Forbidden: `space_read_only`.
        """
        if name is None:
            return self._unnamed(kind, "/target_space")
        if kind != "team_shared":
            raise invalid("/space", "expected only with the target_space team_shared: a private space has no name")
        space = self._named(name, "/space")
        return space if reads else require_writable(space)

    def _unnamed(self, kind: PublicSpaceKind, pointer: str) -> Space:
        for space in self.spaces:
            if space.public_kind == kind and space.name is None:
                return space
        raise invalid(pointer, "this credential is bound to shared memory only; expected team_shared")

    def _named(self, name: str, pointer: str) -> Space:
        wanted = unicodedata.normalize("NFC", name).strip()
        for space in self.spaces:
            if space.name is not None and space.name == wanted:
                return space
        raise NotVisible("not_found", f"{pointer}: no space of this name is open to this credential")


def require_writable(space: Space) -> Space:
    """The space, if the caller may write there.

    Raises:
        Forbidden: `space_read_only`.
    """
    if not space.can_write:
        raise Forbidden("space_read_only", "this credential may read the space and not write there", details={"space": space.name})
    return space
