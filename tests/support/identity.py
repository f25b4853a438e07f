"""What tests of merged, split and named entities share."""

from __future__ import annotations

from typing import Any

import msgspec

from commonlore.api.admin import ADMIN
from commonlore.api.administration import TeamAdministration
from tests.support.memory import Holder, Memory


async def administer(memory: Memory, holder: Holder, name: str, /, **fields: Any) -> dict[str, Any]:
    """One operation of an administrator, by its name."""
    spec = ADMIN[name]
    request = msgspec.convert({"reason": "a test", **fields} if "reason" in spec.request.__struct_fields__ else fields, spec.request)
    administration = TeamAdministration(memory.adapters, lambda _: None)
    return dict(await spec.of(administration)(holder.key, request, correlation_id="test"))


async def an_admin(memory: Memory) -> Holder:
    return await memory.key(scopes=("read", "write", "admin"))


def entity_id(memory: Memory, name: str) -> str:
    rows = memory.sql(
        "select n.entity_id::text from commonlore.entity_name n join commonlore.entity e using (entity_id) where n.display_name = %s and n.name_kind = 'canonical'",
        name,
    )
    return str(rows[0][0])


async def world(memory: Memory, holder: Holder, ids: list[str]) -> tuple[Any, ...]:
    """What recall and trace show of the relationships, without what a history adds: versions, events and copied paths that were revoked."""
    recalled = await memory.recall(holder, "Mark works on uses Zig database likes", limit=50, relationship_limit=20)
    traces = []
    for key in ids:
        trace = await memory.trace(holder, key)
        decided = {str(item["support_id"]): item["decision"] for item in trace["evidence_support_decision_events"]}
        kept = {name: value for name, value in trace["relationship"].items() if name != "version"}
        supports = sorted(
            (str(item["evidence_id"]), item["quote"]) for item in trace["evidence_supports"] if decided[str(item["support_id"])] != "revoke"
        )
        traces.append(
            (
                kept,
                supports,
                [item["content"] for item in trace["evidence"] if item["evidence_id"] in {key for key, _ in supports}],
                [item["document_text"] for item in trace["search_documents"]],
            )
        )
    results = sorted((item["evidence_id"], item["context"], sorted(item["relationship_ids"])) for item in recalled["results"])
    related = sorted((item["relationship_id"], item.get("text", "")) for item in recalled["related_relationships"])
    return results, related, traces
