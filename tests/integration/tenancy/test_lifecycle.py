"""Teams, members and keys from their making to their end, as the owner and as the serving role under the policies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from commonlore.db import tenancy
from commonlore.db.session import Pool, TeamTransaction, actor_transaction, make_pool, team_transaction
from commonlore.domain.errors import Conflict, Fault, Forbidden, NotVisible, Unauthenticated
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.administration import IssuedKey, require_grantable
from commonlore.domain.tenancy.key import parse
from tests.support.databases import TestDatabase

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
ADMIN = ("read", "write", "admin")


@dataclass
class Pools:
    owner: Pool
    app: Pool


@pytest.fixture
async def pools(database: TestDatabase) -> AsyncIterator[Pools]:
    async with AsyncExitStack() as stack:
        owner = await stack.enter_async_context(tenancy.owner_pool(database.owner_conninfo, size=2))
        app = await stack.enter_async_context(make_pool(database.serving_conninfo, size=3, name="app"))
        yield Pools(owner, app)


@pytest.fixture(params=["owner", "app"])
def pool(request: pytest.FixtureRequest, pools: Pools) -> Pool:
    """Every rule holds for the command line's role and for the serving role."""
    return getattr(pools, request.param)


async def make_team(pools: Pools, name: str = "Support") -> UUID:
    team_id = uuid4()
    async with team_transaction(pools.owner, team_id, timeout_ms=5000) as transaction:
        await tenancy.create_team(transaction, name=name, now=NOW)
    return team_id


async def within(pool: Pool, team_id: UUID, do: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
    async with team_transaction(pool, team_id, timeout_ms=5000) as transaction:
        return await do(transaction, *arguments, **named)


async def make_member(pool: Pool, team_id: UUID, name: str = "Ada") -> UUID:
    return (await within(pool, team_id, tenancy.add_member, name=name, profile_kind="human", now=NOW)).profile_id


async def make_key(pool: Pool, team_id: UUID, profile_id: UUID, **changes: Any) -> IssuedKey:
    values = {"name": "laptop", "scopes": ADMIN, "memory_binding": "credential_private", "expires_at": None, "now": NOW}
    return await within(pool, team_id, tenancy.mint_key, profile_id, **{**values, **changes})


async def actor_of(pool: Pool, text: str, *, now: datetime = NOW) -> Actor:
    key = parse(text)
    assert key is not None
    async with actor_transaction(pool, key, clock=lambda: now, timeout_ms=5000) as (actor, _):
        return actor


async def test_a_new_team_has_a_shared_space_with_an_epoch_and_a_current_generation(pools: Pools) -> None:
    team_id = await make_team(pools)

    async with team_transaction(pools.app, team_id, timeout_ms=5000) as transaction:
        spaces = await tenancy.list_spaces(transaction)
        await transaction.enter(spaces[0].space_id)
        epoch = await (await transaction.connection.execute("select current_setting('commonlore.space_epoch') as epoch")).fetchone()
        open_epochs = await (await transaction.connection.execute("select space_epoch::text from commonlore.space_epoch")).fetchall()
        generation = await (await transaction.connection.execute("select * from commonlore.projection_generation")).fetchall()
    assert [(space.kind, space.name, space.owner, space.lifecycle_state) for space in spaces] == [("team_shared", None, None, "active")]
    assert epoch is not None
    assert [epoch["epoch"]] == [row["space_epoch"] for row in open_epochs]
    assert [
        (row["source_kind"], row["generation"], row["format_version"], row["contract_id"], row["state"], row["activated_at"]) for row in generation
    ] == [("relationship", 1, 2, 1, "current", NOW)]


async def test_the_owner_lists_every_team_and_the_serving_role_none(pools: Pools) -> None:
    first, second = await make_team(pools, "B team"), await make_team(pools, "A team")

    assert [second, first] == [team.team_id for team in await tenancy.list_teams(pools.owner)]
    assert await tenancy.list_teams(pools.app) == []


async def test_the_serving_role_can_neither_make_a_team_nor_end_another_one(pools: Pools) -> None:
    """It ends the one whose key asks for it, as a deletion; no other one is there for it."""
    team_id, other = await make_team(pools), await make_team(pools)

    with pytest.raises(Fault):
        await within(pools.app, uuid4(), tenancy.create_team, name="Mine", now=NOW)
    async with team_transaction(pools.app, team_id, timeout_ms=5_000) as transaction:
        ended = await transaction.connection.execute("update commonlore.team set retired_at = now() where team_id = %s", (other,))
    assert 0 == ended.rowcount


async def test_a_key_authenticates_as_its_member_with_its_own_private_space(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    profile_id = await make_member(pool, team_id)

    issued, other = await make_key(pool, team_id, profile_id), await make_key(pool, team_id, profile_id, name="phone")
    actor, second = await actor_of(pools.app, issued.text), await actor_of(pools.app, other.text)

    assert (team_id, profile_id, issued.key.credential_id) == (actor.team_id, actor.profile_id, actor.credential_id)
    assert frozenset(ADMIN) == actor.scopes
    assert [space.kind for space in actor.spaces] == ["credential_private", "team_shared"]
    assert actor.spaces[0] != second.spaces[0]
    assert actor.spaces[1] == second.spaces[1]


async def test_keys_bound_to_the_member_share_one_private_space_and_shared_only_has_none(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    profile_id = await make_member(pool, team_id)

    keys = [await make_key(pool, team_id, profile_id, name=name, memory_binding="profile_private") for name in ("one", "two")]
    bare = await make_key(pool, team_id, profile_id, name="three", memory_binding="shared_only")
    one, two, three = [(await actor_of(pools.app, issued.text)).spaces for issued in (*keys, bare)]

    assert one == two
    assert [space.kind for space in one] == ["profile_private", "team_shared"]
    assert [space.kind for space in three] == ["team_shared"]
    assert len(await within(pool, team_id, tenancy.list_spaces)) == 2


async def test_a_list_of_keys_shows_ends_only_and_no_table_holds_the_text(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    issued = await make_key(pool, team_id, await make_member(pool, team_id), expires_at=NOW + timedelta(days=1))
    secret = issued.text.rsplit("_", 1)[1]

    listed = await within(pool, team_id, tenancy.list_keys)

    assert [issued.key] == listed
    assert secret not in repr(listed)
    async with team_transaction(pools.owner, team_id, timeout_ms=5000) as transaction:
        rows = await (await transaction.connection.execute("select c::text as row from commonlore.credential c")).fetchall()
    assert len(rows) == 1
    assert secret not in rows[0]["row"]


async def test_rotation_keeps_id_space_and_scopes_and_ends_the_old_text_at_once(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    issued = await make_key(pool, team_id, await make_member(pool, team_id))
    before = await actor_of(pools.app, issued.text)

    rotated = await within(pool, team_id, tenancy.rotate_key, issued.key.credential_id, now=NOW)

    assert issued.key.prefix != rotated.key.prefix
    assert before == await actor_of(pools.app, rotated.text)
    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, issued.text)
    mixed = f"{rotated.text.rsplit('_', 1)[0]}_{issued.text.rsplit('_', 1)[1]}"
    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, mixed)


async def test_a_revoked_key_fails_on_the_next_request_and_cannot_be_rotated_or_revoked_again(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    profile_id = await make_member(pool, team_id)
    await make_key(pool, team_id, profile_id, name="admin")
    issued = await make_key(pool, team_id, profile_id)
    await actor_of(pools.app, issued.text)

    revoked = await within(pool, team_id, tenancy.revoke_key, issued.key.credential_id, now=NOW)

    assert revoked.state(NOW) == "revoked"
    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, issued.text)
    for operation in (tenancy.rotate_key, tenancy.revoke_key):
        with pytest.raises(NotVisible):
            await within(pool, team_id, operation, issued.key.credential_id, now=NOW)


async def test_a_key_is_valid_until_its_end_and_rotation_needs_a_new_end_after_it(pools: Pools, pool: Pool) -> None:
    team_id, end = await make_team(pools), NOW + timedelta(hours=12)
    issued = await make_key(pool, team_id, await make_member(pool, team_id), expires_at=end)

    await actor_of(pools.app, issued.text, now=end - timedelta(microseconds=1))
    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, issued.text, now=end)
    with pytest.raises(NotVisible):
        await within(pool, team_id, tenancy.rotate_key, issued.key.credential_id, now=end)

    later = await within(pool, team_id, tenancy.rotate_key, issued.key.credential_id, now=end, expires_at=end + timedelta(days=1))

    await actor_of(pools.app, later.text, now=end)


async def test_the_last_active_admin_key_stays(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    ada, bob = await make_member(pool, team_id), await make_member(pool, team_id, "Bob")
    last = await make_key(pool, team_id, ada)
    await make_key(pool, team_id, bob, scopes=("read", "write"))
    await make_key(pool, team_id, bob, name="old", expires_at=NOW)

    for operation, target in ((tenancy.revoke_key, last.key.credential_id), (tenancy.retire_member, ada)):
        with pytest.raises(Conflict) as refused:
            await within(pool, team_id, operation, target, now=NOW)
        assert refused.value.code == "last_admin"
    await actor_of(pools.app, last.text)

    second = await make_key(pool, team_id, bob, name="admin")
    await within(pool, team_id, tenancy.retire_member, ada, now=NOW)

    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, last.text)
    await actor_of(pools.app, second.text)


async def test_two_admins_who_revoke_each_other_at_once_leave_one(pools: Pools) -> None:
    team_id = await make_team(pools)
    ada = await make_member(pools.owner, team_id)
    keys = [await make_key(pools.owner, team_id, ada, name=name) for name in ("one", "two")]

    outcomes = await asyncio.gather(
        *(within(pools.app, team_id, tenancy.revoke_key, issued.key.credential_id, now=NOW) for issued in keys), return_exceptions=True
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "Key"]


async def test_a_retired_member_keeps_its_name_and_gets_no_key(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    profile_id = await make_member(pool, team_id)
    with pytest.raises(Conflict) as taken:
        await make_member(pool, team_id)
    assert taken.value.code == "name_taken"

    await within(pool, team_id, tenancy.retire_member, profile_id, now=NOW)

    with pytest.raises(NotVisible):
        await make_key(pool, team_id, profile_id)
    with pytest.raises(NotVisible):
        await within(pool, team_id, tenancy.retire_member, profile_id, now=NOW)
    assert [member.retired_at for member in await within(pool, team_id, tenancy.list_members)] == [NOW]


async def test_foreign_and_missing_ids_give_the_same_answer_and_change_nothing(pools: Pools, pool: Pool) -> None:
    """Another team's member or key is told from nothing by neither class, code, message nor details."""
    mine, theirs = await make_team(pools, "Mine"), await make_team(pools, "Theirs")
    profile_id = await make_member(pools.owner, theirs)
    issued = await make_key(pools.owner, theirs, profile_id)

    async def outcome(do: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> tuple[object, ...]:
        with pytest.raises(NotVisible) as refused:
            await within(pool, mine, do, *arguments, **named)
        return type(refused.value), refused.value.code, refused.value.message, refused.value.details

    key = {"name": "x", "scopes": ("read",), "memory_binding": "shared_only", "expires_at": None}
    for do, foreign, named in (
        (tenancy.retire_member, profile_id, {}),
        (tenancy.mint_key, profile_id, key),
        (tenancy.rotate_key, issued.key.credential_id, {}),
        (tenancy.revoke_key, issued.key.credential_id, {}),
    ):
        assert await outcome(do, uuid4(), now=NOW, **named) == await outcome(do, foreign, now=NOW, **named)
    assert await outcome(tenancy.read_key, uuid4()) == await outcome(tenancy.read_key, issued.key.credential_id)

    assert await within(pool, mine, tenancy.list_keys) == []
    assert [issued.key] == await within(pools.owner, theirs, tenancy.list_keys)
    await actor_of(pools.app, issued.text)


async def test_a_key_of_one_team_is_nothing_under_another_teams_id(pools: Pools) -> None:
    mine, theirs = await make_team(pools, "Mine"), await make_team(pools, "Theirs")
    issued = await make_key(pools.owner, theirs, await make_member(pools.owner, theirs))

    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, issued.text.replace(theirs.hex, mine.hex))


async def test_a_retired_team_admits_no_key_and_takes_no_change(pools: Pools, pool: Pool) -> None:
    team_id = await make_team(pools)
    profile_id = await make_member(pool, team_id)
    issued = await make_key(pool, team_id, profile_id)

    await within(pools.owner, team_id, tenancy.retire_team, now=NOW)

    with pytest.raises(Unauthenticated):
        await actor_of(pools.app, issued.text)
    with pytest.raises(NotVisible):
        await make_member(pool, team_id, "Eve")
    with pytest.raises(NotVisible):
        await make_key(pool, team_id, profile_id)
    with pytest.raises(NotVisible):
        await within(pool, team_id, tenancy.list_keys)
    with pytest.raises(NotVisible):
        await within(pools.owner, team_id, tenancy.retire_team, now=NOW)


async def test_two_teams_may_use_the_same_names(pools: Pools, pool: Pool) -> None:
    for team_id in (await make_team(pools), await make_team(pools)):
        await make_key(pool, team_id, await make_member(pool, team_id))

    assert len([team for team in await tenancy.list_teams(pools.owner) if team.name == "Support"]) == 2


async def test_an_admin_actor_administers_its_own_team_inside_its_own_request(pools: Pools) -> None:
    """What the admin routes do: authenticate, check the scope, act, all in one transaction of the serving role."""
    team_id, other = await make_team(pools), await make_team(pools, "Other")
    admin = await make_key(pools.owner, team_id, await make_member(pools.owner, team_id))
    theirs = await make_member(pools.owner, other)
    key = parse(admin.text)
    assert key is not None

    async with actor_transaction(pools.app, key, clock=lambda: NOW, timeout_ms=5000) as (actor, transaction):
        actor.require("admin")
        require_grantable(("read", "write"), actor.scopes)
        bob = await tenancy.add_member(transaction, name="Bob", profile_kind="agent", now=NOW)
        issued = await tenancy.mint_key(
            transaction, bob.profile_id, name="bot", scopes=("read", "write"), memory_binding="profile_private", expires_at=None, now=NOW
        )
        with pytest.raises(NotVisible):
            await tenancy.retire_member(transaction, theirs, now=NOW)

    agent = await actor_of(pools.app, issued.text)
    assert agent.profile_id == bob.profile_id
    with pytest.raises(Forbidden):
        agent.require("admin")
    with pytest.raises(Forbidden):
        require_grantable(("destroy",), actor.scopes)


async def test_a_cancelled_request_leaves_neither_team_nor_transaction_behind(database: TestDatabase, pools: Pools) -> None:
    """B001-c: one connection; its next borrower finds it clean."""
    team_id = await make_team(pools)
    async with make_pool(database.serving_conninfo, size=1, name="single") as single:

        async def slow(transaction: TeamTransaction) -> None:
            await transaction.connection.execute("select pg_sleep(30)")

        task = asyncio.create_task(within(single, team_id, slow))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        async with single.connection() as connection:
            row = await (await connection.execute("select current_setting('commonlore.team_id', true) as team")).fetchone()
            count = await (await connection.execute("select count(*) from commonlore.team")).fetchone()
            status = connection.info.transaction_status.name
    assert row is not None
    assert count is not None
    assert (row["team"] in (None, ""), count["count"], status) == (True, 0, "IDLE")
