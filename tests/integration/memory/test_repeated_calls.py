"""One mechanism for calls that are repeated: the same key with the same request answers the same and writes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from commonlore.api import curation
from commonlore.db import tenancy
from commonlore.db.identity import Act
from commonlore.db.session import team_transaction
from commonlore.domain.correct.identity_request import MergeEntitiesRequest
from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.identity import administer
from tests.support.ledger_checks import Fingerprint, broken
from tests.support.memory import Memory
from tests.support.writes import KEY, WITHOUT_KEY, WRITES, World

KEYED = [name for name in WRITES if name not in WITHOUT_KEY and name != "retire"]


@pytest.mark.parametrize("name", KEYED)
async def test_eight_calls_at_once_with_one_key_are_one(name: str, database: TestDatabase) -> None:
    """Whichever comes first writes; the others wait for it and get its answer, byte for byte."""
    async with Memory.open(database, pool_size=8) as memory:
        world = await World.made(name, memory)
        submissions = memory.sql("select count(*) from commonlore.submission")[0][0]

        answers = await asyncio.gather(*(world.write() for _ in range(8)))

        assert 1 == len({msgspec.json.encode(answer, order="sorted") for answer in answers})
        assert [(submissions + 1,)] == memory.sql("select count(*) from commonlore.submission")
        assert [] == broken(memory)


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("merge_entities", {"from_entity_id": "one", "to_entity_id": "two", "apply": True}),
        ("split_entity", {"entity_id": "one", "relationship_ids": ["relationship_id"], "name": "Atlas Maps", "apply": True}),
        ("rename_entity", {"entity_id": "one", "name": "Atlas Prime"}),
        ("add_entity_alias", {"entity_id": "one", "name": "the Atlas"}),
    ],
)
async def test_a_key_belongs_to_one_request(operation: str, fields: dict[str, Any], database: TestDatabase) -> None:
    """Another request of any kind with it is refused and changes nothing; another credential has keys of its own."""
    async with Memory.open(database) as memory:
        world = await World.made("merge", memory)
        given = world.given
        filled = {
            name: [given[item] for item in value] if isinstance(value, list) else given.get(value, value) if isinstance(value, str) else value
            for name, value in fields.items()
        }
        await memory.remember(world.holder, content="Another act.", idempotency_key=KEY)
        state = Fingerprint(database.admin_conninfo)
        before = state()

        with pytest.raises(CommonloreError) as caught:
            await administer(memory, world.holder, operation, **filled, idempotency_key=KEY)
        assert "idempotency_conflict" == caught.value.code and before == state()
        state.close()

        other = await memory.key(scopes=("read", "write", "admin"))
        assert (await administer(memory, other, operation, **filled, idempotency_key=KEY))["correction_id"]


async def test_a_preview_takes_no_key(database: TestDatabase) -> None:
    async with Memory.open(database) as memory:
        world = await World.made("merge", memory)
        request = {"from_entity_id": world.given["one"], "to_entity_id": world.given["two"], "idempotency_key": KEY}

        preview = await administer(memory, world.holder, "merge_entities", **request)
        done = await administer(memory, world.holder, "merge_entities", **request, apply=True)

        assert preview["correction_id"] is None and done["correction_id"] is not None
        assert {**preview, "correction_id": 0} == {**done, "correction_id": 0}


async def test_who_holds_the_database_repeats_a_merge_as_well(database: TestDatabase) -> None:
    """As `commonlore entity merge --idempotency-key`: without a credential, and apart from the keys of credentials."""
    async with Memory.open(database) as memory:
        world = await World.made("merge", memory)
        await memory.remember(world.holder, content="A credential's own act.", idempotency_key=KEY)
        request = msgspec.convert(
            {"from_entity_id": world.given["one"], "to_entity_id": world.given["two"], "reason": "one", "apply": True, "idempotency_key": KEY},
            MergeEntitiesRequest,
        )
        owner = tenancy.owner_pool(database.owner_conninfo, size=2)
        await owner.open()

        async def merge(request: MergeEntitiesRequest) -> dict[str, Any]:
            async with team_transaction(owner, world.holder.team_id, timeout_ms=10_000) as transaction:
                shared = (
                    await (
                        await transaction.connection.execute("select space_id, space_epoch from commonlore.space where space_kind = 'team_shared'")
                    ).fetchall()
                )[0]
                transaction.epochs = {shared["space_id"]: shared["space_epoch"]}
                await transaction.enter(shared["space_id"])
                return await curation.merge(Act(transaction, shared["space_id"], "one", None, memory.clock()), request)

        try:
            first, again = await asyncio.gather(merge(request), merge(request))
            with pytest.raises(CommonloreError) as caught:
                await merge(msgspec.structs.replace(request, reason="another"))
        finally:
            await owner.close()

        assert first == again and "idempotency_conflict" == caught.value.code
        assert [(1,)] == memory.sql("select count(*) from commonlore.entity_correction")
