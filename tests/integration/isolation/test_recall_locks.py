"""Recall, trace and conflicts with one lock taken away at a time: across teams, across members, and across one member's keys.

`verify-isolation` proves it of each statement; here the whole service answers as the serving role, with every lane, an explanation,
views of another time, and ids of others in every field that takes ids.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.conflicts import contest_texts, list_cases, show_case
from tests.support.databases import TestDatabase
from tests.support.hypotheses import detail, dream, dreaming, dreams
from tests.support.locks import remove_policies, remove_predicates
from tests.support.memory import Holder, Memory, shown

SCOPES = ("read", "write", "admin")
TABLES = {
    "evidence": "evidence_id",
    "relationship": "relationship_id",
    "entity": "entity_id",
    "conflict_case": "conflict_id",
    "hypothesis": "hypothesis_id",
}


@dataclass
class World:
    """The same words in every space of two teams. Ann asks; all ids that are not of her two spaces are foreign.

    `others` are the foreign ids by whose they are: another team's, a colleague's private ones, those of another key of Ann's.
    """

    memory: Memory
    ann: Holder
    own: dict[str, list[str]]
    foreign: dict[str, list[str]]
    others: dict[str, list[str]]

    async def answers(self) -> dict[str, bytes]:
        """What Ann gets, by what she asked; a refusal by its code."""
        own, foreign, memory, ann = self.own, self.foreign, self.memory, self.ann
        everything: dict[str, Any] = {"limit": 50, "relationship_limit": 20, "community_limit": 10}
        asked: dict[str, Awaitable[dict[str, Any]]] = {
            "recall": memory.recall(ann, "Quokka runs Bastion", **everything, trace=True),
            "recall, few": memory.recall(ann, "Quokka runs Bastion", limit=1, relationship_limit=20),
            "recall, known then": memory.recall(ann, "Quokka", **everything, known_at=memory.clock.now.isoformat(), trace=True),
            "recall, valid then": memory.recall(ann, "Quokka", **everything, valid_at=memory.clock.now.isoformat()),
            "recall, foreign known": memory.recall(
                ann, "Quokka", **everything, known_evidence_ids=foreign["evidence"], known_relationship_ids=foreign["relationship"]
            ),
            "recall, foreign expansion": memory.recall(ann, "Quokka", limit=1, relationship_limit=20, expand_from_entity_ids=foreign["entity"]),
            "cases": list_cases(memory, ann),
            "hypotheses": _listed(memory, ann),
        }
        for kind, ids in (("own", own), ("foreign", foreign)):
            asked |= {f"trace of {kind} {number}": memory.trace(ann, key) for number, key in enumerate(ids["relationship"])}
            asked |= {f"hypothesis of {kind} {number}": detail(memory, ann, key) for number, key in enumerate(ids["hypothesis"])}
            asked |= {f"case of {kind} {number}": show_case(memory, ann, key) for number, key in enumerate(ids["conflict_case"])}
        return {name: await _said(answer) for name, answer in asked.items()}

    def leaks(self, answers: dict[str, bytes], whose: str = "") -> list[str]:
        """Questions whose answer holds an id that Ann may not see."""
        ids = [key.encode() for name, keys in self.others.items() for key in keys if whose in name]
        return [name for name, said in answers.items() if any(key in said for key in ids)]


async def _listed(memory: Memory, holder: Holder) -> dict[str, Any]:
    return {"dreams": await dreams(memory, holder, limit=100)}


async def _said(answer: Awaitable[dict[str, Any]]) -> bytes:
    try:
        found = await answer
    except CommonloreError as error:
        return error.code.encode()
    if "trace" in found:
        found = {**found, "trace": {name: part for name, part in found["trace"].items() if name != "timings_ms"}}
    return shown(msgspec.to_builtins(found))


async def fill(memory: Memory, holder: Holder, space: str) -> None:
    """Texts, relationships and a case of two texts, in the same words everywhere."""
    for text, predicate, target in (("runs", "runs", "Bastion"), ("likes", "likes", "Atlas")):
        await memory.relate(holder, f"Quokka {text} {target}.", "Quokka", predicate, target, target_space=space)
    for database in ("MySQL", "Oracle"):
        await memory.relate(
            holder,
            f"Quokka primary database is {database}.",
            "Quokka",
            "primary_database",
            database,
            kinds=("project", "product"),
            target_space=space,
        )
    ids = await memory.remember_all(holder, ["Quokka began in 2019.", "Quokka began in 2020."], target_space=space)
    await contest_texts(memory, holder, [(key, 0, 20) for key in ids], target_space=space)
    await memory.relate(holder, "Quokka works on Ledger.", "Quokka", "works_on", "Ledger", kinds=("project", "project"), target_space=space)
    await memory.relate(holder, "Ledger uses Kafka.", "Ledger", "uses", "Kafka", kinds=("project", "product"), target_space=space)
    kind = "team_shared" if space == "team_shared" else "credential_private"
    await dreaming(memory, holder, kind)
    assert "completed" == await dream(memory, holder, kind)


@pytest.fixture
async def world(database: TestDatabase) -> AsyncIterator[World]:
    async with Memory.open(database) as memory:
        ann, again = [await memory.key(member="Ann", scopes=SCOPES) for _ in range(2)]
        ben, eve = await memory.key(member="Ben", scopes=SCOPES), await memory.key(team="eve", scopes=SCOPES)
        for holder, space in ((ann, "private"), (again, "private"), (ben, "private"), (ann, "team_shared"), (eve, "private"), (eve, "team_shared")):
            await fill(memory, holder, space)
        await memory.relate(ben, "Ben says Quokka runs Bastion.", "Quokka", "runs", "Bastion")
        await memory.relate(
            ben, "Quokka primary database is Zig.", "Quokka", "primary_database", "Zig", kinds=("project", "product"), target_space="team_shared"
        )
        own: dict[str, list[str]] = {}
        foreign: dict[str, list[str]] = {}
        others: dict[str, list[str]] = {"another team": [], "another member": [], "another key": []}
        for table, column in TABLES.items():
            query = f"select t.{column}::text, t.team_id, s.owner_credential_id from commonlore.{table} t join commonlore.space s using (team_id, space_epoch)"
            for key, team_id, credential_id in memory.sql(f"{query} order by 1"):
                is_own = credential_id == ann.credential_id or (team_id == ann.team_id and credential_id is None)
                (own if is_own else foreign).setdefault(table, []).append(key)
                if not is_own:
                    whose = "key" if credential_id == again.credential_id else "member" if team_id == ann.team_id else "team"
                    others[f"another {whose}"].append(key)
        yield World(memory, ann, own, foreign, others)


async def test_a_caller_sees_both_of_its_spaces_and_nothing_else(world: World) -> None:
    """With both locks: every lane says something, and every id of another space or team is as unknown as one of nothing."""
    answers = await world.answers()
    recall = msgspec.json.decode(answers["recall"])

    assert {"private", "team_shared"} == {item["space_kind"] for item in recall["results"]}
    assert {"evidence_conflict", "cross_profile_current_state"} == {case["kind"] for case in recall["conflicts"]}
    assert {"private", "team_shared"} == {item["space_kind"] for item in recall["related_hypotheses"]}
    assert msgspec.json.decode(answers["recall, few"])["related_relationships"]
    assert [] == world.leaks(answers)
    assert {b"not_found"} == {said for name, said in answers.items() if " of foreign " in name}
    assert b"not_found" not in {said for name, said in answers.items() if " of foreign " not in name}


async def test_predicates_alone_isolate_a_recall(world: World) -> None:
    """Without row security every answer has the same bytes."""
    before = await world.answers()
    assert 40 < remove_policies(world.memory)

    assert before == await world.answers()


async def test_policies_alone_isolate_a_recall(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single comparison of team or space in a statement every answer has the same bytes."""
    before = await world.answers()
    assert 100 < remove_predicates(monkeypatch)

    assert before == await world.answers()


async def test_with_neither_lock_others_are_seen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof looks where there is something to see: in evidence, relationships, traces, cases and hypotheses, of the other team and of colleagues."""
    before = await world.answers()
    remove_policies(world.memory)
    remove_predicates(monkeypatch)
    after = await world.answers()

    changed = {name for name, said in after.items() if said != before[name]}
    assert {"recall", "recall, few", "recall, known then", "recall, foreign expansion", "cases", "hypotheses"} <= changed
    for whose in world.others:
        assert {"recall", "recall, few", "recall, known then", "cases", "hypotheses"} <= set(world.leaks(after, whose)), whose
    assert b"not_found" not in {said for name, said in after.items() if name.startswith(("trace of foreign", "hypothesis of foreign"))}
