"""A recall over the vectors that its process keeps has the same bytes as one that searches the space, whatever happens between them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonlore.api.service import MemoryOperations
from commonlore.db.assemble import assemble
from commonlore.db.resident import BlockName, ResidentVectors
from commonlore.db.settings import read_settings
from commonlore.db.vectors import UuidArray
from commonlore.domain.ids import new_id
from commonlore.domain.policy import RankingPolicy
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory, ServedHashEmbedder, contexts, kept_vectors, shown

WORDS = ("pelican", "quartz", "harbour", "ledger", "violin", "comet", "meadow", "anchor", "saffron", "glacier", "orchid", "beacon")
# Few candidates, so that small spaces have many more than are wanted.
SHALLOW = RankingPolicy(depth_rows=4, depth_cap_rows=16)


@pytest.fixture
async def memory(database: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(database, pool_size=8) as opened:
        yield with_vectors(opened, kept_vectors())


def with_vectors(memory: Memory, resident: ResidentVectors) -> Memory:
    adapters = replace(memory.adapters, policy=SHALLOW, resident=resident)
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


def sentence(chooser: random.Random) -> str:
    return " ".join(chooser.choices(WORDS, k=chooser.randint(2, 6))) + f" {chooser.randrange(1000)}."


async def same(memory: Memory, holder: Holder, query: str, **request: Any) -> dict[str, Any]:
    """The answer over kept vectors, once it is found to be that of a process that keeps none."""
    kept, searched = await memory.recall(holder, query, **request), await with_vectors(memory, ResidentVectors()).recall(holder, query, **request)

    assert shown(searched) == shown(kept)
    return kept


def blocks(memory: Memory) -> dict[BlockName, Any]:
    return memory.adapters.resident._blocks


async def a_warm_space(memory: Memory, holder: Holder, chooser: random.Random, texts: int = 60) -> list[str]:
    ids = await memory.remember_all(holder, [sentence(chooser) for _ in range(texts)])
    for _ in range(2):
        await memory.recall(holder, "pelican")
    assert {"evidence"} <= {name.frontier for name in blocks(memory)}
    return ids


class Changes:
    """What may happen to the vectors of a space, some of it in transactions that end later or never."""

    def __init__(self, memory: Memory, holder: Holder, chooser: random.Random) -> None:
        self.memory, self.holder, self.chooser = memory, holder, chooser
        self.gone: list[tuple[Any, ...]] = []
        self.open: list[psycopg.Connection] = []
        self.ids: list[str] = []

    async def remember(self) -> None:
        self.ids += await self.memory.remember_all(self.holder, [sentence(self.chooser) for _ in range(self.chooser.randint(1, 8))])

    async def relate(self) -> None:
        subject, target = self.chooser.sample([word.capitalize() for word in WORDS], 2)
        await self.memory.relate(self.holder, f"{subject} watches {target}. {self.chooser.random()}", subject, "watches", target)

    async def retract(self) -> None:
        await self.memory.retract(self.holder, self.chooser.choice(self.ids))

    async def delete(self) -> None:
        """As an erasure does in the end: the vectors of a text, nearest ones as likely as others."""
        for _ in range(self.chooser.randint(1, 6)):
            self.gone += self.memory.sql(
                "delete from commonlore.evidence_vector_1 where evidence_id = %s returning team_id, space_epoch, evidence_id, part_no, embedding",
                self.chooser.choice(self.ids),
            )

    async def come_later(self) -> None:
        """Vectors written by a transaction that stays open, as those of a job do."""
        taken, self.gone = self.gone[:5], self.gone[5:]
        connection = psycopg.connect(self.memory.database.admin_conninfo)
        for row in taken:
            connection.execute(
                "insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding) values (%s, %s, %s, %s, %s)", row
            )
        self.open.append(connection)

    async def end_one(self) -> None:
        if self.open:
            connection = self.open.pop(self.chooser.randrange(len(self.open)))
            (connection.commit if self.chooser.random() < 0.7 else connection.rollback)()
            connection.close()

    async def write_documents_anew(self) -> None:
        """As a correction does: the vector of a document goes, and another comes with the same transaction."""
        self.memory.sql(
            "with gone as (delete from commonlore.relationship_vector_1 where relationship_id in (select relationship_id from commonlore.relationship_vector_1 "
            "order by md5(relationship_id::text || %s::text) limit 2) returning *), other as (select e.embedding from commonlore.evidence_vector_1 e limit 1) "
            "insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding) "
            "select g.team_id, g.space_epoch, g.generation, md5(g.relationship_id::text || 'x')::uuid, o.embedding from gone g, other o",
            self.chooser.random(),
        )

    async def fence(self) -> None:
        """The space gets another number and is empty for whoever opens it."""
        self.memory.sql(
            "with made as (select nextval('commonlore.space_epoch_number') as epoch), kept as (insert into commonlore.space_epoch "
            "(team_id, space_epoch, space_id, known_from) select s.team_id, m.epoch, s.space_id, now() from commonlore.space s, made m "
            "where s.team_id = %s and s.space_kind = 'team_shared' returning *) "
            "update commonlore.space s set space_epoch = k.space_epoch from kept k where s.space_id = k.space_id",
            self.holder.team_id,
        )
        self.ids = await self.memory.remember_all(self.holder, [sentence(self.chooser) for _ in range(40)])
        self.gone.clear()


@pytest.mark.parametrize("seed", range(3))
async def test_kept_vectors_answer_as_the_space_does(memory: Memory, seed: int) -> None:
    chooser = random.Random(seed)
    ann = await memory.key()
    changes = Changes(memory, ann, chooser)
    changes.ids = await a_warm_space(memory, ann, chooser)
    for _ in range(5):
        await changes.relate()
    kinds = [
        changes.remember,
        changes.relate,
        changes.retract,
        changes.delete,
        changes.delete,
        changes.come_later,
        changes.come_later,
        changes.end_one,
        changes.end_one,
        changes.write_documents_anew,
    ]
    try:
        for step in range(30):
            await chooser.choice(kinds)()
            if step == 20:
                await changes.fence()
            known = chooser.sample(changes.ids, 3) if chooser.random() < 0.3 else []
            await same(memory, ann, sentence(chooser), known_evidence_ids=known, limit=chooser.choice([1, 5, 20]))
    finally:
        for connection in changes.open:
            connection.close()
    assert {"evidence", "relationship"} == {name.frontier for name in blocks(memory)}


async def test_a_vector_is_found_by_the_next_recall_after_its_commit_and_not_before(memory: Memory) -> None:
    """Its transaction began before others that the process has seen end."""
    chooser = random.Random(7)
    ann = await memory.key()
    await a_warm_space(memory, ann, chooser)
    (late,) = await memory.remember_all(ann, ["Zither."])
    row = memory.sql(
        "delete from commonlore.evidence_vector_1 where evidence_id = %s returning team_id, space_epoch, evidence_id, part_no, embedding", late
    )[0]
    with psycopg.connect(memory.database.admin_conninfo) as connection:
        connection.execute(
            "insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding) values (%s, %s, %s, %s, %s)", row
        )
        await memory.remember_all(ann, [sentence(chooser) for _ in range(5)])
        before = [item["evidence_id"] for item in (await same(memory, ann, "zither"))["results"]]
        (block,) = (block for name, block in blocks(memory).items() if name.frontier == "evidence")
        count, held = block.count, block.held
        connection.commit()
        await same(memory, ann, "zither")

    assert late in before, "by its word"
    assert 1 <= len(held), "a later transaction is held beside the one that is open"
    assert count + 1 == block.count


async def test_what_was_deleted_names_nothing_and_makes_nothing_short(memory: Memory) -> None:
    """All that was nearest is gone: the space is searched, and from then on more candidates are given."""
    ann = await memory.key()
    near = await memory.remember_all(ann, [f"Violin violin violin {number}." for number in range(40)])
    await a_warm_space(memory, ann, random.Random(3))
    (block,) = (block for name, block in blocks(memory).items() if name.frontier == "evidence")
    slack = block._slack
    memory.sql("delete from commonlore.evidence_vector_1 where evidence_id = any(%s::uuid[])", near)

    found = await same(memory, ann, "violin")

    assert block._slack > slack
    assert [] != contexts(found)


async def test_spaces_of_a_key_and_teams_keep_blocks_of_their_own(memory: Memory) -> None:
    """A block has the number that the database gave the space; another team's recall cannot name it."""
    ann, ben = await memory.key(), await memory.key("borealis")
    for holder in (ann, ben):
        await memory.remember_all(holder, [f"{word} of {holder.team_id}." for word in WORDS], target_space="private")
        await a_warm_space(memory, holder, random.Random(5), texts=20)
    for holder in (ann, ben):
        found = await same(memory, holder, "pelican of quartz", limit=50)
        other = ben if holder is ann else ann
        assert not any(str(other.team_id) in context for context in contexts(found))

    assert {ann.team_id, ben.team_id} == {name.team_id for name in blocks(memory)}
    assert 4 == len([name for name in blocks(memory) if name.frontier == "evidence"])
    epochs = memory.sql("select team_id, space_epoch from commonlore.space")
    assert {(name.team_id, name.space_epoch) for name in blocks(memory)} <= set(epochs)


async def test_a_vector_is_never_changed_in_its_place(memory: Memory) -> None:
    """What changed so would come with no transaction. Vectors are deleted and made anew."""
    rights = memory.sql(
        "select r, c.relname from pg_class c, unnest(array['commonlore_app', 'commonlore_worker']) r "
        "where c.relname like '%%\\_vector\\_1' and c.relkind = 'r' and has_table_privilege(r, c.oid, 'update')"
    )

    assert [] == rights


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_many_ids_are_one_parameter(memory: Memory, count: int) -> None:
    """The database reads what `UuidArray` writes; entries that repeat are written once."""
    ids = [new_id() for _ in range(count)]
    entries = UuidArray.entries(b"".join(key.bytes for key in ids + ids))
    async with memory.adapters.pool.connection() as connection:
        cursor = await connection.execute("select %s::uuid[] as given, %s::uuid[] as entries", (UuidArray.of_ids(ids), UuidArray.of(entries)))
        row = await cursor.fetchone()

    assert {"given": ids, "entries": ids} == row


@pytest.mark.parametrize("megabytes", [0, 1])
async def test_a_process_that_is_to_keep_none_has_no_place_for_them(database: TestDatabase, tmp_path: Path, megabytes: int) -> None:
    settings = read_settings({"COMMONLORE_HOME": str(tmp_path), "COMMONLORE_RESIDENT_VECTORS_MB": str(megabytes)})
    async with assemble(database.serving_conninfo, settings, name="test", make_embedder=ServedHashEmbedder) as adapters:
        assert (megabytes > 0) == (adapters.resident is not None)
