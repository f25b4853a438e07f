"""What an administrator names, grants and sees: teams, members, keys and spaces, as values and rules.

Nothing here reads a database. Names are compared as they are stored, so they are brought to one form first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.checks import has_visible
from commonlore.domain.errors import Forbidden, NotVisible, invalid
from commonlore.domain.tenancy.actor import SCOPES, Actor, MemoryBinding, PublicSpaceKind, Scope, SpaceKind, UnclaimedEvidence
from commonlore.domain.tenancy.membership import Role
from commonlore.domain.time import INSTANT_FORM, parse_instant, render_instant

ProfileKind = Literal["human", "agent", "system"]
KeyState = Literal["active", "expired", "revoked"]
PROFILE_KINDS: tuple[ProfileKind, ...] = get_args(ProfileKind)
BINDINGS: tuple[MemoryBinding, ...] = get_args(MemoryBinding)
NAME_LIMIT = 100

# Controls, lone surrogates, line and paragraph separators, and formatting marks that reorder or hide text.
_REFUSED = frozenset(("Cc", "Cs", "Cf", "Zl", "Zp"))
_JOINERS = frozenset("\u200c\u200d")  # several scripts and joined emoji need them
_DURATION = re.compile(r"(?P<count>[1-9][0-9]{0,4})(?P<unit>[hd])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}
_EXPIRY_FORM = "expected hours or days such as 12h or 90d (1 to 99999), or an instant: " + INSTANT_FORM.removeprefix("expected ")


@dataclass(frozen=True, slots=True)
class Team:
    team_id: UUID
    name: str
    known_from: datetime
    retired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TeamDescription:
    """An active team as its own administrators see it."""

    team_id: UUID
    name: str
    unclaimed_evidence: UnclaimedEvidence
    known_from: datetime


@dataclass(frozen=True, slots=True)
class Member:
    profile_id: UUID
    name: str
    profile_kind: ProfileKind
    known_from: datetime
    retired_at: datetime | None = None
    role: Role = "member"


@dataclass(frozen=True, slots=True)
class Key:
    """What may be shown of a credential at any time. The secret and its hash are not part of it."""

    credential_id: UUID
    profile_id: UUID
    profile_name: str
    name: str
    prefix: str
    suffix: str
    scopes: tuple[Scope, ...]
    memory_binding: MemoryBinding
    known_from: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def state(self, now: datetime) -> KeyState:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key just made. `text` is the only copy of the secret; `repr` hides it."""

    key: Key
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space as an administrator sees it. `owner` is the name of the member or key that it is private to."""

    space_id: UUID
    kind: SpaceKind
    name: str | None
    owner: str | None
    lifecycle_state: str
    known_from: datetime


def read_name(pointer: str, text: str) -> str:
    """The stored form of a name: NFC, without blanks around it.

    Raises:
        Incorrect: empty, longer than 100 characters, without a visible character, or with a control or formatting mark.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(name) <= NAME_LIMIT or not has_visible(name):
        raise invalid(pointer, f"expected 1 to {NAME_LIMIT} characters, at least one of them visible")
    if any(unicodedata.category(character) in _REFUSED and character not in _JOINERS for character in name):
        raise invalid(pointer, "expected no control, line-break or hidden formatting characters")
    return name


def read_space_name(pointer: str, text: str) -> str:
    """The stored form of the name of a space.

    Raises:
        Incorrect: as `read_name`, or a word that means another space.
    """
    name = read_name(pointer, text)
    if name in get_args(PublicSpaceKind):
        raise invalid(pointer, f"expected another name: {name} means a space that every team has")
    return name


def read_expiry(pointer: str, text: str | None, *, now: datetime) -> datetime | None:
    """When a key ends: `12h`, `90d`, or an RFC 3339 instant after `now`. None is never.

    Raises:
        Incorrect: another form, or an instant that has passed.
    """
    if text is None:
        return None
    if (duration := _DURATION.fullmatch(text)) is not None:
        return now + int(duration["count"]) * _UNITS[duration["unit"]]
    try:
        instant = parse_instant(text)
    except ValueError as error:
        raise invalid(pointer, _EXPIRY_FORM) from error
    if instant <= now:
        raise invalid(pointer, f"expected an instant after {render_instant(now)}")
    return instant


def read_scopes(pointer: str, texts: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes named, each once, in the order of `SCOPES`.

    Raises:
        Incorrect: none, or a word that is no scope.
    """
    asked = set(texts)
    if not asked or not asked <= set(SCOPES):
        raise invalid(pointer, f"expected one or more of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in asked)


def require_grantable(asked: Iterable[Scope], held: frozenset[Scope]) -> None:
    """A caller hands on only what it holds, so that administration never adds a power.

    Raises:
        Forbidden: `unauthorized_scope`, naming the first scope that is missing.
    """
    for scope in SCOPES:
        if scope in asked and scope not in held:
            raise Forbidden("unauthorized_scope", f"a key with the scope {scope} can be made only by a key that has it", details={"scope": scope})


def require_own_space(actor: Actor, profile_id: UUID, binding: MemoryBinding) -> None:
    """A key that opens a member's private space is made by that member, not by another administrator.

    Raises:
        Incorrect: `profile_private` for another member.
    """
    if binding == "profile_private" and profile_id != actor.profile_id:
        raise invalid("/memory_binding", "expected credential_private or shared_only for a key of another member, whose private space is its own")


def require_own_key(actor: Actor, key: Key) -> None:
    """The new text of a key opens what the old one opened, so only its own member gets it, and with no power that it lacks.

    Raises:
        Incorrect: a key of another member.
        Forbidden: `unauthorized_scope`, the key has a scope that the caller lacks.
    """
    if key.profile_id != actor.profile_id:
        raise invalid("/credential_id", "expected a key of your own member; a key of another member can be revoked, and a new one made")
    require_grantable(key.scopes, actor.scopes)


def pick(pointer: str, text: str, candidates: Iterable[tuple[UUID, tuple[str, ...]]]) -> UUID:
    """The one candidate that a person means: by its id, else by one of its names.

    Raises:
        NotVisible: none.
        Incorrect: several have the name; the message lists their ids.
    """
    name = unicodedata.normalize("NFC", text).strip()
    named = []
    for candidate, names in candidates:
        if text.strip().lower() in (str(candidate), candidate.hex):
            return candidate
        if name in names:
            named.append(candidate)
    if not named:
        raise NotVisible("not_found", f"{pointer}: nothing active has this id or name")
    if len(named) > 1:
        raise invalid(pointer, f"{len(named)} have this name; expected one of their ids: {', '.join(map(str, named))}")
    return named[0]
