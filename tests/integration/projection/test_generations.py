"""A generation is built beside the one that serves, takes over as a whole, and can be taken back."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.domain.errors import CommonloreError
from commonlore.domain.ports import EmbeddingMalformed, Vectors
from tests.support.copies import copy_relationships
from tests.support.memory import Holder, Memory, ServedHashEmbedder, shown
from tests.support.postings import DOCUMENT_POSTINGS
from tests.support.projection import ask, states, working

PAIRS = (("Uma", "Orion"), ("Vic", "Dense-Mem"), ("Wes", "Kepler"), ("Xia", "Lyra"))


async def related(memory: Memory, copies: int = 0) -> Holder:
    ann = await memory.key(scopes=("read", "write", "admin"))
    for name, project in PAIRS:
        await memory.relate(ann, f"{name} works on {project}.", name, "works_on", project)
    if copies:
        copy_relationships(memory.database, ann.team_id, copies)
    return ann


def rows(memory: Memory, table: str, generation: int, columns: str) -> list[tuple[Any, ...]]:
    return memory.sql(f"select {columns} from commonlore.{table} where generation = {generation} order by {columns}")


def contents(memory: Memory, generation: int) -> dict[str, list[tuple[Any, ...]]]:
    """All that recalls read of a generation."""
    return {
        "documents": rows(memory, "relationship_document", generation, "relationship_id, document_text, search_state"),
        "postings": memory.sql(
            f"select term, relationship_id, frequency, length from {DOCUMENT_POSTINGS} where generation = {generation} order by 1, 2"
        ),
        "vectors": rows(memory, "relationship_vector_1", generation, "relationship_id, embedding::text"),
        "whole": memory.sql(f"select sum(documents), sum(length) from commonlore.relationship_statistic where generation = {generation}"),
    }


async def test_a_rebuilt_generation_is_the_one_that_serves_row_by_row_and_takes_over_only_when_it_is_told_to(memory: Memory) -> None:
    ann = await related(memory, copies=30)
    before = shown(await memory.recall(ann, "Who works on Orion?"))
    started = await ask(memory, ann, "start")
    assert (2, "projecting_text", False, {"expected": 124, "documents": 0, "current": 0, "pending": 0, "failed": 0}) == (
        started["generation"],
        started["state"],
        started["is_read"],
        started["counts"],
    )
    assert before == shown(await memory.recall(ann, "Who works on Orion?"))

    async with working(memory, ann) as works:
        await works.build(2)

    assert {2: "standby", 1: "current"} == await states(memory, ann)
    assert contents(memory, 1) == contents(memory, 2)
    assert before == shown(await memory.recall(ann, "Who works on Orion?"))
    assert await ask(memory, ann, "activate") | {"state": "current", "is_read": True} == (await ask(memory, ann, "describe"))["generations"][0]
    assert before == shown(await memory.recall(ann, "Who works on Orion?"))
    await ask(memory, ann, "roll_back")
    assert {2: "standby", 1: "current"} == await states(memory, ann)
    assert before == shown(await memory.recall(ann, "Who works on Orion?"))


async def test_what_is_written_at_any_stage_is_in_both_generations(memory: Memory) -> None:
    """New and changed relationships before, between and after the texts, and while the new generation stands by."""
    ann = await related(memory, copies=5)
    await ask(memory, ann, "start")
    await memory.relate(ann, "Yan works on Orion.", "Yan", "works_on", "Orion")
    changed = await memory.relate(ann, "Zoe works on Lyra.", "Zoe", "works_on", "Lyra")
    await memory.correct(ann, changed, patch={"valid_to": "2027-01-01T00:00:00Z"}, reason="a test")
    async with working(memory, ann) as works:
        await works.build(2)
        assert {2: "standby", 1: "current"} == await states(memory, ann)
        later = await memory.relate(ann, "Ada works on Kepler.", "Ada", "works_on", "Kepler")
        await memory.correct(ann, later, patch={"valid_to": "2027-01-01T00:00:00Z"}, reason="a test")
        await works.embed()
    assert contents(memory, 1) == contents(memory, 2)

    await ask(memory, ann, "activate")
    await memory.relate(ann, "Bea works on Kepler.", "Bea", "works_on", "Kepler")
    assert contents(memory, 1) == contents(memory, 2)
    assert memory.sql("select count(*) from commonlore.relationship") == memory.sql(
        "select count(*) from commonlore.relationship_document where generation = 2"
    )


async def test_a_document_that_says_something_else_now_is_worded_anew(memory: Memory) -> None:
    """The text comes from the ledger, not from the old document; its vector is made, the others are carried over."""
    ann = await related(memory)
    memory.sql("update commonlore.relationship_document set document_text = 'stale' where document_text like '%%Uma%%'")
    await ask(memory, ann, "start", activate=True)
    embedder = ServedHashEmbedder()
    async with working(memory, ann, embedder) as works:
        await works.build(2)
        assert {2: "embedding", 1: "current"} == await states(memory, ann)
        await works.embed()

    assert {2: "current", 1: "standby"} == await states(memory, ann)
    assert 1 == len(embedder.texts)
    assert [4] == [len(contents(memory, 2)["vectors"])]
    assert [(1,)] == memory.sql(
        "select count(*) from commonlore.relationship_document where generation = 2 and document_text like '%%subject: Uma%%'"
    )


class Cursed(ServedHashEmbedder):
    """Cannot embed what names Uma."""

    async def embed_texts(self, texts: Any) -> Vectors:
        if any("Uma" in text for text in texts):
            raise EmbeddingMalformed("cursed")
        return await super().embed_texts(texts)


async def test_a_failing_document_is_isolated_and_counted_and_does_not_switch_off_the_team(memory: Memory) -> None:
    ann = await related(memory)
    memory.sql("update commonlore.relationship_document set document_text = document_text || ' ' where document_text is not null")
    await ask(memory, ann, "start", activate=True)
    async with working(memory, ann, Cursed()) as works:
        await works.build(2)
        await works.embed()
        failed = (await ask(memory, ann, "describe"))["generations"][0]
        assert ("failed", "documents_failed", 1, 3) == (
            failed["state"],
            failed["error_code"],
            failed["counts"]["failed"],
            failed["counts"]["current"],
        )
        answer = await memory.recall(ann, "Who works on Orion?")
        assert ("current", []) == (answer["search_states"]["relationships"], answer["degradations"])
        with pytest.raises(CommonloreError) as refused:
            await ask(memory, ann, "activate", generation=2)
        assert "stale_input" == refused.value.code

    await ask(memory, ann, "retry")
    async with working(memory, ann) as works:
        await works.build(2)
        await works.embed()
    assert {2: "current", 1: "standby"} == await states(memory, ann)


async def test_a_failed_generation_may_serve_without_what_failed_when_an_administrator_says_so(memory: Memory) -> None:
    ann = await related(memory)
    memory.sql("update commonlore.relationship_document set document_text = document_text || ' '")
    await ask(memory, ann, "start")
    async with working(memory, ann, Cursed()) as works:
        await works.build(2)
        await works.embed()
    await ask(memory, ann, "activate", generation=2, accept_failed=True)

    assert {2: "current", 1: "standby"} == await states(memory, ann)
    assert "current" == (await memory.recall(ann, "Who works on Orion?"))["search_states"]["relationships"]


async def test_a_paused_generation_rests_and_goes_on_where_it_was(memory: Memory) -> None:
    ann = await related(memory)
    await ask(memory, ann, "start")
    assert (await ask(memory, ann, "pause"))["paused_at"]
    async with working(memory, ann) as works:
        await works.build(2)
        assert 0 == (await ask(memory, ann, "describe"))["generations"][0]["counts"]["documents"]
        assert (await ask(memory, ann, "resume"))["paused_at"] is None
        await works.build(2)
    assert {2: "standby", 1: "current"} == await states(memory, ann)


async def test_a_retired_generation_is_cleared_away_and_writes_leave_it_alone(memory: Memory) -> None:
    ann = await related(memory, copies=3)
    await ask(memory, ann, "start", activate=True)
    async with working(memory, ann) as works:
        await works.build(2)
        whole = contents(memory, 2)
        await ask(memory, ann, "retire", generation=1)
        assert [("queued",)] == memory.sql("select state from commonlore.job where kind = 'clear_generation'")
        await memory.relate(ann, "Yan works on Orion.", "Yan", "works_on", "Orion")
        await works.clear(1)
    assert {2: "current", 1: "retired"} == await states(memory, ann)
    assert {"documents": [], "postings": [], "vectors": [], "whole": [(None, None)]} == contents(memory, 1)
    assert len(whole["documents"]) + 1 == len(contents(memory, 2)["documents"])
    assert "current" == (await memory.recall(ann, "Who works on Orion?"))["search_states"]["relationships"]
    await ask(memory, ann, "start")
    assert {3: "projecting_text", 2: "current", 1: "retired"} == await states(memory, ann)


@pytest.mark.parametrize(
    ("what", "fields", "code"),
    [
        ("start", {}, "generation_building"),
        ("activate", {"generation": 2}, "stale_input"),
        ("activate", {}, "stale_input"),
        ("activate", {"generation": 1}, "stale_input"),
        ("activate", {"generation": 9}, "not_found"),
        ("retire", {"generation": 1}, "stale_input"),
        ("retire", {"generation": 9}, "not_found"),
        ("pause", {"generation": 1}, "stale_input"),
        ("roll_back", {}, "stale_input"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name_and_changes_nothing(memory: Memory, what: str, fields: dict[str, Any], code: str) -> None:
    ann = await related(memory)
    await ask(memory, ann, "start")
    before = memory.sql("select * from commonlore.projection_generation order by generation")
    with pytest.raises(CommonloreError) as refused:
        await ask(memory, ann, what, **fields)

    assert code == refused.value.code
    assert before == memory.sql("select * from commonlore.projection_generation order by generation")


async def test_teams_have_generations_of_their_own(memory: Memory) -> None:
    ann, eve = await related(memory), await memory.key(team="another", scopes=("read", "write", "admin"))
    await ask(memory, ann, "start")
    assert {1: "current"} == await states(memory, eve)
    with pytest.raises(CommonloreError) as refused:
        await ask(memory, eve, "pause", generation=2)
    assert "not_found" == refused.value.code


async def test_a_generation_that_lacks_a_document_is_not_activated(memory: Memory) -> None:
    ann = await related(memory)
    await ask(memory, ann, "start")
    async with working(memory, ann) as works:
        await works.build(2)
    memory.sql(
        "delete from commonlore.relationship_document where generation = 2 and relationship_id = (select min(relationship_id::text)::uuid from commonlore.relationship)"
    )
    with pytest.raises(CommonloreError) as refused:
        await ask(memory, ann, "activate")
    assert ("generation_incomplete", {"lacking": 1, "pending": 0, "failed": 0}) == (refused.value.code, refused.value.details)
