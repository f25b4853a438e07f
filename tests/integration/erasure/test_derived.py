"""What is derived follows: each derived thing, after a retraction, a correction and an erasure, is gone or filtered in the next answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonlore.db.erasure import checking
from tests.support.briefs import ask, pending
from tests.support.communities import detect, enable, nested
from tests.support.conflicts import contest_texts
from tests.support.erasure import carrying, erase, exported, listed, work
from tests.support.hypotheses import dream, dreaming, dreams, said
from tests.support.memory import Holder, Memory, contexts

EVERY = ("read", "write", "admin", "destroy")


async def holder(memory: Memory) -> Holder:
    return await memory.key(scopes=EVERY, binding="shared_only")


async def withdraw(memory: Memory, ann: Holder, how: str, relationship_id: str) -> str | None:
    """Retract the text behind a relationship, correct the relationship, or erase the text; the erasure's id."""
    [(evidence_id,)] = memory.sql(
        "select distinct evidence_id from commonlore.relationship_support where relationship_id = %s::uuid", relationship_id
    )
    if how == "retraction":
        await memory.retract(ann, str(evidence_id))
    elif how == "correction":
        await memory.correct(ann, relationship_id, patch={"polarity": "-"})
    else:
        return str((await erase(memory, ann, "evidence", evidence_id))["erasure_id"])
    return None


async def finished(memory: Memory, ann: Holder, erasure_id: str | None, home: Path) -> None:
    if erasure_id is not None:
        receipt = await work(memory, ann.team_id, erasure_id, home)
        assert receipt["complete"], receipt


WAYS = ("retraction", "correction", "erasure")


@pytest.mark.parametrize("how", WAYS)
async def test_documents_postings_and_vectors_follow(memory: Memory, tmp_path: Path, how: str) -> None:
    """In the present at once, and for an erasure in every view and every table."""
    ann = await holder(memory)
    kept = await memory.relate(ann, "Mark likes zebras.", "Mark", "likes", "zebra", kinds=("person", "concept"))
    gone = await memory.relate(ann, "Uma adores the quagga.", "Uma", "adores", "quagga", kinds=("person", "concept"))
    before = memory.clock()
    erasure_id = await withdraw(memory, ann, how, gone)
    answer = await memory.recall(ann, "Who adores the quagga?", relationship_limit=20)
    past = await memory.recall(ann, "Who adores the quagga?", known_at=before.isoformat(), relationship_limit=20)

    shown = {item["relationship_id"] for item in answer["related_relationships"]} | {
        key for item in answer["results"] for key in item["relationship_ids"]
    }
    assert gone not in shown
    assert ("Uma adores the quagga." in contexts(past)) == (how != "erasure")
    await finished(memory, ann, erasure_id, tmp_path)
    if how == "erasure":
        for table in ("relationship_document", "relationship_vector_1"):
            assert [(kept,)] == [(str(key),) for (key,) in memory.sql(f"select distinct relationship_id from commonlore.{table}")]
        assert [(kept,)] == [(str(key),) for (key,) in memory.sql("select distinct unnest(relationship_ids) from commonlore.relationship_posting")]
        for table in ("evidence_posting", "relationship_posting"):
            assert [(0,)] == memory.sql(f"select count(*) from commonlore.{table} where term like 'quagga%%' or term like 'ador%%'")
        for table in ("evidence_posting_difference", "relationship_posting_difference"):
            assert [(0,)] == memory.sql(f"select count(*) from commonlore.{table}")
        assert [(1, 1)] == memory.sql("select sum(parts)::int, sum(texts)::int from commonlore.evidence_statistic")


@pytest.mark.parametrize("how", WAYS)
async def test_communities_follow(memory: Memory, tmp_path: Path, how: str) -> None:
    ann = await holder(memory)
    await enable(memory, ann)
    relationships = [
        await memory.relate(ann, f"{first} knows {then}.", first, "knows", then, kinds=("person", "person"))
        for first, then in (("Uma", "Vic"), ("Vic", "Wim"), ("Wim", "Uma"), ("Uma", "Xan"))
    ]
    assert "completed" == await detect(memory, ann)
    erasure_id = await withdraw(memory, ann, how, relationships[3])
    answer = await memory.recall(ann, "Who knows whom?")

    assert "Uma knows Xan" not in [line for lines in nested(answer) for line in lines]
    await finished(memory, ann, erasure_id, tmp_path)
    assert "completed" == await detect(memory, ann)
    again = await memory.recall(ann, "Who knows whom?")
    assert "Uma knows Xan" not in [line for lines in nested(again) for line in lines]
    if how == "erasure":
        assert "Xan" not in str(again)


@pytest.mark.parametrize("how", WAYS)
async def test_hypotheses_follow(memory: Memory, tmp_path: Path, how: str) -> None:
    ann = await holder(memory)
    await dreaming(memory, ann)
    for number in range(3):
        await memory.relate(
            ann, f"Part{number} is part of Whole{number}.", f"Part{number}", "part_of", f"Whole{number}", kinds=("concept", "concept")
        )
        await memory.relate(ann, f"Whole{number} is part of All{number}.", f"Whole{number}", "part_of", f"All{number}", kinds=("concept", "concept"))
    gone = await memory.relate(ann, "Quagga is part of Herd.", "Quagga", "part_of", "Herd", kinds=("concept", "concept"))
    await memory.relate(ann, "Herd is part of Plain.", "Herd", "part_of", "Plain", kinds=("concept", "concept"))
    await dream(memory, ann)
    before = [item for item in await dreams(memory, ann) if "Quagga" in str(item)]
    erasure_id = await withdraw(memory, ann, how, gone)

    assert before
    live = [item for item in await dreams(memory, ann) if "Quagga" in str(item) and item.get("status") in ("proposed", "reinforced")]
    assert [] == live
    assert [] == [line for line in said(await memory.recall(ann, "quagga herd plain")) if "Quagga" in line]
    await finished(memory, ann, erasure_id, tmp_path)
    if how == "erasure":
        assert [] == [item for item in await dreams(memory, ann) if "Quagga" in str(item)]
        assert [(0,)] == memory.sql("select count(*) from commonlore.hypothesis_term where term like 'quagga%%'")


@pytest.mark.parametrize("how", ["retraction", "erasure"])
async def test_conflicts_of_texts_follow(memory: Memory, tmp_path: Path, how: str) -> None:
    """A withdrawn quote is not told; a case of which an erasure leaves one side is gone, in every view."""
    ann = await holder(memory)
    texts = ["The launch is in May, said Quagga.", "The launch is in June, said Zebra."]
    ids = await memory.remember_all(ann, texts)
    opened = await contest_texts(memory, ann, [(ids[0], 0, len(texts[0])), (ids[1], 0, len(texts[1]))])
    case = opened["conflict_id"]
    before = memory.clock()
    begun = await erase(memory, ann, "evidence", ids[0]) if how == "erasure" else await memory.retract(ann, ids[0])
    recalled = [await memory.recall(ann, "launch", **view) for view in ({}, {"known_at": before.isoformat()})]

    assert "Quagga" not in str(recalled[0])
    if how == "erasure":
        assert "Quagga" not in str(recalled[1]) and case not in str(recalled)
        await finished(memory, ann, begun["erasure_id"], tmp_path)
        assert [(0,)] == memory.sql("select count(*) from commonlore.conflict_case")
        assert [texts[1]] == contexts(await memory.recall(ann, "launch"))


async def test_conflicts_of_statements_keep_what_others_say(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    ben, cay = await memory.key(binding="shared_only"), await memory.key(binding="shared_only")
    made: list[str] = []
    for who, city in ((ann, "Quaggaville"), (ben, "Lisbon"), (cay, "Porto")):
        made.append(await memory.relate(who, f"Ada lives in {city}.", "Ada", "lives_in", city, kinds=("person", "place")))
    cases = memory.sql("select conflict_id from commonlore.conflict_case")
    [(evidence_id,)] = memory.sql("select evidence_id from commonlore.relationship_support where relationship_id = %s::uuid", made[0])
    begun = await erase(memory, ann, "evidence", evidence_id)

    assert "Quaggaville" not in str(await memory.recall(ben, "Where does Ada live?", relationship_limit=20))
    await finished(memory, ann, begun["erasure_id"], tmp_path)
    assert cases == memory.sql("select conflict_id from commonlore.conflict_case")
    assert [(2,)] == memory.sql("select count(*) from commonlore.conflict_position") or not cases


@pytest.mark.parametrize("how", ["retraction", "erasure"])
async def test_briefs_follow(memory: Memory, tmp_path: Path, how: str) -> None:
    ann = await holder(memory)
    relationship_id = await pending(memory, ann)
    listed = await ask(memory, ann, "list_briefs")
    [(evidence_id,)] = memory.sql("select evidence_id from commonlore.evidence")
    begun: dict[str, Any] = {}
    if how == "erasure":
        begun = await erase(memory, ann, "evidence", evidence_id)
    else:
        await memory.retract(ann, str(evidence_id))

    assert relationship_id in str(listed)
    assert [] == (await ask(memory, ann, "list_briefs"))["briefs"] or how == "retraction"
    if begun:
        await finished(memory, ann, begun["erasure_id"], tmp_path)
        assert [(0, 0)] == memory.sql("select (select count(*) from commonlore.relationship), (select count(*) from commonlore.delegated_brief)")


async def test_stored_answers_and_keys_follow(memory: Memory, tmp_path: Path) -> None:
    """A repetition of the erased call is another call; nothing of its first answer is told."""
    ann = await holder(memory)
    request: dict[str, Any] = {"evidence": [{"content": "The quagga ledger."}], "idempotency_key": "quagga-1"}
    first = await memory.remember(ann, **request)
    begun = await erase(memory, ann, "evidence", first["evidence"][0]["evidence_id"])
    again = await memory.remember(ann, **request)

    assert first["evidence"][0]["evidence_id"] != again["evidence"][0]["evidence_id"]
    await finished(memory, ann, begun["erasure_id"], tmp_path)
    assert ["The quagga ledger."] == contexts(await memory.recall(ann, "quagga"))


async def test_what_another_text_says_too_stays_without_the_erased_quote(memory: Memory, tmp_path: Path) -> None:
    """And can be said again before the worker came."""
    ann = await holder(memory)
    relationship_id = await memory.relate(ann, "Mark works on Dense-Mem, quagga.", "Mark", "works_on", "Dense-Mem")
    await memory.relate(ann, "Yes, Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    [(evidence_id,)] = memory.sql("select evidence_id from commonlore.evidence where content like '%%quagga%%'")
    begun = await erase(memory, ann, "evidence", evidence_id)
    trace = await memory.trace(ann, relationship_id)

    assert "quagga" not in str(trace) and str(evidence_id) not in str(trace)
    await finished(memory, ann, begun["erasure_id"], tmp_path)
    assert "quagga" not in str(await memory.trace(ann, relationship_id))
    assert [(1, "active")] == memory.sql("select support_count, status from commonlore.relationship")


async def test_a_statement_can_be_made_again_while_its_erased_row_waits_for_the_worker(memory: Memory, tmp_path: Path) -> None:
    """The unique keys of texts, identities, values and names are free at once; what is new outlives the deletion."""
    ann = await holder(memory)
    first = await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    [(evidence_id,)] = memory.sql("select evidence_id from commonlore.evidence")
    begun = await erase(memory, ann, "evidence", evidence_id)
    second = await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")

    assert first != second
    await finished(memory, ann, begun["erasure_id"], tmp_path)
    assert ["Mark works on Dense-Mem."] == contexts(await memory.recall(ann, "Who works on Dense-Mem?"))
    assert [(2,)] == memory.sql("select count(*) from commonlore.entity")


@pytest.mark.parametrize("with_mentions", [False, True])
async def test_a_subject_goes_with_every_text_that_supports_it_and_where_asked_with_those_that_name_it(
    memory: Memory, tmp_path: Path, with_mentions: bool
) -> None:
    ann = await holder(memory)
    await memory.relate(ann, "Ophelia Marrow knows Mark.", "Ophelia Marrow", "knows", "Mark", kinds=("person", "person"))
    await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    await memory.remember(ann, content="Yesterday ophelia marrow called.")
    [(entity_id,)] = memory.sql("select entity_id from commonlore.entity_name where display_name = 'Ophelia Marrow'")
    begun = await erase(memory, ann, "subject", entity_id, **({"with_mentions": True} if with_mentions else {}))
    await finished(memory, ann, begun["erasure_id"], tmp_path)

    left = [("Mark works on Dense-Mem.",)] + ([] if with_mentions else [("Yesterday ophelia marrow called.",)])
    assert sorted(left) == sorted(memory.sql("select content from commonlore.evidence"))
    assert [(0,)] == memory.sql("select count(*) from commonlore.entity_name where display_name ilike '%%ophelia%%'")
    assert [(0,)] == memory.sql("select count(*) from commonlore.predicate_definition where predicate_key = 'knows'")


async def test_a_source_goes_with_all_its_revisions_and_can_begin_anew(memory: Memory, tmp_path: Path) -> None:
    ann = await holder(memory)
    await memory.remember(ann, content="Quagga, first.", source_key="s", source_revision="1")
    await memory.remember(ann, content="Quagga, second.", source_key="s", source_revision="2", previous_source_revision="1")
    [(source_id,)] = memory.sql("select source_id from commonlore.evidence_source")
    begun = await erase(memory, ann, "source", source_id)
    await finished(memory, ann, begun["erasure_id"], tmp_path)

    assert [(0, 0)] == memory.sql(
        "select (select count(*) from commonlore.evidence_source), (select count(*) from commonlore.evidence_source_revision)"
    )
    await memory.remember(ann, content="Zebra.", source_key="s", source_revision="1")
    assert ["Zebra."] == contexts(await memory.recall(ann, "zebra quagga"))


async def test_files_that_were_made_before_are_named_until_they_are_destroyed(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain ones are read byte by byte, across the border of two pieces; of packed and missing ones the receipt says what it does not know.

    All of them, page by page, however many are destroyed.
    """
    monkeypatch.setattr(checking, "_PAGE", 2)
    ann = await holder(memory)
    ids = await memory.remember_all(ann, ["The quixotic zanzibar ledger of Ophelia Marrow.", "Another text."])
    border = (1 << 20) - 10
    await exported(memory, ann, tmp_path / "plain", "x" * border + "The quixotic zanzibar ledger of Ophelia Marrow." + "y" * 100)
    await exported(memory, ann, tmp_path / "clean", "z" * 100)
    for name in ("missing", "gone", "gone", "gone"):
        await listed(memory, ann, tmp_path / name)
    memory.sql("update commonlore.export set destroyed_at = now() where export_kind = 'gone'")
    begun = await erase(memory, ann, "evidence", ids[0])
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert {"plain": "found", "clean": "possible", "missing": "missing"} == carrying(receipt)
    assert ["missing", "clean", "plain"] == [item["kind"] for item in receipt["exports_to_destroy"]]
