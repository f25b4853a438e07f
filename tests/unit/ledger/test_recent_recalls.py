"""What a process noted of recalls, and how it tells other processes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonlore.db import echoes
from commonlore.db.echoes import RecentRecalls
from commonlore.domain.errors import Unavailable
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import Actor

NOW = datetime(2026, 7, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
FIRST, SECOND, THIRD = UUID(int=1), UUID(int=2), UUID(int=3)
POOL: Any = None


def of(team_id: UUID) -> Actor:
    return Actor(team_id, new_id(), new_id(), frozenset({"read"}), ())


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[UUID, Any]:
    """What was kept, by team; a team that is mapped to an error has it raised."""
    found: dict[UUID, Any] = {}

    async def keep(_pool: Any, team_id: UUID, _spaces: Collection[UUID], noted: Mapping[UUID, datetime], _now: datetime) -> None:
        if isinstance(found.get(team_id), Exception):
            raise found[team_id]
        found[team_id] = {**found.get(team_id, {}), **noted}

    monkeypatch.setattr(echoes, "_keep_recalled", keep)
    return found


async def test_a_team_that_fails_costs_no_other_team_anything(kept: dict[UUID, Any]) -> None:
    """Its own waits, with what was recalled since, and comes last the next time."""
    recent = RecentRecalls()
    for team_id in (FIRST, SECOND, THIRD):
        recent.note(of(team_id), [UUID(int=10)], NOW)
    kept[FIRST] = Unavailable("overloaded", "busy")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await recent.flush(POOL, NOW)
    assert {UUID(int=10): NOW} == kept[SECOND] == kept[THIRD]

    recent.note(of(FIRST), [UUID(int=10)], LATER)
    del kept[FIRST]
    await recent.flush(POOL, LATER)
    assert {UUID(int=10): LATER} == kept[FIRST]


async def test_what_waits_is_bounded(kept: dict[UUID, Any]) -> None:
    """Whatever one recall returns, or came back from a telling that failed: the latest are kept."""
    recent, most = RecentRecalls(), echoes._MOST_WAITING
    recent.note(of(FIRST), map(UUID, [f"{number:032x}" for number in range(most + 5)]), NOW)
    await recent.flush(POOL, NOW)

    assert [UUID(int=number) for number in range(5, most + 5)] == list(kept[FIRST])
