"""When a query is asked, by whose calendar, and the time that its caller states."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.recall.plan import parse_intent
from commonlore.domain.recall.request import RecallRequest

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def periods(query: str = "the log", now: datetime | None = NOW, **fields: Any) -> list[tuple[datetime | None, datetime | None]]:
    intent = parse_intent(msgspec.convert({"query": query, **fields}, RecallRequest), now=now)
    return [(period.start, period.end) for period in intent.hints.periods]


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({}, "2026-11-29"),
        ({"known_at": "2026-05-10T00:00:00Z"}, "2026-05-09"),
        ({"known_at": "2026-05-10T00:00:00Z", "valid_at": "2026-04-10T00:00:00Z"}, "2026-04-09"),
        ({"valid_at": "2026-04-10T00:00:00Z", "asked_at": "2026-03-10T00:00:00Z"}, "2026-03-09"),
        ({"asked_at": "2026-03-10T01:00:00+02:00"}, "2026-03-08T22:00:00"),
        ({"asked_at": "2026-03-10T01:00:00+02:00", "time_zone": "UTC"}, "2026-03-08"),
        ({"time_zone": "Asia/Tokyo"}, "2026-11-28T15:00:00"),
    ],
)
def test_words_count_from_when_it_is_asked_else_from_the_view_else_from_now(fields: dict[str, str], start: str) -> None:
    assert [at(start)] == [period[0] for period in periods("what did we say yesterday", **fields)]


@pytest.mark.parametrize(
    ("cue", "start", "end"),
    [
        ({"after": "2026-03-29", "before": "2026-03-29"}, "2026-03-28T23:00:00", "2026-03-29T22:00:00"),
        ({"after": "2026-03-01", "before": "2026-03-31"}, "2026-02-28T23:00:00", "2026-03-31T22:00:00"),
        ({"after": "2026-03-01T12:00:00Z"}, "2026-03-01T12:00:00", None),
        ({"before": "2026-03-01T12:00:00+01:00"}, None, "2026-03-01T11:00:00"),
    ],
)
def test_a_stated_time_is_days_of_the_zone_or_instants(cue: dict[str, str], start: str | None, end: str | None) -> None:
    assert [(start and at(start), end and at(end))] == periods(time_zone="Europe/Berlin", time_cue=cue)


def test_a_stated_time_stands_beside_the_words() -> None:
    """Either suits; a query with as many times as are kept still has it."""
    stated = (at("2026-03-01"), at("2026-03-02"))
    cue = {"after": "2026-03-01", "before": "2026-03-01"}
    dates = " and ".join(f"May {day}, 2023" for day in range(1, 20))

    assert [(at("2026-11-29"), at("2026-11-30")), stated] == periods("yesterday", time_cue=cue)
    assert (16, stated) == (len(found := periods(dates, time_cue=cue)), found[-1])


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"asked_at": "2026-03-10T01:00:00"}, "/asked_at"),
        ({"asked_at": "yesterday"}, "/asked_at"),
        ({"time_zone": "Berlin"}, "/time_zone"),
        ({"time_zone": "localtime"}, "/time_zone"),
        ({"time_zone": "../../etc/passwd"}, "/time_zone"),
        ({"time_cue": {}}, "/time_cue"),
        ({"time_cue": {"after": "2026-02-29"}}, "/time_cue/after"),
        ({"time_cue": {"before": "2026-03-10T01:00:00"}}, "/time_cue/before"),
        ({"time_cue": {"before": "9999-12-31"}}, "/time_cue/before"),
        ({"time_cue": {"after": "2026-03-02", "before": "2026-03-01"}}, "/time_cue/before"),
        ({"time_cue": {"after": "2026-W10"}}, "/time_cue/after"),
        ({"time_zone": "Asia/Tokyo", "time_cue": {"after": "0001-01-01"}}, "/time_cue/after"),
    ],
)
def test_what_is_no_time_is_refused_and_named(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as refused:
        periods(**fields)

    assert [pointer] == [problem.pointer for problem in refused.value.problems]
