"""The model works for a key before it is checked only where its last recall was served."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.memory import Memory, ServedHashEmbedder


async def refused(recall: Awaitable[object]) -> str:
    with pytest.raises(CommonloreError) as caught:
        await recall
    return caught.value.code


async def test_a_key_that_was_never_served_makes_no_model_work(memory: Memory) -> None:
    embedder = ServedHashEmbedder()
    seen, writer = memory.with_embedder(embedder), await memory.key(scopes=("write",))

    assert ["unauthorized_scope"] * 2 == [await refused(seen.recall(writer, "pelican")) for _ in range(2)]
    assert [] == embedder.queries


async def test_a_key_that_is_refused_makes_it_work_once_more_at_most(memory: Memory) -> None:
    embedder = ServedHashEmbedder()
    seen, ann = memory.with_embedder(embedder), await memory.key()
    await memory.remember_all(ann, ["A pelican."])
    for query in ("pelican", "harbour"):
        await seen.recall(ann, query)
    assert ["pelican", "harbour"] == embedder.queries
    memory.sql("update commonlore.credential set revoked_at = now() where team_id = %s", ann.team_id)

    assert ["credential_invalid"] * 3 == [await refused(seen.recall(ann, f"quartz {number}")) for number in range(3)]
    assert ["pelican", "harbour"] == [query for query in embedder.queries if not query.startswith("quartz")]
    assert len(embedder.queries) <= 3
