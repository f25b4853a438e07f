"""What is noted of texts beside the ledger: events of sessions, echoes, recalls that are kept, answers of repeated calls, the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from commonlore.domain.promote.request import PromoteRequest
from tests.support.audit import entries
from tests.support.erasure import erase, preview, work
from tests.support.identity import administer
from tests.support.memory import Holder, Memory, contexts

EVERY = ("read", "write", "admin", "destroy")
SAID = "The quixotic zanzibar ledger belongs to Ophelia Marrow since June."
_TABLES = "select table_name from information_schema.tables where table_schema = 'commonlore'"


async def gone(memory: Memory, ann: Holder, kind: str, target_id: object, home: Path) -> dict[str, Any]:
    """The receipt of an erasure, which is complete."""
    begun = await erase(memory, ann, kind, target_id)
    receipt = await work(memory, ann.team_id, begun["erasure_id"], home)
    assert receipt["complete"], receipt
    return receipt


def naming(memory: Memory, words: str) -> set[str]:
    """The tables that have a row with the words or the id."""
    return {
        table
        for (table,) in memory.sql(_TABLES)
        if memory.sql(f"select 1 from commonlore.{table} t where position(%s in t::text) > 0 limit 1", words)
    }


async def test_an_event_that_was_erased_is_not_taken_in_again(memory: Memory, tmp_path: Path) -> None:
    """The session is sent again, with its key and without: the other events are known, and the erased text is stored by neither."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    await memory.ingest(ann, SAID, "Another text.", idempotency_key="k")
    [(evidence_id,)] = memory.sql("select evidence_id::text from commonlore.evidence where content = %s", SAID)
    await gone(memory, ann, "evidence", evidence_id, tmp_path)
    for sent in ({"idempotency_key": "k"}, {}):
        await memory.ingest(ann, SAID, "Another text.", **sent)

    assert [("Another text.",)] == memory.sql("select content from commonlore.evidence")
    assert [(1, 2)] == memory.sql("select count(evidence_id), count(*) from commonlore.ingested_turn")
    assert set() == naming(memory, SAID)
    assert {"erasure_item", "audit_entry"} >= naming(memory, evidence_id)
    assert ["Another text."] == contexts(await memory.recall(ann, "quixotic zanzibar"))


async def test_an_echo_lets_its_source_go_and_goes_with_its_own_text(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    source = (await memory.remember(ann, content=SAID, source="minutes"))["evidence"][0]["evidence_id"]
    await memory.recall(ann, SAID)
    echo = (await memory.remember(ann, content=f"I recall: {SAID}"))["evidence"][0]
    await gone(memory, ann, "evidence", source, tmp_path)
    between = memory.sql("select echoed_evidence_id from commonlore.evidence_echo"), memory.sql("select count(*) from commonlore.recalled_evidence")
    await gone(memory, ann, "evidence", echo["evidence_id"], tmp_path)

    assert [source] == echo["echo_of"]
    assert ([(None,)], [(0,)]) == between
    assert [(0,)] == memory.sql("select count(*) from commonlore.evidence_echo")


async def keeping(memory: Memory, ann: Holder, *others: Holder) -> str:
    """A text that each of them was shown, with feedback of the first; its id."""
    await administer(memory, ann, "update_feedback", enabled=True)
    text = (await memory.remember(ann, content=SAID, target_space="team_shared", idempotency_key="k"))["evidence"][0]["evidence_id"]
    for holder in (ann, *others):
        await memory.recall(holder, SAID)
    return str(text)


async def test_kept_recalls_forget_what_is_erased_and_the_log_stays(memory: Memory, tmp_path: Path) -> None:
    """Of the recalls the rows that name it; of the call that stored it the answer, the key and the hash. No entry of the log goes or has a word of it."""
    ann = await memory.key(scopes=EVERY)
    text = await keeping(memory, ann)
    before = entries(memory.database, ann.team_id)
    receipt = await gone(memory, ann, "evidence", text, tmp_path)
    after = entries(memory.database, ann.team_id)

    assert 1 == receipt["deleted_rows"]["feedback_result"]
    assert [(1, 0)] == memory.sql("select (select count(*) from commonlore.feedback_recall), (select count(*) from commonlore.feedback_result)")
    assert [(None, None)] == memory.sql("select idempotency_key, result from commonlore.submission")
    assert before == after[: len(before)] and len(before) < len(after)
    assert set() == naming(memory, SAID)
    assert {"erasure_item", "audit_entry"} >= naming(memory, text)


@pytest.mark.parametrize("kind", ["profile", "credential"])
async def test_recalls_of_who_is_erased_go_with_all_that_was_said_of_them(memory: Memory, tmp_path: Path, kind: str) -> None:
    """Those of others stay."""
    ann, bob = await memory.key(scopes=EVERY, member="ann"), await memory.key(member="bob")
    await keeping(memory, ann, bob)
    receipt = await gone(memory, ann, kind, getattr(bob, f"{kind}_id"), tmp_path)

    assert 1 == receipt["deleted_rows"]["feedback_recall"]
    assert [(ann.profile_id,)] == memory.sql("select profile_id from commonlore.feedback_recall")
    assert [(0,)] == memory.sql(
        "select count(*) from commonlore.feedback_result r where not exists (select from commonlore.feedback_recall k where k.recall_id = r.recall_id)"
    )


async def promoted(memory: Memory, ann: Holder, content: str) -> str:
    """A private text whose copy others read, with a reason that quotes it; its id."""
    text = (await memory.remember(ann, content=content, target_space="private"))["evidence"][0]["evidence_id"]
    request = msgspec.convert({"evidence_ids": [text], "reason": f"all shall know: {content}"}, PromoteRequest)
    await memory.operations.promote_evidence(ann.key, request, correlation_id="test")
    return str(text)


async def test_the_reason_of_a_promotion_goes_with_its_text_at_once(memory: Memory, tmp_path: Path) -> None:
    """That of another stays. The copy is a text of its own, which goes by its own erasure; whoever erases the original is told of it."""
    ann, _ = await memory.key(scopes=EVERY), await memory.key(scopes=EVERY)
    text = await promoted(memory, ann, SAID)
    await promoted(memory, ann, "The pelican is in Lisbon.")
    [(copy,)] = memory.sql("select evidence_id::text from commonlore.promotion_item where source_evidence_id = %s::uuid", text)
    told = [await preview(memory, ann, *target) for target in (("evidence", text), ("credential", ann.credential_id), ("evidence", copy))]
    begun = await erase(memory, ann, "evidence", text)
    reasons = memory.sql("select reason from commonlore.promotion order by known_from")
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)
    await gone(memory, ann, "evidence", copy, tmp_path)

    assert {"count": 1, "evidence_ids": [copy]} == begun["promoted_copies"] == told[0]["promoted_copies"]
    assert [2, 0] == [seen["promoted_copies"]["count"] for seen in told[1:]]
    assert [(None,), ("all shall know: The pelican is in Lisbon.",)] == reasons
    assert {"evidence": 1} == {table: count for table, count in receipt["deleted_rows"].items() if table == "evidence"}
    assert set() == naming(memory, SAID)


async def test_a_team_with_promotions_rules_and_limits_goes_whole(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY)
    await promoted(memory, ann, SAID)
    await keeping(memory, ann)
    await administer(memory, ann, "update_retention", answer_days=30)
    memory.sql("insert into commonlore.limit_use select team_id, team_id, 'read', now(), now(), 1, now(), 1 from commonlore.team")
    await gone(memory, ann, "team", ann.team_id, tmp_path)

    kept = {"team", "erasure", "erasure_scope", "erasure_count", "audit_entry", "audit_unsealed", "audit_seal"}
    assert naming(memory, str(ann.team_id)) <= kept
    assert set() == naming(memory, SAID)
