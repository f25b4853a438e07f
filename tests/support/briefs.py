"""Briefs in a memory under test: what makes them, and the calls on them."""

from __future__ import annotations

from typing import Any

import msgspec

from commonlore.api.operations import TOOLS
from tests.support.memory import Holder, Memory, a_relationship

PENDING_TEXT = "She moved there in spring."
SAYING_TEXT = "Ada lives in Lisbon since spring."


async def ask(memory: Memory, holder: Holder, name: str, /, **fields: Any) -> dict[str, Any]:
    """One call on briefs, by the name of its tool."""
    spec = TOOLS[name]
    request = msgspec.convert(fields, spec.request)
    validate = getattr(request, "validate", lambda: None)
    validate()
    return await spec.of(memory.operations)(holder.key, request, correlation_id="test")


async def pending(memory: Memory, holder: Holder, text: str = PENDING_TEXT, *, subject: str = "Ada", target: str = "Lisbon", **fields: Any) -> str:
    """A relationship that its text does not carry; its id."""
    proposal = a_relationship(subject, "lives_in", target, kinds=("person", "place"))
    answer = await memory.remember(holder, content=text, relationships=[proposal], **fields)
    [split] = answer["relationship_results"][0]["splits"]
    assert split["status"] == "pending_evidence"
    return str(split["relationship_id"])


async def store(memory: Memory, holder: Holder, text: str, **fields: Any) -> str:
    answer = await memory.remember(holder, content=text, **fields)
    return str(answer["evidence"][0]["evidence_id"])


async def claim(memory: Memory, holder: Holder, brief_id: str, **fields: Any) -> str:
    return str((await ask(memory, holder, "claim_brief", brief_id=brief_id, **fields))["claim_id"])


async def decide(memory: Memory, holder: Holder, brief_id: str, claim_id: str, decision: str, **fields: Any) -> dict[str, Any]:
    request = {"brief_id": brief_id, "claim_id": claim_id, "decision": decision, "reason": "as the text says", **fields}
    return await ask(memory, holder, "submit_verdict", **request)


def verification(relationship_id: str, version: int = 1) -> str:
    return f"verify_relationship:{relationship_id}:{version}"


def status_of(memory: Memory, relationship_id: str) -> tuple[str, int]:
    [(status, version)] = memory.sql("select status, version from commonlore.relationship where relationship_id = %s", relationship_id)
    return status, version


def footprint(memory: Memory) -> list[tuple[Any, ...]]:
    """Everything that a verdict may change, so that a refused one can be seen to change nothing."""
    tables = (
        "relationship",
        "relationship_support",
        "verification_event",
        "relationship_transition_event",
        "conflict_event",
        "entity_correction",
        "delegated_brief_event",
        "delegated_summary",
        "submission",
    )
    return [(table, *memory.sql(f"select count(*) from commonlore.{table}")[0]) for table in tables] + memory.sql(
        "select relationship_id::text, status, version from commonlore.relationship order by 1"
    )
