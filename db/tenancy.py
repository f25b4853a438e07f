"""Teams, members, keys and spaces in the database.

Each function runs inside a `TeamTransaction`, so the owner and the serving role are bound by the same policies: an id of
another team and an id of nothing give the same answer. Who may call is the caller's matter (`Actor.require("admin")`).
`owner_pool` is how the command line acts; only it may create, list and retire teams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from psycopg.conninfo import make_conninfo

from commonlore.db.departure import lock_shared_ledgers, settle_departure
from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction, make_pool
from commonlore.db.sql import statements
from commonlore.domain.errors import Conflict, Fault, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import MemoryBinding, Scope, UnclaimedEvidence
from commonlore.domain.tenancy.administration import IssuedKey, Key, Member, ProfileKind, SpaceEntry, Team, TeamDescription
from commonlore.domain.tenancy.key import MintedKey, mint
from commonlore.domain.tenancy.membership import ROLE_SCOPES, Role, higher, least_role
from commonlore.domain.tenancy.paging import Page

T = TypeVar("T")

_SQL = statements("tenancy")
_CONTRACT = statements("contract")
_PROJECTION = statements("projection")
_SPACE = statements("space")
_BEFORE_ALL = UUID(int=0)
_RELATIONSHIP_FORMAT = 2  # of the text that a relationship is searched by


def owner_pool(conninfo: str, *, size: int = 1) -> Pool:
    """A closed pool whose connections act as `commonlore_owner`. `conninfo`: the migrator's or an administrator's.

    The owner is bound by every policy; besides, it may list the teams.
    """
    return make_pool(make_conninfo(conninfo, options="-c role=commonlore_owner"), size=size, name="owner", vectors=False)


async def _one(transaction: TeamTransaction, statement: str, **parameters: object) -> dict[str, Any] | None:
    cursor = await transaction.connection.execute(_SQL[statement], {"team_id": transaction.team_id, **parameters})
    return await cursor.fetchone()


async def _all(transaction: TeamTransaction, statement: str, **parameters: object) -> list[dict[str, Any]]:
    cursor = await transaction.connection.execute(_SQL[statement], {"team_id": transaction.team_id, **parameters})
    return await cursor.fetchall()


async def _do(transaction: TeamTransaction, statement: str, **parameters: object) -> None:
    await transaction.connection.execute(_SQL[statement], {"team_id": transaction.team_id, **parameters})


async def _page(
    transaction: TeamTransaction, statement: str, make: Callable[[dict[str, Any]], T], *, id_column: str, after: UUID | None, limit: int
) -> Page[T]:
    """One row more than the page is read, so that a last page says that it is the last."""
    rows = await _all(transaction, statement, after=after or _BEFORE_ALL, limit=limit + 1)
    last_id = rows[limit - 1][id_column] if len(rows) > limit else None
    return Page([make(row) for row in rows[:limit]], last_id)


def _found(row: dict[str, Any] | None, what: str) -> dict[str, Any]:
    if row is None:
        raise NotVisible("not_found", f"no active {what} of this team has this id")
    return row


# -- teams


async def create_team(transaction: TeamTransaction, *, name: str, now: datetime) -> Team:
    """A team with its shared space and its first projection generation. The transaction's team id is a new one.

    Raises:
        Fault: no embedding contract is served, so the team could not be searched.
    """
    transaction.noted.add("team", transaction.team_id)
    await _do(transaction, "add_team", name=name, now=now)
    await _add_space(transaction, "team_shared", now=now)
    await transaction.execute(_CONTRACT["share_contracts"])
    if await _one(transaction, "add_generation", format_version=_RELATIONSHIP_FORMAT, now=now) is None:
        raise Fault("internal_failure", "no embedding contract is served")
    await transaction.execute(_PROJECTION["add_empty_generation"], format_version=_RELATIONSHIP_FORMAT, now=now)
    return Team(transaction.team_id, name, now)


async def list_teams(pool: Pool) -> list[Team]:
    """Every team, by name, then id. Needs the owner's pool: another role sees none."""
    with stating():
        async with pool.connection() as connection:
            cursor = await connection.execute(_SQL["list_teams"])
            return [Team(**row) for row in await cursor.fetchall()]


async def retire_team(transaction: TeamTransaction, *, now: datetime) -> Team:
    """End a team: from now on none of its keys is valid. Its rows stay.

    Raises:
        NotVisible: no such team, or retired already.
    """
    row = await _one(transaction, "retire_team", now=now)
    if row is None:
        raise _no_team()
    return Team(**row)


async def describe_team(transaction: TeamTransaction) -> TeamDescription:
    """
    Raises:
        NotVisible: the team is retired or does not exist.
    """
    row = await _one(transaction, "describe_team")
    if row is None:
        raise _no_team()
    return TeamDescription(**row)


async def set_unclaimed_evidence(transaction: TeamTransaction, value: UnclaimedEvidence) -> TeamDescription:
    """Whether evidence from which nothing was claimed may be recalled; counts from the next recall on.

    Raises:
        NotVisible: the team is retired or does not exist.
    """
    row = await _one(transaction, "set_unclaimed_evidence", unclaimed_evidence=value)
    if row is None:
        raise _no_team()
    return TeamDescription(**row)


async def require_team(transaction: TeamTransaction) -> None:
    """
    Raises:
        NotVisible: the team is retired or does not exist.
    """
    if await _one(transaction, "read_active_team") is None:
        raise _no_team()


def _no_team() -> NotVisible:
    return NotVisible("not_found", "no active team has this id")


# -- members


async def add_member(transaction: TeamTransaction, *, name: str, profile_kind: ProfileKind, now: datetime, role: Role = "member") -> Member:
    """
    Raises:
        Conflict: `name_taken`; the name of a retired member stays taken.
        NotVisible: the team is retired or does not exist.
    """
    await require_team(transaction)
    member = Member(new_id(), name, profile_kind, now, role=role)
    transaction.noted.add("profile", member.profile_id)
    with stating():
        await _do(transaction, "add_member", profile_id=member.profile_id, name=name, profile_kind=profile_kind, role=role, now=now)
    return member


async def list_members(transaction: TeamTransaction) -> list[Member]:
    """By name; retired ones too.

    Raises:
        NotVisible: the team is retired or does not exist.
    """
    await require_team(transaction)
    return [Member(**row) for row in await _all(transaction, "list_members")]


async def page_members(transaction: TeamTransaction, *, after: UUID | None, limit: int) -> Page[Member]:
    """Members made after the one with the id `after`, in the order of making; retired ones too."""
    return await _page(transaction, "page_members", lambda row: Member(**row), id_column="profile_id", after=after, limit=limit)


async def lock_member(transaction: TeamTransaction, profile_id: UUID) -> Member:
    """An active member, who stays active until the transaction ends.

    Raises:
        NotVisible: no active member of this team.
    """
    return Member(**_found(await _one(transaction, "lock_active_member", profile_id=profile_id), "member"))


async def retire_member(transaction: TeamTransaction, profile_id: UUID, *, now: datetime, actor_profile_id: UUID | None = None) -> Member:
    """Retire a member, revoke its keys, end its grants and take it out of the conflicts that it is part of. What it wrote stays.

    Raises:
        NotVisible: no active member of this team.
        Conflict: `last_admin`.
    """
    now = await lock_shared_ledgers(transaction, now)
    await lock_member(transaction, profile_id)
    admins = await _all(transaction, "lock_admin_keys", now=now)
    _require_admin_left(admins, [row["credential_id"] for row in admins if row["profile_id"] == profile_id])
    transaction.noted.add("profile", profile_id)
    row = _found(await _one(transaction, "retire_member", profile_id=profile_id, now=now), "member")
    await _do(transaction, "revoke_keys_of_member", profile_id=profile_id, now=now)
    await transaction.execute(_SPACE["end_grants_of_member"], profile_id=profile_id, actor_profile_id=actor_profile_id, now=now)
    await settle_departure(transaction, profile_id, actor_profile_id=actor_profile_id, now=now)
    return Member(**row)


async def change_role(transaction: TeamTransaction, profile_id: UUID, role: Role, *, now: datetime) -> Member:
    """Set the most that a member's keys may do. What they may beyond it is taken from them for good, and a key left without a scope is revoked.

    Raises:
        NotVisible: no active member of this team.
        Conflict: `last_admin`.
    """
    await lock_member(transaction, profile_id)
    transaction.noted.add("profile", profile_id)
    if "admin" not in ROLE_SCOPES[role]:
        admins = await _all(transaction, "lock_admin_keys", now=now)
        _require_admin_left(admins, [row["credential_id"] for row in admins if row["profile_id"] == profile_id])
    await _do(transaction, "narrow_keys_of_member", profile_id=profile_id, scopes=sorted(ROLE_SCOPES[role]), now=now)
    return Member(**_found(await _one(transaction, "set_role", profile_id=profile_id, role=role), "member"))


def _require_admin_left(admins: list[dict[str, Any]], removed: Iterable[UUID]) -> None:
    ids = {row["credential_id"] for row in admins}
    if ids.intersection(removed) and not ids.difference(removed):
        raise Conflict("last_admin", "this would remove the team's last active admin key")


# -- keys


async def mint_key(
    transaction: TeamTransaction,
    profile_id: UUID,
    *,
    name: str,
    scopes: tuple[Scope, ...],
    memory_binding: MemoryBinding,
    expires_at: datetime | None,
    now: datetime,
) -> IssuedKey:
    """A new credential of a member, and the private space its binding needs. A member has one private space, however many keys.

    A key that may more than the member's role says raises the role.

    Raises:
        NotVisible: no active member of this team, or the team is retired.
    """
    await require_team(transaction)
    member = await lock_member(transaction, profile_id)
    if (role := higher(member.role, least_role(scopes))) != member.role:
        await _do(transaction, "set_role", profile_id=profile_id, role=role)
    minted, credential_id = mint(transaction.team_id), new_id()
    transaction.noted.add("credential", credential_id)
    await _do(
        transaction,
        "add_key",
        credential_id=credential_id,
        profile_id=profile_id,
        name=name,
        scopes=list(scopes),
        memory_binding=memory_binding,
        expires_at=expires_at,
        now=now,
        **_stored(minted),
    )
    if memory_binding == "credential_private":
        await _add_space(transaction, memory_binding, now=now, owner_credential_id=credential_id)
    elif memory_binding == "profile_private":
        await _add_space(transaction, memory_binding, now=now, owner_profile_id=profile_id)
    return IssuedKey(await read_key(transaction, credential_id), minted.text)


async def list_keys(transaction: TeamTransaction) -> list[Key]:
    """By member, then name, then id; revoked and expired ones too.

    Raises:
        NotVisible: the team is retired or does not exist.
    """
    await require_team(transaction)
    return [_key(row) for row in await _all(transaction, "list_keys", credential_id=None)]


async def page_keys(transaction: TeamTransaction, *, after: UUID | None, limit: int) -> Page[Key]:
    """Keys made after the one with the id `after`, in the order of making; revoked and expired ones too."""
    return await _page(transaction, "page_keys", _key, id_column="credential_id", after=after, limit=limit)


async def read_key(transaction: TeamTransaction, credential_id: UUID) -> Key:
    """
    Raises:
        NotVisible: no key of this team.
    """
    return _key(_found(await _one(transaction, "list_keys", credential_id=credential_id), "key"))


async def rotate_key(transaction: TeamTransaction, credential_id: UUID, *, now: datetime, expires_at: datetime | None = None) -> IssuedKey:
    """A new text for the same credential: its id, space, scopes and history stay; the old text is invalid at once.

    `expires_at` None keeps the end it had, which must not have passed.

    Raises:
        NotVisible: no key of this team that could be used.
    """
    await require_team(transaction)
    current = await read_key(transaction, credential_id)
    if expires_at is None and current.state(now) != "active":
        raise NotVisible("not_found", "no active key of this team has this id")
    minted = mint(transaction.team_id)
    transaction.noted.add("credential", credential_id)
    _found(await _one(transaction, "rotate_key", credential_id=credential_id, expires_at=expires_at, **_stored(minted)), "key")
    return IssuedKey(await read_key(transaction, credential_id), minted.text)


async def revoke_key(transaction: TeamTransaction, credential_id: UUID, *, now: datetime) -> Key:
    """End a key at once: authentication reads the row in each request's own transaction.

    Raises:
        NotVisible: no key of this team, or revoked already.
        Conflict: `last_admin`.
    """
    await require_team(transaction)
    _require_admin_left(await _all(transaction, "lock_admin_keys", now=now), [credential_id])
    transaction.noted.add("credential", credential_id)
    _found(await _one(transaction, "revoke_key", credential_id=credential_id, now=now), "key")
    return await read_key(transaction, credential_id)


def _stored(minted: MintedKey) -> dict[str, object]:
    return {"prefix": minted.prefix, "suffix": minted.suffix, "secret_sha256": minted.secret_sha256}


def _key(row: dict[str, Any]) -> Key:
    return Key(**{**row, "scopes": tuple(row["scopes"])})


# -- spaces


async def _add_space(
    transaction: TeamTransaction, kind: str, *, now: datetime, owner_profile_id: UUID | None = None, owner_credential_id: UUID | None = None
) -> None:
    await _do(
        transaction,
        "add_space",
        space_id=new_id(),
        space_kind=kind,
        owner_profile_id=owner_profile_id,
        owner_credential_id=owner_credential_id,
        now=now,
    )


async def list_spaces(transaction: TeamTransaction) -> list[SpaceEntry]:
    """The shared space, named ones by name, then private ones by the name of their owner.

    Raises:
        NotVisible: the team is retired or does not exist.
    """
    await require_team(transaction)
    return [space_entry(row) for row in await _all(transaction, "list_spaces")]


async def page_spaces(transaction: TeamTransaction, *, after: UUID | None, limit: int) -> Page[SpaceEntry]:
    """Spaces made after the one with the id `after`, in the order of making."""
    return await _page(transaction, "page_spaces", space_entry, id_column="space_id", after=after, limit=limit)


def space_entry(row: dict[str, Any]) -> SpaceEntry:
    return SpaceEntry(kind=row["space_kind"], **{name: value for name, value in row.items() if name != "space_kind"})
