"""Why a member or a key cannot see something: reasons in the order in which a recall meets them.

The first is about who asks, then comes where the thing lies, then how it stands. Nothing of what it says is part of a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.recall.reasons import Exclusion, RelationshipExclusion
from commonlore.domain.tenancy.actor import PublicSpaceKind, Space
from commonlore.domain.tenancy.administration import Key

TargetKind = Literal["space", "evidence", "relationship"]
WhoReason = Literal["member_retired", "no_key", "key_revoked", "key_expired", "scope_missing"]
WhereReason = Literal["not_in_team", "space_deleted", "private_space", "no_grant"]
Reason = WhoReason | WhereReason | Exclusion | RelationshipExclusion

WHO_AND_WHERE: Mapping[str, str] = MappingProxyType(
    {
        "member_retired": "the member is retired; none of its keys is valid",
        "no_key": "the member has no key that is valid and may read",
        "key_revoked": "the key is revoked",
        "key_expired": "the key has expired",
        "scope_missing": "the key lacks the scope read",
        "not_in_team": "no open space of this team holds anything of this id; what lies in a deleted space is not looked at",
        "space_deleted": "the space is not active any more",
        "private_space": "it lies in a private space that is not this one's; nothing of it is told",
        "no_grant": "the member is not granted the named space",
    }
)
HOW_IT_STANDS: Mapping[str, str] = MappingProxyType(
    {
        "owner_inactive": "the member who wrote it is retired",
        "not_yet_known": "it became known only after the time of the view",
        "superseded": "something newer took its place",
        "retracted": "it was taken back",
        "erased": "it was erased",
        "quarantined": "it is in quarantine",
        "source_revised": "its source has a newer revision",
        "unsupported": "nothing that was claimed from it, or that supports it, counts in the view",
        "unclaimed": "nothing was claimed from it, and the team withholds such texts",
        "merged": "another relationship stands for it since two entities were merged",
        "corrected": "its author corrected it",
        "suppressed": "a decided conflict prefers another statement",
        "pending_evidence": "the text that it cites does not carry it yet",
        "needs_review": "it waits for a review",
        "disputed": "it is disputed",
        "rejected": "it was rejected",
        "not_yet_valid": "it holds only after the time of the view",
        "no_longer_valid": "it held only before the time of the view",
    }
)
MESSAGES: Mapping[str, str] = MappingProxyType({**WHO_AND_WHERE, **HOW_IT_STANDS})
assert set(MESSAGES) == {*get_args(WhoReason), *get_args(WhereReason), *get_args(Exclusion), *get_args(RelationshipExclusion)}


@dataclass(frozen=True, slots=True)
class Subject:
    """Who does not see it: a member by all its keys, or one key. `keys` are those that count."""

    profile_id: UUID
    name: str
    is_retired: bool
    keys: tuple[Key, ...]
    credential_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class SpaceSeen:
    """A space of the team, with what the subject may do there."""

    space: Space
    lifecycle_state: str
    owner_profile_id: UUID | None
    owner_credential_id: UUID | None
    access: str | None


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What stands between the subject and the target; no reason means that it is seen, if a query finds it."""

    subject: Subject
    target_id: UUID
    target_kind: TargetKind | None
    space_kind: PublicSpaceKind | None
    space: str | None
    reasons: tuple[Reason, ...]


def about_who(subject: Subject, now: datetime) -> list[Reason]:
    """What is wrong with the member or its key."""
    found: list[Reason] = ["member_retired"] if subject.is_retired else []
    if subject.credential_id is None:
        usable = any(key.state(now) == "active" and "read" in key.scopes for key in subject.keys)
        return found if usable or found else ["no_key"]
    [key] = subject.keys
    state = key.state(now)
    if state == "revoked":
        found.append("key_revoked")
    elif state == "expired":
        found.append("key_expired")
    if "read" not in key.scopes:
        found.append("scope_missing")
    return found


def about_where(subject: Subject, seen: SpaceSeen) -> list[Reason]:
    """What is wrong with the space, for this member or key."""
    found: list[Reason] = []
    if seen.lifecycle_state != "active":
        found.append("space_deleted")
    if seen.space.kind != "team_shared":
        if not any(_is_bound(key, seen) for key in subject.keys):
            found.append("private_space")
    elif seen.space.name is not None and seen.access is None:
        found.append("no_grant")
    return found


def _is_bound(key: Key, seen: SpaceSeen) -> bool:
    if key.memory_binding == "profile_private":
        return seen.owner_profile_id == key.profile_id
    return key.memory_binding == "credential_private" and seen.owner_credential_id == key.credential_id


def tells_more(reasons: Sequence[Reason]) -> bool:
    """Whether it may be said how the thing stands: not of another one's private space, and not where there is nothing."""
    return not {"private_space", "not_in_team", "space_deleted"}.intersection(reasons)
