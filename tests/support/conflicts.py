"""Members who contradict each other, and an administrator who decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from commonlore.api.administration import TeamAdministration
from commonlore.domain.conflict.request import ContestEvidenceRequest, DescribeConflictRequest, ListConflictsRequest, ResolveConflictRequest
from tests.support.memory import Holder, Memory, contexts

KINDS = ("project", "product")
QUERY = "Which primary database has Orion?"


async def state(memory: Memory, holder: Holder, database: str, text: str | None = None, **fields: Any) -> str:
    """`holder` says which database Orion has; the relationship's id."""
    return await memory.relate(
        holder, text or f"The primary database of Orion is {database}.", "Orion", "primary_database", database, kinds=KINDS, **fields
    )


async def decide(memory: Memory, holder: Holder, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert({"reason": "asked the team", **request}, ResolveConflictRequest)
    return await memory.operations.resolve_conflict(holder.key, decoded, correlation_id="test")


def administration(memory: Memory) -> TeamAdministration:
    return TeamAdministration(memory.adapters, memory.operations.note)


async def show_case(memory: Memory, holder: Holder, conflict_id: str) -> dict[str, Any]:
    decoded = msgspec.convert({"conflict_id": conflict_id}, DescribeConflictRequest)
    return dict(await administration(memory).describe_conflict(holder.key, decoded, correlation_id="test"))


async def list_cases(memory: Memory, holder: Holder, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert(request, ListConflictsRequest)
    return dict(await administration(memory).list_conflicts(holder.key, decoded, correlation_id="test"))


@dataclass
class Contested:
    """Ann says PostgreSQL and Ben says MySQL; Ada administers."""

    ann: Holder
    ben: Holder
    ada: Holder
    relationships: dict[str, str]
    conflict_id: str
    positions: dict[str, str]
    opened: datetime

    def request(self, preferred: str = "PostgreSQL", **fields: Any) -> dict[str, Any]:
        return {
            "conflict_id": self.conflict_id,
            "expected_version": 1,
            "action": "resolve",
            "preferred_position_id": self.positions[preferred],
            **fields,
        }


async def contest(memory: Memory, **fields: Any) -> Contested:
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    ada = await memory.key(member="Ada", scopes=("read", "write", "admin"))
    relationships = {"PostgreSQL": await state(memory, ann, "PostgreSQL", **fields), "MySQL": await state(memory, ben, "MySQL", **fields)}
    [(conflict_id,)] = memory.sql("select conflict_id::text from commonlore.conflict_case")
    shown = (await show_case(memory, ada, conflict_id))["conflict"]
    positions = {item["object"]["name"]: item["position_id"] for item in shown["positions"]}
    return Contested(ann, ben, ada, relationships, conflict_id, positions, memory.clock.now)


def rows(memory: Memory) -> list[tuple[Any, ...]]:
    """Everything that a decision may touch."""
    counts = [
        memory.sql(f"select count(*) from commonlore.{table}")[0]
        for table in ("conflict_event", "submission", "relationship_transition_event", "evidence_exclusion")
    ]
    return [
        *memory.sql("select status, version from commonlore.conflict_case order by 1, 2"),
        *memory.sql("select status, version from commonlore.relationship order by 1, 2"),
        *counts,
    ]


async def views(memory: Memory, holder: Holder, **view: Any) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The databases that a view's texts name, and the cases with their dispositions."""
    answer = await memory.recall(holder, QUERY, **view)
    named = [name for text in contexts(answer) for name in ("PostgreSQL", "MySQL", "Oracle") if name in text]
    return sorted(named), [(case["status"], [position["disposition"] for position in case["positions"]]) for case in answer["conflicts"]]


async def contest_texts(memory: Memory, holder: Holder, places: list[tuple[str, int, int]], **fields: Any) -> dict[str, Any]:
    request = {
        "case_key": "orion-launch",
        "question": "When was Orion launched?",
        "positions": [{"evidence_id": key, "start": start, "end": end} for key, start, end in places],
        "reason": "two years",
        **fields,
    }
    return await memory.operations.contest_evidence(holder.key, msgspec.convert(request, ContestEvidenceRequest), correlation_id="test")


async def launched(memory: Memory, holder: Holder, year: int) -> str:
    answer = await memory.remember(holder, content=f"Orion was launched in {year}.")
    return str(answer["evidence"][0]["evidence_id"])
