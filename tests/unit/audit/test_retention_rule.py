"""A team's rule of retention, and what a change of it keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.retention.rule import RetentionRule, UpdateRetentionRequest, cutoff

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def change(**fields: Any) -> UpdateRetentionRequest:
    return msgspec.convert(fields, UpdateRetentionRequest)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"audit_days": 90}, RetentionRule(90, 7, 14, 60)),
        ({"audit_days": None, "answer_days": None}, RetentionRule(None, 7, None, 60)),
        ({"feedback_days": 1, "job_days": 1}, RetentionRule(365, 1, 14, 1)),
    ],
)
def test_what_is_left_out_stays(fields: dict[str, Any], rule: RetentionRule) -> None:
    assert rule == RetentionRule(365, 7, 14, 60).changed(change(**fields))


@pytest.mark.parametrize(
    "fields", [{"audit_days": 29}, {"feedback_days": 0}, {"feedback_days": None}, {"answer_days": 0}, {"job_days": 366}, {"days": 3}]
)
def test_days_out_of_range_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        change(**fields)


def test_a_change_changes_something() -> None:
    with pytest.raises(Incorrect, match="at least one of audit_days"):
        change().validate()


@pytest.mark.parametrize(("days", "before"), [(None, None), (1, datetime(2026, 6, 30, tzinfo=UTC)), (10**6, datetime(1, 1, 1, tzinfo=UTC))])
def test_a_cutoff_lies_the_days_before_now(days: int | None, before: datetime | None) -> None:
    assert before == cutoff(days, NOW)
