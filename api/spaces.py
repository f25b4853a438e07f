"""Named spaces and memberships by an administrator's key."""

from __future__ import annotations

from commonlore.api.admitting import Admitting
from commonlore.api.spaces_table import AdminSpace, GrantEntry, MemberEntry, SpaceAccess, WhyNotAnswer
from commonlore.db import spaces, tenancy
from commonlore.db.why_not import why_not
from commonlore.domain.tenancy.administration import Member, SpaceEntry, read_space_name
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.membership import Grant
from commonlore.domain.tenancy.space_requests import (
    ChangeMemberRoleRequest,
    CreateSpaceRequest,
    ListSpaceAccessRequest,
    RenameSpaceRequest,
    SetSpaceAccessRequest,
    WhyNotRequest,
)
from commonlore.domain.tenancy.why_not import MESSAGES, WhyNot
from commonlore.domain.time import render_if_any, render_instant


class SpaceAdministration(Admitting):
    """`SpaceOperations`."""

    __slots__ = ()

    async def create_space(self, key: PresentedKey, request: CreateSpaceRequest, *, correlation_id: str) -> AdminSpace:
        async with self._admitted(key) as (actor, transaction, now):
            name = read_space_name("/name", request.name)
            return space_entry(await spaces.create_space(transaction, name=name, writer_profile_id=actor.profile_id, now=now))

    async def rename_space(self, key: PresentedKey, request: RenameSpaceRequest, *, correlation_id: str) -> AdminSpace:
        async with self._admitted(key) as (_, transaction, _):
            return space_entry(await spaces.rename_space(transaction, request.space_id, name=read_space_name("/name", request.name)))

    async def list_space_access(self, key: PresentedKey, request: ListSpaceAccessRequest, *, correlation_id: str) -> SpaceAccess:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            space, members = await spaces.list_access(transaction, request.space_id)
        return {"space": space_entry(space), "members": [_grant(item) for item in members]}

    async def set_space_access(self, key: PresentedKey, request: SetSpaceAccessRequest, *, correlation_id: str) -> GrantEntry:
        async with self._admitted(key) as (actor, transaction, now):
            return _grant(
                await spaces.set_access(transaction, request.space_id, request.profile_id, request.access, actor_profile_id=actor.profile_id, now=now)
            )

    async def change_member_role(self, key: PresentedKey, request: ChangeMemberRoleRequest, *, correlation_id: str) -> MemberEntry:
        async with self._admitted(key) as (_, transaction, now):
            return member_entry(await tenancy.change_role(transaction, request.profile_id, request.role, now=now))

    async def why_not(self, key: PresentedKey, request: WhyNotRequest, *, correlation_id: str) -> WhyNotAnswer:
        async with self._admitted(key, reads=True) as (_, transaction, now):
            found = await why_not(
                transaction,
                profile_id=request.profile_id,
                credential_id=request.credential_id,
                target_id=request.target_id,
                view=request.view(),
                now=now,
            )
        return why_not_answer(found)


def why_not_answer(found: WhyNot) -> WhyNotAnswer:
    return {
        "profile_id": str(found.subject.profile_id),
        "name": found.subject.name,
        "credential_id": None if found.subject.credential_id is None else str(found.subject.credential_id),
        "target_id": str(found.target_id),
        "target_kind": found.target_kind,
        "space_kind": found.space_kind,
        "space": found.space,
        "visible": not found.reasons,
        "reasons": [{"reason": reason, "message": MESSAGES[reason]} for reason in found.reasons],
    }


def member_entry(member: Member) -> MemberEntry:
    return {
        "profile_id": str(member.profile_id),
        "name": member.name,
        "profile_kind": member.profile_kind,
        "role": member.role,
        "known_from": render_instant(member.known_from),
        "retired_at": render_if_any(member.retired_at),
    }


def space_entry(space: SpaceEntry) -> AdminSpace:
    return {
        "space_id": str(space.space_id),
        "kind": space.kind,
        "name": space.name,
        "owner": space.owner,
        "lifecycle_state": space.lifecycle_state,
        "known_from": render_instant(space.known_from),
    }


def _grant(grant: Grant) -> GrantEntry:
    return {
        "profile_id": str(grant.profile_id),
        "name": grant.name,
        "access": grant.access,
        "known_from": render_if_any(grant.known_from),
        "granted_by_profile_id": None if grant.granted_by_profile_id is None else str(grant.granted_by_profile_id),
    }
