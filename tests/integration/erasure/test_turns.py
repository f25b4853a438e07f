"""Erasures of many turns: what one turn has finished no other does again, and each transaction deletes a batch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from commonlore.db.erasure import deletion
from commonlore.db.erasure.deletion import Deletion
from commonlore.domain.errors import CommonloreError
from tests.support.erasure import erase, work
from tests.support.identity import administer
from tests.support.memory import Memory

EVERY = ("read", "write", "admin", "destroy")


def small(monkeypatch: pytest.MonkeyPatch, *tables: str) -> None:
    """One row a transaction of these tables."""
    real = deletion._together
    monkeypatch.setattr(deletion, "_together", lambda table: ((table, 1),) if table in tables else real(table))


def _noting(calls: list[str], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def step(*given: Any) -> Any:
        calls.append(name)
        return real(*given)

    return step


def counted(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """The calls of these steps, from here on."""
    calls: list[str] = []
    for name in names:
        monkeypatch.setattr(Deletion, name, _noting(calls, name, getattr(Deletion, name)))
    return calls


async def test_a_finished_step_is_not_done_again(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above all the counts of words: they are corrected once, however many turns it takes to delete the pieces of a text."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    long = " ".join(f"The zanzibar ledger has an entry of number {number}, which is a long one." for number in range(30))
    [gone, _] = await memory.remember_all(ann, [long, "Another text."])
    begun = await erase(memory, ann, "evidence", gone)
    small(monkeypatch, "evidence_part")
    calls, turns = counted(monkeypatch, "collect", "unlink", "purge_feedback"), list[int]()
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path, between=lambda: turns.append(1))

    assert receipt["complete"] and len(turns) >= receipt["deleted_rows"]["evidence_part"] > 2
    assert ["collect", "unlink", "purge_feedback"] == calls
    assert [(1, 1)] == memory.sql("select sum(parts)::int, sum(texts)::int from commonlore.evidence_statistic")


async def test_what_came_after_it_was_collected_is_collected_by_a_later_turn(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign key refuses the deletion; the next turn collects anew."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    [gone] = await memory.remember_all(ann, ["The zanzibar ledger."])
    begun = await erase(memory, ann, "evidence", gone)
    real = Deletion.collect

    async def collect(self: Deletion, *given: Any) -> None:
        """And right after it the late commit of somebody who had begun before."""
        await real(self, *given)
        memory.sql(
            "insert into commonlore.evidence_security_event select team_id, space_epoch, md5('late')::uuid, evidence_id, 'reviewer_signal', 'guarded', null,"
            " 'late', null, now() from commonlore.evidence on conflict do nothing"
        )
        memory.sql(
            "insert into commonlore.evidence_security_signal select team_id, space_epoch, md5('late')::uuid, 0, 'instruction_override', 'low', 0, 3, 'The'"
            " from commonlore.evidence on conflict do nothing"
        )

    with monkeypatch.context() as patch:
        patch.setattr(Deletion, "collect", collect)
        with pytest.raises(CommonloreError):
            await work(memory, ann.team_id, begun["erasure_id"], tmp_path)
    assert (await work(memory, ann.team_id, begun["erasure_id"], tmp_path))["complete"]


async def test_what_stands_beside_spaces_goes_in_batches(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a member the kept recalls; of a team whatever it has. What was said of texts of a whole space as well."""
    ann, bob = await memory.key(scopes=EVERY, member="ann"), await memory.key(member="bob")
    await administer(memory, ann, "update_feedback", enabled=True)
    await memory.remember(bob, content="The zanzibar ledger.", target_space="private")
    for holder in (bob, bob, ann, ann):
        await memory.recall(holder, "zanzibar ledger")
    monkeypatch.setattr(deletion, "BATCH", 1)
    real = deletion._together
    monkeypatch.setattr(
        deletion, "_together", lambda table: real(table) if table.startswith("feedback") else tuple((name, 2000) for name, _ in real(table))
    )
    left: list[tuple[int, int]] = []

    def look() -> None:
        left.extend(memory.sql("select (select count(*) from commonlore.feedback_recall), (select count(*) from commonlore.feedback_result)"))

    for kind, target in (("profile", bob.profile_id), ("team", ann.team_id)):
        begun = await erase(memory, ann, kind, target)
        left.clear()
        look()
        receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path, between=look)
        look()

        assert receipt["complete"]
        steps = [before - after for row, then in pairwise(left) for before, after in zip(row, then, strict=True)]
        assert {0, 1} == set(steps), left
    assert (0, 0) == left[-1]
