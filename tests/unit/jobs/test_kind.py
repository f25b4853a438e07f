"""The kinds of jobs, their tries and reasons, and what progress says of the rest."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonlore.db.jobs import job_key
from commonlore.domain.ids import new_id
from commonlore.domain.jobs.kind import EMBED_PARTS, KINDS, REASONS, JobFailed, RetryPolicy
from commonlore.domain.jobs.progress import Progress, rate_of
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.jobs import PERIODIC

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "jobs.md"
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def rows(heading: str) -> list[tuple[str, ...]]:
    """The rows of a table of the page, code marks gone."""
    part = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [tuple(cell.strip().strip("`") for cell in line.strip("|").split("|")) for line in part.splitlines() if line.startswith("|")]
    return cells[2:]


def test_every_kind_has_a_handler_and_a_place_on_the_page() -> None:
    """And every kind of the installation comes by the clock, for nobody asks for it."""
    assert set(KINDS) == set(HANDLERS) == {name for name, _, _ in rows("Kinds")}
    assert {name: kind.per for name, kind in KINDS.items()} == {name: per.split()[-1] for name, per, _ in rows("Kinds")}
    assert {name for name, kind in KINDS.items() if kind.per == "installation"} == set(PERIODIC)
    assert all(re.fullmatch(r"[a-z][a-z_]{0,63}", text) for kind in KINDS.values() for text in (kind.name, kind.queue))


def test_the_page_has_the_closed_list_of_reasons() -> None:
    assert dict(REASONS) == dict(rows("Reasons"))
    with pytest.raises(KeyError):
        JobFailed("a reason of one's own")


def test_pauses_grow_and_end() -> None:
    policy = RetryPolicy(max_attempts=4, first_pause_s=10, factor=3, longest_pause_s=50)

    assert [10, 30, 50, None, None] == [policy.pause_s(failures) for failures in (1, 2, 3, 4, 9)]
    assert [4, 16, 64, 256, None] == [EMBED_PARTS.retry.pause_s(failures) for failures in range(1, 6)]


def test_the_key_is_kind_place_and_arguments_in_the_order_of_their_names() -> None:
    team, space = new_id(), new_id()

    assert f"embed_parts:{space}:1:2" == job_key(EMBED_PARTS, team, space, {"b": 2, "a": 1})
    assert f"embed_parts:{team}" == job_key(EMBED_PARTS, team, None, {})


@pytest.mark.parametrize(
    ("done", "total", "rate", "age_s", "expected"),
    [
        (20, 100, 10_000, 0, 8),
        (20, 100, 10_000, 3, 5),
        (20, 100, 10_000, 60, 0),
        (100, 100, 10_000, 0, 0),
        (130, 100, 10_000, 0, 0),
        (20, None, 10_000, 0, None),
        (20, 100, None, 0, None),
        (0, 100, 1, 0, 100_000),
    ],
)
def test_the_rest_of_the_time_follows_from_rate_and_total(done: int, total: int | None, rate: int | None, age_s: int, expected: int | None) -> None:
    assert expected == Progress("walking", done, total, rate, NOW).eta_s(NOW + timedelta(seconds=age_s))


def test_a_rate_needs_something_done_in_some_time() -> None:
    assert [None, None, None, 10_000, 1] == [rate_of(0, 5), rate_of(5, 0), rate_of(-1, 5), rate_of(20, 2), rate_of(1, 10_000_000)]
