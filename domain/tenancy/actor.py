"""Who asks now: the team, profile and credential, and the spaces that one request may read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.errors import Forbidden, Incorrect, invalid

Scope = Literal["read", "write", "admin", "destroy"]
SpaceKind = Literal["team_shared", "profile_private", "credential_private"]
PublicSpaceKind = Literal["private", "team_shared"]
MemoryBinding = Literal["shared_only", "profile_private", "credential_private"]
UnclaimedEvidence = Literal["eligible", "withheld"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Space:
    """A place where rows live. Its id and epoch never leave the service; `public_kind` does.

    `has_content` is false as long as nothing was ever written here.
    """

    space_id: UUID
    kind: SpaceKind
    name: str | None = None
    has_content: bool = True

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

    @property
    def spaces_to_read(self) -> tuple[Space, ...]:
        """The spaces that a recall asks: the team's shared one, whose state it reports, and every other that holds anything."""
        return tuple(space for space in self.spaces if space.has_content or (space.kind == "team_shared" and space.name is None))

    def require(self, scope: Scope) -> None:
        """
        Raises:
            Forbidden: `unauthorized_scope`.
        """
        if scope not in self.scopes:
            raise Forbidden("unauthorized_scope", f"this operation needs the scope {scope}", details={"scope": scope})

    def target(self, kind: PublicSpaceKind) -> Space:
        """The space a write goes to: the credential's private one or the team's shared one.

        Raises:
            Incorrect: the credential has no private space.
        """
        for space in self.spaces:
            if space.public_kind == kind and space.name is None:
                return space
        raise _no_private_space()


def _no_private_space() -> Incorrect:
    return invalid("/target_space", "this credential is bound to shared memory only; expected team_shared")
