"""When a day's run is due, what an answer says of a space's snapshot, and the words of a community."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from commonlore.domain.checks import read_time_zone
from commonlore.domain.community.gate import CommunityGate
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.schedule import CommunitySchedule, read_start
from commonlore.domain.community.summary import compose
from commonlore.domain.errors import Incorrect

POLICY = CommunityPolicy()
NOW = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("published", "status", "stale", "said"),
    [
        (True, "completed", False, ()),
        (True, "skipped", False, ()),
        (True, "running", False, ()),
        (True, "completed", True, ("community_snapshot_stale",)),
        (True, "failed", False, ("community_detection_failed",)),
        (True, "cancelled", True, ("community_detection_failed", "community_snapshot_stale")),
        (True, "too_large", False, ("community_graph_too_large",)),
        (False, None, False, ("community_snapshot_unavailable",)),
        (False, "running", False, ("community_snapshot_unavailable",)),
        (False, "skipped", False, ("community_snapshot_unavailable",)),
        (False, "failed", False, ("community_detection_failed",)),
        (False, "too_large", False, ("community_graph_too_large",)),
    ],
)
def test_what_an_answer_says(published: bool, status: str | None, stale: bool, said: tuple[str, ...]) -> None:
    gate = CommunityGate(UUID(int=1) if published else None, NOW if published else None, status, NOW if stale else None)  # type: ignore[arg-type]

    assert said == gate.degradations()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_window_is_the_local_day_of_the_team() -> None:
    """Three in the morning in Auckland is the afternoon before in UTC: the window is that of the local day."""
    auckland = CommunitySchedule("Pacific/Auckland", 180)

    assert date(2026, 7, 2) == auckland.latest_window(at("2026-07-01T15:00:00"))
    assert date(2026, 7, 1) == auckland.latest_window(at("2026-07-01T14:59:59"))
    assert at("2026-07-01T15:00:00") == auckland.begins(date(2026, 7, 2))
    assert at("2026-07-02T15:00:00") == auckland.next_begin(at("2026-07-01T15:00:00"))


def test_a_skipped_hour_and_a_repeated_one_are_one_window_each() -> None:
    """Berlin skips 02:30 on 29 March 2026 and has it twice on 25 October: the first counts."""
    berlin = CommunitySchedule("Europe/Berlin", 150)

    assert at("2026-03-29T01:30:00") == berlin.begins(date(2026, 3, 29))
    assert at("2026-10-25T00:30:00") == berlin.begins(date(2026, 10, 25))
    assert date(2026, 10, 25) == berlin.latest_window(at("2026-10-25T01:30:00"))


@pytest.mark.parametrize("wrong", ["24:00", "3:00", "03:60", "03:0", "aa:bb", "", "03:00:00", "-1:00", "٠٣:٠٠"])
def test_a_start_is_a_time_of_the_day(wrong: str) -> None:
    with pytest.raises(Incorrect):
        read_start("/start", wrong)
    assert (0, 180, 1439) == (read_start("/start", "00:00"), read_start("/start", "03:00"), read_start("/start", "23:59"))


@pytest.mark.parametrize("wrong", ["Europe/Atlantis", "", "../etc/passwd", "/etc/localtime", "europe", "Local"])
def test_a_time_zone_is_one_that_exists(wrong: str) -> None:
    with pytest.raises(Incorrect):
        read_time_zone("/time_zone", wrong)
    assert "Europe/Berlin" == read_time_zone("/time_zone", "Europe/Berlin")


def test_a_summary_is_whole_quotes_and_nothing_else() -> None:
    """Each once, at most five, within the bound; a quote is left out rather than cut."""
    quotes = ["Ada works on Atlas.", "Ada works on Atlas.", "b" * 3990, "Atlas uses PostgreSQL.", *"cdefgh"]

    assert "Ada works on Atlas.\nAtlas uses PostgreSQL.\nc\nd\ne" == compose(quotes, ["Ada"], ["works_on"], POLICY)
    assert len(compose(["x" * 400 + str(n) for n in range(9)], [], [], POLICY)) <= POLICY.summary_chars


def test_a_community_without_a_quote_is_named_by_what_it_is_about() -> None:
    assert "Ada, Atlas: works on, uses" == compose([], ["Ada", "Atlas"], ["works_on", "uses"], POLICY)
    assert "works on" == compose([], [], ["works_on"], POLICY)
    assert "" == compose([], [], [], POLICY)
