"""Spaces, keys, members and teams: fenced at once, deleted by a worker, restored while there is time; and what a hold keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.db.erasure.waiting import ask_for_erasures, ask_for_unfinished
from commonlore.db.session import team_transaction
from commonlore.domain.erasure.request import EraseRequest, ErasureRequest, HoldRequest, PlaceHoldRequest
from commonlore.domain.errors import CommonloreError, Conflict, Forbidden, NotVisible, Unauthenticated
from tests.support.erasure import administration, carrying, delete, erase, exported, preview, work, worker_adapters
from tests.support.memory import Holder, Memory, contexts

EVERY = ("read", "write", "admin", "destroy")
SECRET = "The quixotic zanzibar ledger belongs to Ophelia Marrow."


def rows_with(memory: Memory, word: str) -> dict[str, int]:
    tables = [row[0] for row in memory.sql("select table_name from information_schema.tables where table_schema = 'commonlore'")]
    counts = {table: memory.sql(f"select count(*) from commonlore.{table} t where t::text ilike %s", f"%{word}%")[0][0] for table in tables}
    return {table: count for table, count in counts.items() if count}


def space_of(memory: Memory, holder: Holder, kind: str) -> UUID:
    found: UUID = memory.sql(
        "select space_id from commonlore.space where team_id = %s and space_kind = %s and (owner_credential_id is null or owner_credential_id = %s)",
        holder.team_id,
        kind,
        holder.credential_id,
    )[0][0]
    return found


def named_space(memory: Memory, holder: Holder, name: str) -> UUID:
    """A named space as its administrators make it, with a text in it, by the superuser."""
    [(space_id, epoch)] = memory.sql(
        "insert into commonlore.space (team_id, space_id, space_kind, name, space_epoch, known_from)"
        " values (%s, gen_random_uuid(), 'team_shared', %s, nextval('commonlore.space_epoch_number'), now()) returning space_id, space_epoch",
        holder.team_id,
        name,
    )
    memory.sql(
        "insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from) values (%s, %s, %s, now())", holder.team_id, epoch, space_id
    )
    memory.sql(
        "insert into commonlore.entity (team_id, space_epoch, entity_id, entity_kind, status, version, known_from)"
        " values (%s, %s, gen_random_uuid(), 'person', 'active', 1, now())",
        holder.team_id,
        epoch,
    )
    found: UUID = space_id
    return found


async def test_the_shared_space_is_emptied_and_stays(memory: Memory, tmp_path: Path) -> None:
    """Out of sight at once; what is written afterwards stays; the old number is gone."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    await memory.relate(ann, SECRET, "zanzibar ledger", "belongs_to", "Ophelia Marrow", kinds=("document", "person"))
    before = memory.sql("select space_epoch from commonlore.space where space_kind = 'team_shared'")
    begun = await erase(memory, ann, "space", space_of(memory, ann, "team_shared"))

    assert [] == contexts(await memory.recall(ann, "zanzibar ledger"))
    await memory.remember(ann, content="Something else about a ledger.")
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert receipt["deleted_rows"]["evidence"] == begun["counts"]["evidence"] == 1
    assert {} == rows_with(memory, "zanzibar")
    assert ["Something else about a ledger."] == contexts(await memory.recall(ann, "ledger"))
    assert [] == memory.sql("select from commonlore.space_epoch where space_epoch = %s", before[0][0])


async def test_a_keys_private_space_goes_with_the_key(memory: Memory, tmp_path: Path) -> None:
    ann, ben = await memory.key(scopes=EVERY), await memory.key()
    await memory.remember(ben, content=SECRET, target_space="private")
    await memory.remember(ann, content="Ann's own zebra.", target_space="private")
    await exported(memory, ann, tmp_path / "before", f"A page: {SECRET}")
    begun = await erase(memory, ann, "credential", ben.credential_id)

    with pytest.raises(Unauthenticated):
        await memory.recall(ben, "zanzibar")
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert {"before": "found"} == carrying(receipt)
    assert {} == rows_with(memory, "zanzibar")
    assert ["Ann's own zebra."] == contexts(await memory.recall(ann, "zebra"))


async def test_a_member_goes_with_its_texts_everywhere_and_what_others_said_stays(memory: Memory, tmp_path: Path) -> None:
    ann, ben = await memory.key(scopes=EVERY), await memory.key(member="Benedict Quill")
    await memory.relate(ben, SECRET, "zanzibar ledger", "belongs_to", "Ophelia Marrow", kinds=("document", "person"), target_space="team_shared")
    await memory.remember(ben, content="Private zanzibar.", target_space="private")
    await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem", target_space="team_shared")
    await memory.remember(ben, content="Mark works on Dense-Mem.", target_space="team_shared", metadata={"seen": "quill"})
    begun = await erase(memory, ann, "profile", ben.profile_id)

    assert [] == [text for text in contexts(await memory.recall(ann, "zanzibar ledger")) if "zanzibar" in text]
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert {} == rows_with(memory, "zanzibar") == rows_with(memory, "quill") == rows_with(memory, "Benedict")
    assert ["Mark works on Dense-Mem."] == contexts(await memory.recall(ann, "Who works on Dense-Mem?"))


async def test_a_whole_team_leaves_nothing_but_its_receipt(memory: Memory, tmp_path: Path) -> None:
    ann, other = await memory.key(scopes=EVERY), await memory.key("globex")
    await memory.relate(ann, SECRET, "zanzibar ledger", "belongs_to", "Ophelia Marrow", kinds=("document", "person"))
    await memory.remember(other, content="The zebra of another team.")
    begun = await erase(memory, ann, "team", ann.team_id)

    with pytest.raises(Unauthenticated):
        await memory.recall(ann, "zanzibar")
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert {} == rows_with(memory, "zanzibar") == rows_with(memory, "atlas")
    kept = {"team", "erasure", "erasure_scope", "erasure_count", "audit_entry", "audit_unsealed", "audit_seal"}
    assert set(rows_with(memory, str(ann.team_id))) <= kept
    assert ["The zebra of another team."] == contexts(await memory.recall(other, "zebra"))


def rejected(memory: Memory, holder: Holder, target: UUID) -> None:
    """A promotion into the space that nobody wanted, with words of people."""
    memory.sql(
        "insert into commonlore.promotion (team_id, promotion_id, state, owner_profile_id, source_space_id, target_space_id, with_relationships, reason,"
        " known_from, decided_by_profile_id, decided_at, decision_reason) values (%s, gen_random_uuid(), 'rejected', %s, %s, %s, false, 'for zanzibar',"
        " now(), %s, now(), 'not zanzibar')",
        holder.team_id,
        holder.profile_id,
        target,
        target,
        holder.profile_id,
    )


async def test_a_deleted_space_is_restored_or_erased_when_its_time_is_over(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY)
    space_id = named_space(memory, ann, "project zanzibar")
    rejected(memory, ann, space_id)
    said = "select reason, decision_reason from commonlore.promotion"
    first = await delete(memory, ann, "space", space_id, purge_after_days=3)
    state = "select lifecycle_state from commonlore.space where space_id = %s"

    assert ("deleted", [("sealed",)]) == (first["state"], memory.sql(state, space_id))
    assert {} == await work(memory, ann.team_id, first["erasure_id"], tmp_path)
    await administration(memory).restore(ann.key, ErasureRequest(erasure_id=UUID(first["erasure_id"])), correlation_id="test")
    assert [("active",)] == memory.sql(state, space_id)
    assert [("for zanzibar", "not zanzibar")] == memory.sql(said)

    second = await delete(memory, ann, "space", space_id, purge_after_days=3)
    memory.clock.advance(days=4)
    with pytest.raises(Conflict, match="deleted"):
        await administration(memory).restore(ann.key, ErasureRequest(erasure_id=UUID(second["erasure_id"])), correlation_id="test")
    async with worker_adapters(memory, tmp_path) as adapters, team_transaction(adapters.pool, ann.team_id, timeout_ms=10_000) as transaction:
        assert 1 == await ask_for_unfinished(transaction, memory.clock())
    receipt = await work(memory, ann.team_id, second["erasure_id"], tmp_path)

    assert receipt["complete"] and 1 == receipt["deleted_rows"]["entity"]
    assert ([("retired",)], [(None, None)]) == (memory.sql(state, space_id), memory.sql(said))


async def test_a_deleted_team_waits_for_its_time_and_then_is_erased(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY)
    await memory.remember(ann, content=SECRET)
    await exported(memory, ann, tmp_path / "before", SECRET)
    begun = await delete(memory, ann, "team", ann.team_id, purge_after_days=1)

    assert [] == memory.sql("select sample from commonlore.erasure_sample")
    with pytest.raises(Unauthenticated):
        await memory.recall(ann, "zanzibar")
    assert {"evidence"} <= set(rows_with(memory, "zanzibar"))
    async with worker_adapters(memory, tmp_path) as adapters:
        assert 0 == await ask_for_erasures(adapters.pool, memory.clock())
        assert 1 == await ask_for_erasures(adapters.pool, memory.clock.advance(days=2))
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert {"before": "found"} == carrying(receipt)
    assert {} == rows_with(memory, "zanzibar")


async def test_the_teams_own_space_cannot_be_deleted_and_nothing_foreign_can_be_erased(memory: Memory) -> None:
    ann, other = await memory.key(scopes=EVERY), await memory.key("globex", scopes=EVERY)
    answer = await memory.remember(other, content=SECRET, target_space="team_shared")

    with pytest.raises(CommonloreError, match="named space"):
        await delete(memory, ann, "space", space_of(memory, ann, "team_shared"))
    for kind, key in (
        ("evidence", answer["evidence"][0]["evidence_id"]),
        ("team", other.team_id),
        ("profile", other.profile_id),
        ("credential", other.credential_id),
        ("space", space_of(memory, other, "team_shared")),
        ("subject", other.team_id),
        ("source", other.team_id),
    ):
        with pytest.raises(NotVisible):
            await preview(memory, ann, kind, key)


@pytest.mark.parametrize("scopes", [("read", "write"), ("read", "write", "admin")])
async def test_only_the_scope_destroy_erases(memory: Memory, scopes: tuple[str, ...]) -> None:
    ann = await memory.key(scopes=scopes)
    answer = await memory.remember(ann, content=SECRET)

    with pytest.raises(Forbidden):
        await preview(memory, ann, "evidence", answer["evidence"][0]["evidence_id"])


async def test_another_name_another_state_and_a_used_token_erase_nothing(memory: Memory) -> None:
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    await memory.remember(ann, content=SECRET, source_key="s", source_revision="1")
    [(source_id,)] = memory.sql("select source_id from commonlore.evidence_source")
    seen = await preview(memory, ann, "source", source_id)
    request = {name: seen[name] for name in ("target_kind", "target_id", "confirmation", "confirmation_token")} | {"reason": "a test"}

    async def ask(**changed: Any) -> str:
        try:
            await administration(memory).erase(ann.key, msgspec.convert({**request, **changed}, EraseRequest), correlation_id="test")
        except CommonloreError as refused:
            return refused.code
        return "erased"

    assert "invalid_input" == await ask(confirmation="another")
    assert "stale_input" == await ask(confirmation_token="0" * 64)
    await memory.remember(ann, content="A second text.", source_key="s", source_revision="1")
    assert "stale_input" == await ask()
    assert SECRET in contexts(await memory.recall(ann, "zanzibar"))
    assert [(0,)] == memory.sql("select count(*) from commonlore.erasure")


@pytest.mark.parametrize("kind", ["evidence", "source", "profile", "space", "team"])
async def test_a_hold_stands_against_every_erasure_that_reaches_it_until_it_is_released(memory: Memory, kind: str) -> None:
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    ben = await memory.key(binding="shared_only", scopes=EVERY)
    answer = await memory.remember(ben, content=SECRET, source_key="s", source_revision="1")
    evidence_id = answer["evidence"][0]["evidence_id"]
    [(source_id,)] = memory.sql("select source_id from commonlore.evidence_source")
    held = {
        "evidence": evidence_id,
        "source": source_id,
        "profile": ben.profile_id,
        "space": space_of(memory, ann, "team_shared"),
        "team": ann.team_id,
    }
    place = msgspec.convert({"target_kind": kind, "target_id": str(held[kind]), "reason": "case 7"}, PlaceHoldRequest)
    hold = await administration(memory).place_hold(ann.key, place, correlation_id="test")
    with pytest.raises(Conflict):
        await administration(memory).place_hold(ann.key, place, correlation_id="test")

    for target in ("evidence", "source", "profile", "space", "team"):
        assert [hold["hold_id"]] == (await preview(memory, ann, target, held[target]))["holds"], target
        with pytest.raises(Conflict) as refused:
            await erase(memory, ann, target, held[target])
        assert "legal_hold" == refused.value.code
    assert [SECRET] == contexts(await memory.recall(ann, "zanzibar"))

    await administration(memory).release_hold(ann.key, HoldRequest(hold_id=UUID(hold["hold_id"])), correlation_id="test")
    assert "hidden" == (await erase(memory, ann, "evidence", evidence_id))["state"]


async def test_a_deletion_whose_time_is_over_waits_for_a_hold(memory: Memory, tmp_path: Path) -> None:
    ann = await memory.key(scopes=EVERY)
    space_id = named_space(memory, ann, "held")
    begun = await delete(memory, ann, "space", space_id, purge_after_days=1)
    place = msgspec.convert({"target_kind": "space", "target_id": str(space_id), "reason": "case 7"}, PlaceHoldRequest)
    hold = await administration(memory).place_hold(ann.key, place, correlation_id="test")
    memory.clock.advance(days=2)

    assert {} == await work(memory, ann.team_id, begun["erasure_id"], tmp_path)
    assert [("deleted",)] == memory.sql("select state from commonlore.erasure")
    await administration(memory).release_hold(ann.key, HoldRequest(hold_id=UUID(hold["hold_id"])), correlation_id="test")
    assert (await work(memory, ann.team_id, begun["erasure_id"], tmp_path))["complete"]
