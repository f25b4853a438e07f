"""A document that several generations take is counted once."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from commonlore.db import changes
from commonlore.db.changes import KeptGeneration
from commonlore.domain.projection.posting import count_terms
from commonlore.domain.remember.changes import Changes, DocumentRow

KEY = UUID(int=1)


class Silent:
    """A transaction that keeps nothing and finds nothing."""

    @property
    def connection(self) -> Silent:
        return self

    @asynccontextmanager
    async def pipeline(self) -> Any:
        yield

    async def execute(self, statement: str, **parameters: Any) -> Silent:
        return self

    async def fetchall(self) -> list[dict[str, Any]]:
        return []


async def test_a_write_counts_a_text_once_for_all_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is read, and one that is kept beside it."""
    counted: list[str] = []
    kept = [KeptGeneration(number, 1, "any", is_read=number == 1) for number in (1, 2)]

    async def generations(_: Any) -> list[KeptGeneration]:
        return kept

    async def nothing(*_: Any, **__: Any) -> None: ...

    monkeypatch.setattr(changes, "count_terms", lambda text: counted.append(text) or count_terms(text))
    monkeypatch.setattr(changes, "kept_generations", generations)
    monkeypatch.setattr(changes, "review_conflicts", nothing)
    written = Changes(documents=[DocumentRow(relationship_id=KEY, source_version=1, document_text="Zebra eats grass", replaces=None)])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    await changes.write_changes(Silent(), written, {}, now=now, submission_id=KEY, profile_id=KEY)  # type: ignore[arg-type]

    assert ["Zebra eats grass"] == counted
