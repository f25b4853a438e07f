"""Another embedding model beside the one that serves: filled, switched, rolled back, given up; recalls never err and never mix."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest

from commonlore.db import contract_change, tenancy
from commonlore.db.backlog import sweep
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.embedding.remote import RemoteEmbedder, RemoteSettings
from commonlore.db.embedding.several import ContractEmbedders
from commonlore.db.session import Pool
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ports import EmbeddingMalformed, Vectors
from commonlore.domain.time import system_clock
from tests.support.embedders import FailingEmbedder, HashEmbedder
from tests.support.memory import Holder, Memory, ServedHashEmbedder, contexts
from tests.support.projection import working

OTHER = HashEmbedder(96).contract.key
LATER = timedelta(minutes=5)


class Watched(HashEmbedder):
    """Refuses to be asked for what it does not embed: a vector of another length never gets to it."""

    async def embed_texts(self, texts: Any) -> Vectors:
        if any("cursed" in text for text in texts):
            raise EmbeddingMalformed("cursed")
        return await super().embed_texts(texts)


def both() -> ContractEmbedders:
    return ContractEmbedders([ServedHashEmbedder(), Watched(96)])


@asynccontextmanager
async def owner(memory: Memory) -> AsyncIterator[Pool]:
    pool = tenancy.owner_pool(memory.database.owner_conninfo)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


async def filled(memory: Memory) -> Holder:
    ann = await memory.key(scopes=("read", "write", "admin"))
    await memory.remember_all(ann, [f"Zebra number {number} grazes." for number in range(30)])
    for name in ("Uma", "Vic", "Wes"):
        await memory.relate(ann, f"{name} works on Orion.", name, "works_on", "Orion")
    return ann


async def work(memory: Memory, holder: Holder, embedder: Any) -> None:
    """What the jobs of a change do, in turn."""
    contract_ids = [
        row[0] for row in memory.sql("select contract_id from commonlore.embedding_contract where lifecycle_state in ('building', 'standby')")
    ]
    generations = [row[0] for row in memory.sql("select generation from commonlore.projection_generation where team_id = %s", holder.team_id)]
    async with working(memory, holder, embedder) as works:
        for generation in generations:
            await works.build(generation)
        for contract_id in contract_ids:
            await works.embed(contract_id)


def states(memory: Memory) -> dict[str, str]:
    return dict(memory.sql("select contract_key, lifecycle_state from commonlore.embedding_contract"))  # type: ignore[arg-type]


async def test_a_contract_of_another_dimension_is_filled_switched_and_switched_back(memory: Memory) -> None:
    ann = await filled(memory)
    seen = memory.with_embedder(both())
    before = await seen.recall(ann, "Who works on Orion?")
    async with owner(memory) as pool:
        made = await contract_change.start(pool, OTHER, now=system_clock())
        assert (2, 96, "building") == (made.contract_id, made.dimensions, made.state)
        assert before["search_states"] == (await seen.recall(ann, "Who works on Orion?"))["search_states"]
        await seen.remember(ann, content="Zebra written meanwhile.")
        await seen.relate(ann, "Xia works on Orion.", "Xia", "works_on", "Orion")
        meanwhile = await seen.recall(ann, "Zebra written meanwhile")
        assert ({"evidence": "current", "relationships": "current"}, []) == (meanwhile["search_states"], meanwhile["degradations"])
        with pytest.raises(CommonloreError) as refused:
            await contract_change.activate(pool, accepts_failed=False, now=system_clock())
        assert "generation_incomplete" == refused.value.code
        await work(memory, ann, both())
        assert [(35,), (4,)] == memory.sql(
            "select count(*) from commonlore.evidence_vector_2 union all select count(*) from commonlore.relationship_vector_2"
        )

        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
        assert {CONTRACT.key: "standby", OTHER: "served"} == states(memory)
        after = await seen.recall(ann, "Who works on Orion?")
        assert ([], {"current"}) == (after["degradations"], {after["search_states"][frontier] for frontier in ("evidence", "relationships")})
        assert OTHER == seen.adapters.embedder.contract.key
        assert set(contexts(before)[:4]) == set(contexts(after)[:4]) - {"Xia works on Orion."} | {contexts(before)[3]}

        await seen.remember(ann, content="Zebra written later.")
        await work(memory, ann, both())
        await contract_change.roll_back(pool, now=system_clock())
        again = await seen.recall(ann, "Zebra written later")
        assert ([], "Zebra written later.") == (again["degradations"], contexts(again)[0])
        assert {CONTRACT.key: "served", OTHER: "standby"} == states(memory)
        assert [(36,), (36,)] == memory.sql(
            "select count(*) from commonlore.evidence_vector_1 union all select count(*) from commonlore.evidence_vector_2"
        )


async def test_recalls_and_writes_during_the_switches_never_err_and_never_mix(memory: Memory) -> None:
    ann = await filled(memory)
    seen = memory.with_embedder(both())
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        await work(memory, ann, both())
        answers: list[dict[str, Any]] = []
        done = asyncio.Event()

        async def recalls() -> None:
            while not done.is_set():
                answers.append(await seen.recall(ann, "Who works on Orion?"))

        async def writes() -> None:
            for number in range(12):
                await seen.relate(ann, f"Yan{number} works on Orion.", f"Yan{number}", "works_on", "Orion")

        running = [asyncio.ensure_future(recalls()) for _ in range(2)]
        writing = asyncio.ensure_future(writes())
        for turn in range(4):
            await work(memory, ann, both())
            switch = (
                contract_change.activate(pool, accepts_failed=False, now=system_clock())
                if turn % 2 == 0
                else contract_change.roll_back(pool, now=system_clock())
            )
            await switch
            await asyncio.sleep(0.1)
        await writing
        done.set()
        await asyncio.gather(*running)
    assert len(answers) > 20
    assert set() == {item["code"] for answer in answers for item in answer["degradations"]}
    for answer in answers:
        found = [item["relationship_id"] for item in answer["related_relationships"]]
        assert len(found) == len(set(found))


async def test_one_text_that_cannot_be_embedded_is_counted_and_may_be_left_out(memory: Memory) -> None:
    ann = await filled(memory)
    await memory.remember(ann, content="A cursed zebra.")
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        await work(memory, ann, both())
        contracts = await contract_change.list_contracts(pool)
        counts = await contract_change.count(pool, contracts[1], contracts[0])
        assert (34, 33, 3, 0, 0, 1) == (counts.parts, counts.vectors, counts.documents, counts.lacking, counts.pending, counts.failed)
        with pytest.raises(CommonloreError) as refused:
            await contract_change.activate(pool, accepts_failed=False, now=system_clock())
        assert "generation_incomplete" == refused.value.code
        await contract_change.activate(pool, accepts_failed=True, now=system_clock())
    answer = await memory.with_embedder(both()).recall(ann, "cursed zebra")
    assert ("A cursed zebra." in contexts(answer), "failed") == (True, answer["search_states"]["evidence"])


async def test_a_retired_contract_leaves_nothing_and_can_be_started_again(memory: Memory) -> None:
    ann = await filled(memory)
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        await work(memory, ann, both())
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
        with pytest.raises(CommonloreError) as refused:
            await contract_change.retire(pool, now=system_clock())
        assert "stale_input" == refused.value.code
        await contract_change.retire(pool, now=system_clock() + LATER)
        assert {CONTRACT.key: "retired", OTHER: "served"} == states(memory)
        assert [(0,)] == memory.sql("select count(*) from commonlore.evidence_vector_1")
        async with working(memory, ann, both()) as works:
            await works.clear(1)
        assert [(0,)] == memory.sql("select count(*) from commonlore.relationship_document where generation = 1")
        seen = memory.with_embedder(both())
        await seen.remember(ann, content="Zebra under one contract.")
        assert [] == (await seen.recall(ann, "Who works on Orion?"))["degradations"]

        await contract_change.start(pool, CONTRACT.key, now=system_clock())
        await work(memory, ann, both())
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
        assert {CONTRACT.key: "served", OTHER: "standby"} == states(memory)
        assert [] == (await seen.recall(ann, "Who works on Orion?"))["degradations"]
        await contract_change.retire(pool, now=system_clock() + LATER)
        assert [(None,)] == memory.sql("select to_regclass('commonlore.evidence_vector_2')")


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("nonsense", "invalid_input"),
        ("openai:huge:4096:cosine:unit:doc1:query1", "invalid_input"),
        ("openai:none:0:cosine:unit:doc1:query1", "invalid_input"),
        ("openai:raw:64:cosine:none:doc1:query1", "invalid_input"),
        (CONTRACT.key, "stale_input"),
    ],
)
async def test_what_cannot_be_started_is_refused_by_name_and_changes_nothing(memory: Memory, key: str, code: str) -> None:
    await memory.key()
    async with owner(memory) as pool:
        before = memory.sql("select * from commonlore.embedding_contract")
        with pytest.raises(CommonloreError) as refused:
            await contract_change.start(pool, key, now=system_clock())
        assert code == refused.value.code
        for attempt in (contract_change.roll_back(pool, now=system_clock()), contract_change.retire(pool, now=system_clock())):
            with pytest.raises(CommonloreError) as refused:
                await attempt
            assert "stale_input" == refused.value.code
    assert before == memory.sql("select * from commonlore.embedding_contract")


async def test_a_second_change_is_refused_while_one_goes_on(memory: Memory) -> None:
    await memory.key()
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        with pytest.raises(CommonloreError) as refused:
            await contract_change.start(pool, "openai:b:64:cosine:unit:doc1:query1", now=system_clock())
        assert ("generation_building", {"contract": OTHER}) == (refused.value.code, refused.value.details)
        await contract_change.retire(pool, now=system_clock())
        assert {CONTRACT.key: "served", OTHER: "retired"} == states(memory)


async def test_a_team_made_during_a_change_is_ready_and_the_sweep_makes_good_what_was_cut_off(memory: Memory) -> None:
    ann = await filled(memory)
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        eve = await memory.key(team="another", scopes=("read", "write", "admin"))
        assert [("current",), ("current",)] == memory.sql("select state from commonlore.projection_generation where team_id = %s", eve.team_id)
        memory.sql("delete from commonlore.projection_generation where contract_id = 2 and team_id = %s", ann.team_id)
        memory.sql("truncate commonlore.job, procrastinate.procrastinate_jobs cascade")
        async with working(memory, ann, both()) as works:
            await sweep(works.adapters.pool, clock=memory.clock)
        asked = memory.sql("select distinct kind from commonlore.job where team_id = %s order by 1", ann.team_id)
        assert {("build_generation",), ("embed_contract",)} <= set(asked)
        await work(memory, ann, both())
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
    assert [] == (await memory.with_embedder(both()).recall(ann, "Who works on Orion?"))["degradations"]


async def test_a_process_without_an_embedder_of_the_served_contract_answers_by_words_and_says_so(memory: Memory) -> None:
    ann = await filled(memory)
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        await work(memory, ann, both())
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
    answer = await memory.recall(ann, "Zebra number 7")
    assert {"embedding_contract_mismatch", "relationship_vector_warming"} == {item["code"] for item in answer["degradations"]}
    assert "Zebra number 7 grazes." == contexts(answer)[0]
    stored = await memory.remember(ann, content="Zebra of an old process.")
    assert UUID(stored["evidence"][0]["evidence_id"])
    assert [(2, "pending")] == memory.sql("select contract_id, search_state from commonlore.evidence_embedding_backlog where contract_id = 2")


async def test_a_remote_embedder_that_takes_its_time_holds_no_transaction_open(memory: Memory) -> None:
    """Neither a recall nor a write nor a job: the database is asked before and after. Nobody without a key makes it work."""
    ann = await memory.key()
    asked = 0

    async def slow(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(1.0)
        texts = msgspec.json.decode(request.content)["input"]
        vectors = [ServedHashEmbedder().vector(text).tolist() for text in texts]
        return httpx.Response(200, json={"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]})

    served = RemoteSettings("openai", "https://example.org", CONTRACT.model, 384, "local")
    several = ContractEmbedders([RemoteEmbedder(served, transport=httpx.MockTransport(slow))])
    seen, oldest, done = memory.with_embedder(several), [0.0], asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            found = memory.sql(
                "select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 from pg_stat_activity"
                " where datname = current_database() and usename in ('commonlore_app', 'commonlore_worker')"
            )
            oldest.append(found[0][0])
            await asyncio.sleep(0.05)

    watching = asyncio.ensure_future(watch())
    await seen.relate(ann, "Uma works on Orion.", "Uma", "works_on", "Orion")
    await memory.with_embedder(FailingEmbedder()).remember(ann, content="Zebra for a job.")
    async with working(memory, ann, several) as works:
        await works.embed()
    answer = await seen.recall(ann, "Who works on Orion?")
    before = asked
    with pytest.raises(CommonloreError):
        await seen.recall(replace(ann, key=replace(ann.key, secret_sha256=bytes(32))), "Who works on Orion?")
    done.set()
    await watching

    assert ([], before) == (answer["degradations"], asked)
    assert asked >= 3
    assert max(oldest) < 0.8
    assert [(0,)] == memory.sql("select count(*) from commonlore.evidence_embedding_backlog")
