"""Postings of many words are put together beside the event loop, which has other requests and jobs to serve."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest

from commonlore.db import postings
from commonlore.domain.projection.posting import PostedText

KEY = str(UUID(int=1))
DIFFERENCE = {"generation": 1, "sign": 1, "keys": [KEY], "bases": [1], "words": {"zebra": "{64}"}}


class Told:
    """A transaction that answers with one difference of each kind and keeps nothing."""

    def __init__(self) -> None:
        self.terms: list[str] = []

    async def execute(self, statement: str, **parameters: Any) -> Told:
        self.terms += [parameters["terms"]] if "terms" in parameters else []
        return self

    async def fetchall(self) -> list[dict[str, Any]]:
        return [DIFFERENCE]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[threading.Thread]:
    """The threads in which blocks are made."""
    seen: set[threading.Thread] = set()
    made = postings.blocks

    def watched(*given: Any) -> Any:
        seen.add(threading.current_thread())
        return made(*given)

    monkeypatch.setattr(postings, "blocks", watched)
    return seen


async def test_a_write_of_many_parts_leaves_the_loop_alone(threads: set[threading.Thread]) -> None:
    transaction = Told()
    await postings.post_parts(transaction, [PostedText(KEY, number, 1, {"zebra": 1}) for number in range(65)])  # type: ignore[arg-type]

    assert ["zebra\nzebra"] == transaction.terms
    assert threads and threading.current_thread() not in threads


async def test_a_folding_leaves_the_loop_alone(threads: set[threading.Thread]) -> None:
    transaction = Told()
    await postings.fold_postings(transaction)  # type: ignore[arg-type]

    assert ["zebra", "zebra"] == transaction.terms
    assert threads and threading.current_thread() not in threads
