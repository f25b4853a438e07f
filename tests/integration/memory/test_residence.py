"""A recall over what its process keeps of a space has the same bytes as one that searches the space, whatever happens between them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from commonlore.api.service import MemoryOperations
from commonlore.db import resident_gate
from commonlore.db.assemble import assemble
from commonlore.db.frontier import Frontier
from commonlore.db.last_read import SpacesLastRead
from commonlore.db.pipeline import Pipeline
from commonlore.db.recall import PostgresRecallSnapshot, recall_snapshot
from commonlore.db.residence import Residence
from commonlore.db.resident import BlockName
from commonlore.db.resident_words import KeptWords
from commonlore.db.settings import read_settings
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.plan import QueryVector, make_plan, parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.tenancy.actor import Space
from tests.support.databases import TestDatabase
from tests.support.folding import folding
from tests.support.identity import administer, an_admin
from tests.support.memory import Holder, Memory, ServedHashEmbedder, a_relationship, contexts, kept_spaces, shown

WORDS = ("pelican", "quartz", "harbour", "ledger", "violin", "comet", "meadow", "anchor", "saffron", "glacier", "orchid", "beacon")
# Few candidates, so that small spaces have many more than are wanted.
SHALLOW = RankingPolicy(depth_rows=4, depth_cap_rows=16)


@pytest.fixture
async def memory(database: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(database, pool_size=8) as opened:
        yield with_residence(opened, kept_spaces())


def with_residence(memory: Memory, residence: Residence | None) -> Memory:
    adapters = replace(memory.adapters, policy=SHALLOW, residence=residence)
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


def sentence(chooser: random.Random) -> str:
    return " ".join(chooser.choices(WORDS, k=chooser.randint(2, 6))) + f" {chooser.randrange(1000)}."


async def vector_of(embedder: Any, query: str) -> QueryVector:
    return QueryVector(await embedder.embed_query(query), embedder.contract.key)


async def ready(vector: QueryVector) -> QueryVector:
    return vector


async def same(memory: Memory, holder: Holder, query: str, **request: Any) -> dict[str, Any]:
    """The answer over what is kept, once it is found to be that of a process that keeps nothing."""
    kept, searched = await memory.recall(holder, query, **request), await with_residence(memory, None).recall(holder, query, **request)

    assert shown(searched) == shown(kept)
    return kept


def blocks(memory: Memory) -> dict[BlockName, Any]:
    assert memory.adapters.residence is not None
    return memory.adapters.residence.vectors._blocks


async def a_warm_space(memory: Memory, holder: Holder, chooser: random.Random, texts: int = 60) -> list[str]:
    ids = await memory.remember_all(holder, [sentence(chooser) for _ in range(texts)])
    for _ in range(2):
        await memory.recall(holder, "pelican")
    assert {"evidence"} <= {name.frontier for name in blocks(memory)}
    return ids


def take_out(memory: Memory, evidence_id: str) -> list[tuple[Any, ...]]:
    return memory.sql(
        "with gone as (delete from commonlore.evidence_vector_1 where evidence_id = %s returning team_id, space_epoch, evidence_id, part_no, embedding), "
        "counted as (insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts) "
        "select team_id, space_epoch, gen_random_uuid(), -1, 0, 0 from gone) select * from gone",
        evidence_id,
    )


def put_back(connection: psycopg.Connection, row: tuple[Any, ...]) -> None:
    connection.execute(
        "insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding) values (%s, %s, %s, %s, %s)", row
    )
    connection.execute(
        "insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length, texts) values (%s, %s, gen_random_uuid(), 1, 0, 0)",
        row[:2],
    )


async def read_whole(memory: Memory) -> None:
    """The words of every space of which some are kept, by the upkeep of a process."""
    assert memory.adapters.residence is not None
    words = memory.adapters.residence.words
    spaces = dict(memory.sql("select space_epoch, space_id from commonlore.space"))
    for name in list(words._kept):
        if name.space_epoch in spaces:
            words.want(name, spaces[name.space_epoch])
    await memory.operations.load_words()


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
        text = f"{subject} watches {target}. {self.chooser.random()}"
        answer = await self.memory.remember(self.holder, content=text, relationships=[a_relationship(subject, "watches", target)])
        self.ids += [item["evidence_id"] for item in answer["evidence"]]

    async def retract(self) -> None:
        await self.memory.retract(self.holder, self.chooser.choice(self.ids))

    async def delete(self) -> None:
        """As an erasure does in the end: the vectors of a text, nearest ones as likely as others, with the counts of the space."""
        for _ in range(self.chooser.randint(1, 6)):
            self.gone += take_out(self.memory, self.chooser.choice(self.ids))

    async def come_later(self) -> None:
        """Vectors written by a transaction that stays open, as those of a job do."""
        taken, self.gone = self.gone[:5], self.gone[5:]
        connection = psycopg.connect(self.memory.database.admin_conninfo)
        for row in taken:
            put_back(connection, row)
        self.open.append(connection)

    async def end_one(self) -> None:
        if self.open:
            connection = self.open.pop(self.chooser.randrange(len(self.open)))
            (connection.commit if self.chooser.random() < 0.7 else connection.rollback)()
            connection.close()

    async def write_documents_anew(self) -> None:
        """As a correction does: the vector of a document goes, and another comes with the same transaction."""
        with psycopg.connect(self.memory.database.admin_conninfo) as connection:
            gone = connection.execute(
                "delete from commonlore.relationship_vector_1 where relationship_id in (select relationship_id from commonlore.relationship_vector_1 "
                "order by md5(relationship_id::text || %s::text) limit 2) returning team_id, space_epoch, generation, relationship_id",
                (self.chooser.random(),),
            ).fetchall()
            for row in gone:
                connection.execute(
                    "insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding) "
                    "select %s, %s, %s, %s, e.embedding from commonlore.evidence_vector_1 e order by md5(e.evidence_id::text || %s::text) limit 1",
                    (*row, self.chooser.random()),
                )

    async def fold(self) -> None:
        async with folding(self.memory, self.holder) as space:
            await space.fold()

    async def read_whole(self) -> None:
        """All words of what is kept, as the upkeep of a process does."""
        await read_whole(self.memory)

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
async def test_kept_spaces_answer_as_the_database_does(memory: Memory, seed: int) -> None:
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
        changes.fold,
        changes.fold,
        changes.read_whole,
        changes.read_whole,
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
    (row,) = take_out(memory, late)
    with psycopg.connect(memory.database.admin_conninfo) as connection:
        put_back(connection, row)
        await memory.remember_all(ann, [sentence(chooser) for _ in range(5)])
        before = [item["evidence_id"] for item in (await same(memory, ann, "zither"))["results"]]
        (block,) = (block for name, block in blocks(memory).items() if name.frontier == "evidence")
        count, held = block.count, block.held
        connection.commit()
        await same(memory, ann, "zither")

    assert late in before, "by its word"
    assert 1 <= len(held), "a later transaction is held beside the one that is open"
    assert count + 1 == block.count
    assert block in blocks(memory).values()


async def test_what_was_deleted_is_found_no_more(memory: Memory) -> None:
    """All that was nearest is gone: the space is searched, and what is kept of it is read anew."""
    ann = await memory.key()
    near = await memory.remember_all(ann, [f"Violin violin violin {number}." for number in range(40)])
    await a_warm_space(memory, ann, random.Random(3))
    (old,) = (block for name, block in blocks(memory).items() if name.frontier == "evidence")
    for evidence_id in near:
        take_out(memory, evidence_id)

    found = [await same(memory, ann, "violin") for _ in range(2)]

    (new,) = (block for name, block in blocks(memory).items() if name.frontier == "evidence")
    assert (100, 60) == (old.count, new.count)
    assert [] != contexts(found[-1])


async def test_a_snapshot_that_is_older_than_what_is_kept_sees_its_own_state(memory: Memory) -> None:
    """A recall begins, others write, a third is served and the process takes in what is new; then the first goes on. Of documents there are as many as before."""
    chooser = random.Random(11)
    ann = await memory.key()
    ids = await a_warm_space(memory, ann, chooser)
    changes = Changes(memory, ann, chooser)
    for _ in range(8):
        await changes.relate()
    for _ in range(2):
        await memory.recall(ann, "pelican")
    adapters, request = memory.adapters, RecallRequest(query="pelican quartz harbour")
    intent = parse_intent(request)
    vector = await vector_of(adapters.embedder, request.query)
    async with recall_snapshot(
        adapters.pool, ann.key, clock=adapters.clock, timeout_ms=10_000, intent=intent, last_read=SpacesLastRead(), residence=adapters.residence
    ) as snapshot:
        statistics = await snapshot.read_statistics(intent)
        for _ in range(4):
            await changes.write_documents_anew()
        await memory.remember_all(ann, ["Pelican quartz harbour.", "Quartz of the pelican."])
        await memory.retract(ann, ids[0])
        newer = await same(memory, ann, request.query)
        plan = make_plan(intent, statistics, adapters.policy)
        kept = await snapshot.fetch(plan, ready(vector), depth=SHALLOW.depth_rows)
        searched = await Frontier(snapshot._transaction).fetch(plan, ready(vector), depth=SHALLOW.depth_rows)

    assert searched == kept
    assert "Pelican quartz harbour." in contexts(newer)


@pytest.mark.parametrize("most", [resident_gate.MOST_REFUSED, 0])
async def test_relationships_that_count_no_more_take_no_place_among_the_candidates(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Their text was taken back, or their owner left: as the snapshot says, whether it names all of them or the candidates are asked for."""
    monkeypatch.setattr(resident_gate, "MOST_REFUSED", most)
    chooser = random.Random(19)
    ann, ben, boss = await memory.key(), await memory.key(member="Ben"), await an_admin(memory)
    changes, others = Changes(memory, ann, chooser), Changes(memory, ben, chooser)
    await a_warm_space(memory, ann, chooser)
    for _ in range(12):
        await changes.relate()
        await others.relate()
    before = [await same(memory, ann, query, relationship_limit=20) for query in (*WORDS, "pelican watches")]
    assert {"evidence", "relationship"} == {name.frontier for name in blocks(memory)}

    for evidence_id in changes.ids[:6]:
        await memory.retract(ann, evidence_id)
    retracted = [await same(memory, ann, query, relationship_limit=20) for query in (*WORDS, "pelican watches")]
    await administer(memory, boss, "retire_member", profile_id=str(ben.profile_id))
    left = [await same(memory, ann, query, relationship_limit=20) for query in (*WORDS, "pelican watches")]

    def said(answers: list[dict[str, Any]]) -> set[str]:
        return {item["relationship_id"] for answer in answers for item in answer["related_relationships"]}

    assert len(said(before)) > len(said(retracted)) > len(said(left)) > 0
    assert {"evidence", "relationship"} == {name.frontier for name in blocks(memory)}


async def test_a_recall_of_a_kept_space_makes_three_round_trips(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key and all that the process lacks, the rows of what was found, COMMIT; also where some words were not folded yet. Rows of evidence are
    asked for before relationships are ranked."""
    chooser = random.Random(23)
    ann = await memory.key()
    changes = Changes(memory, ann, chooser)
    await a_warm_space(memory, ann, chooser)
    for _ in range(3):
        await changes.relate()
    adapters = replace(memory.adapters, policy=RankingPolicy())
    memory = replace(memory, adapters=adapters, operations=MemoryOperations(adapters))
    for _ in range(3):
        await memory.recall(ann, "pelican quartz", limit=3)
    trips: list[int] = []

    async def counted(self: Pipeline, until: Any = None) -> None:
        trips.append(len(self._sent))
        await receive(self, until)

    async def asked(*_: object) -> list[Any]:
        raise AssertionError("the rows were not asked for while relationships were ranked")

    receive = Pipeline.receive
    monkeypatch.setattr(Pipeline, "receive", counted)
    monkeypatch.setattr(PostgresRecallSnapshot, "_hydrated", asked)
    found = await memory.recall(ann, "pelican quartz", limit=3, relationship_limit=2)

    assert 3 == len([sent for sent in trips if sent])
    assert (3, 2) == (len(found["results"]), len(found["related_relationships"]))


async def test_rows_that_were_read_ahead_are_taken_where_they_are_wanted_alone(memory: Memory) -> None:
    """Somebody else's foresight: other rows than the lane wants."""
    chooser = random.Random(29)
    ann = await memory.key()
    ids = await a_warm_space(memory, ann, chooser)
    adapters, request = replace(memory.adapters, policy=RankingPolicy()), RecallRequest(query="pelican quartz")
    intent, vector = parse_intent(request), await vector_of(memory.adapters.embedder, request.query)
    asked: list[int] = []

    class Mistaken:
        def __init__(self, space: Space) -> None:
            self.space = space

        def evidence(self, found: object) -> dict[Space, dict[UUID, tuple[int, ...]]]:
            asked.append(1)
            return {self.space: {UUID(ids[0]): (0,)}}

        def groups(self, found: object) -> dict[Space, list[str]]:
            return {self.space: ["sg:" + 64 * "0"]}

    async with recall_snapshot(
        adapters.pool, ann.key, clock=adapters.clock, timeout_ms=10_000, intent=intent, last_read=SpacesLastRead(), residence=adapters.residence
    ) as snapshot:
        statistics = await snapshot.read_statistics(intent)
        plan = make_plan(intent, statistics, adapters.policy)
        (space,) = [found.space for found in plan.spaces]
        for wanted in ({UUID(ids[0]): (0,)}, {UUID(ids[1]): (0,), UUID(ids[2]): (0,)}):
            await snapshot.fetch(plan, ready(vector), depth=200, foresight=Mistaken(space))
            rows = await snapshot.hydrate_evidence(intent, {space: wanted})
            assert set(wanted) == set(rows)
    assert [1, 1] == asked


async def test_words_that_a_process_keeps_are_not_read_again(memory: Memory) -> None:
    """Until a worker folds others into their blocks."""
    chooser = random.Random(13)
    ann = await memory.key()
    changes = Changes(memory, ann, chooser)
    changes.ids = await a_warm_space(memory, ann, chooser)
    await changes.fold()
    assert memory.adapters.residence is not None
    words = memory.adapters.residence.words

    def pelican() -> tuple[int, Any]:
        """Its stamp and its postings."""
        (kept,) = (kept for name, kept in words._kept.items() if name.frontier == "evidence")
        return kept._terms["pelican"]

    await same(memory, ann, "pelican quartz")
    first = pelican()
    await same(memory, ann, "pelican quartz")
    assert pelican()[1] is first[1]

    await memory.remember_all(ann, ["Zither of the pelican."])
    found = await same(memory, ann, "pelican zither")
    assert "Zither of the pelican." == contexts(found)[0]
    assert pelican()[1] is first[1]

    await changes.fold()
    await same(memory, ann, "pelican quartz")
    assert len(pelican()[1].pieces) == len(first[1].pieces) + 1
    assert pelican()[0] != first[0]


async def test_all_words_of_a_space_are_read_at_once_after_some(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a word that was never asked costs the database nothing, until a worker folds others into its blocks."""
    chooser = random.Random(17)
    ann = await memory.key()
    changes = Changes(memory, ann, chooser)
    changes.ids = await a_warm_space(memory, ann, chooser)
    rare = await memory.remember_all(ann, [f"Zither number{number} of the sea." for number in range(12)])
    await changes.relate()
    await changes.fold()
    read: list[list[str]] = []

    def noting(self: KeptWords, stamps: Any, rows: Any) -> Any:
        read.append(sorted(stamps))
        return take(self, stamps, rows)

    take = KeptWords.take
    monkeypatch.setattr(KeptWords, "take", noting)
    await same(memory, ann, " ".join(WORDS[:10]))
    await memory.operations.load_words()
    assert [] != read
    read.clear()

    found = await same(memory, ann, "zither number7")
    await same(memory, ann, " ".join(WORDS))
    assert rare[7] == found["results"][0]["evidence_id"]
    assert [] == [words for words in read if words != []]

    await memory.remember_all(ann, ["Another zither, of glass."])
    await changes.fold()
    found = await same(memory, ann, "zither glass")
    assert [["glass", "zither"]] == read
    assert "Another zither, of glass." == contexts(found)[0]


async def test_a_space_that_was_fenced_is_not_read_under_its_old_number(memory: Memory) -> None:
    chooser = random.Random(19)
    ann = await memory.key()
    changes = Changes(memory, ann, chooser)
    changes.ids = await a_warm_space(memory, ann, chooser)
    assert memory.adapters.residence is not None
    words = memory.adapters.residence.words
    (name,) = (name for name in words._kept if name.frontier == "evidence")
    ((space_id,),) = memory.sql("select space_id from commonlore.space where space_epoch = %s", name.space_epoch)
    await changes.fold()
    await changes.fence()

    words.want(name, space_id)
    await memory.operations.load_words()

    assert 0 == len(words.of(name)._whole)


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


@pytest.mark.parametrize("megabytes", [0, 1])
async def test_a_process_that_is_to_keep_none_has_no_place_for_them(database: TestDatabase, tmp_path: Path, megabytes: int) -> None:
    settings = read_settings({"COMMONLORE_HOME": str(tmp_path), "COMMONLORE_RESIDENT_VECTORS_MB": str(megabytes)})
    async with assemble(database.serving_conninfo, settings, name="test", make_embedder=ServedHashEmbedder) as adapters:
        assert (megabytes > 0) == (adapters.residence is not None)
