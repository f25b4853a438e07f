"""Named spaces of a team and what each member may do there, inside a `TeamTransaction`.

A grant counts for every key of the member, as far as the scopes of the key go. Authentication reads it in the transaction
of each request, so what is taken away is gone for the next one. Who may call is the caller's matter.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from commonlore.db.errors import stating
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.tenancy import lock_member, space_entry
from commonlore.domain.errors import NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.administration import SpaceEntry
from commonlore.domain.tenancy.membership import Access, Grant

_SQL = statements("space")


async def create_space(transaction: TeamTransaction, *, name: str, writer_profile_id: UUID | None, now: datetime) -> SpaceEntry:
    """A named space, which nobody but its writer may read as long as nobody else is granted it.

    Raises:
        Conflict: `name_taken`.
    """
    space_id = new_id()
    transaction.noted.add("space", space_id)
    with stating():
        await transaction.execute(_SQL["add_named_space"], space_id=space_id, name=name, now=now)
    if writer_profile_id is not None:
        await set_access(transaction, space_id, writer_profile_id, "write", actor_profile_id=writer_profile_id, now=now)
    return await read_space(transaction, space_id)


async def rename_space(transaction: TeamTransaction, space_id: UUID, *, name: str) -> SpaceEntry:
    """The grants and what lies there stay; recalls and results say the new name from the next one on.

    Raises:
        NotVisible: no active named space of this team.
        Conflict: `name_taken`.
    """
    transaction.noted.add("space", space_id)
    with stating():
        row = await (await transaction.execute(_SQL["rename_space"], space_id=space_id, name=name)).fetchone()
    if row is None:
        raise _absent()
    return await read_space(transaction, space_id)


async def read_space(transaction: TeamTransaction, space_id: UUID) -> SpaceEntry:
    """
    Raises:
        NotVisible: no space of this team.
    """
    row = await (await transaction.execute(_SQL["read_space"], space_id=space_id)).fetchone()
    if row is None:
        raise _absent()
    return space_entry(row)


async def set_access(
    transaction: TeamTransaction, space_id: UUID, profile_id: UUID, access: Access, *, actor_profile_id: UUID | None, now: datetime
) -> Grant:
    """What a member may do in a named space from now on. The same again changes nothing.

    Raises:
        NotVisible: no active named space, or no active member of this team.
    """
    await _lock(transaction, space_id)
    transaction.noted.add("space", space_id)
    transaction.noted.add("profile", profile_id)
    member = await lock_member(transaction, profile_id)
    place: dict[str, object] = {"space_id": space_id, "profile_id": profile_id, "actor_profile_id": actor_profile_id, "now": now}
    await transaction.execute(_SQL["end_grant"], access=access, **place)
    if access != "none":
        await transaction.execute(_SQL["add_grant"], grant_id=new_id(), access=access, **place)
    found = await _grants(transaction, space_id, profile_id)
    return found[0] if found else Grant(profile_id, member.name, "none", None)


async def list_access(transaction: TeamTransaction, space_id: UUID) -> tuple[SpaceEntry, list[Grant]]:
    """A named space, and who may do what there, by name.

    Raises:
        NotVisible: no named space of this team.
    """
    space = await read_space(transaction, space_id)
    if space.name is None:
        raise _absent()
    return space, await _grants(transaction, space_id, None)


async def _grants(transaction: TeamTransaction, space_id: UUID, profile_id: UUID | None) -> list[Grant]:
    rows = await (await transaction.execute(_SQL["list_grants"], space_id=space_id, profile_id=profile_id)).fetchall()
    return [Grant(**row) for row in rows]


async def _lock(transaction: TeamTransaction, space_id: UUID) -> None:
    if await (await transaction.execute(_SQL["lock_named_space"], space_id=space_id)).fetchone() is None:
        raise _absent()


def _absent() -> NotVisible:
    return NotVisible("not_found", "no active named space of this team has this id")
