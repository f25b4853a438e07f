"""Which evidence may leave, with the reason for each that may not."""

from __future__ import annotations

import pytest

from commonlore.domain.recall.gate import admit
from tests.support.memory import a_path, an_evidence_row


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"owner_active": False}, "owner_inactive"),
        ({"known_in_view": False}, "not_yet_known"),
        ({"withdrawn": "retracted"}, "retracted"),
        ({"withdrawn": "superseded"}, "superseded"),
        ({"withdrawn": "erased"}, "erased"),
        ({"withdrawn": "quarantined"}, "quarantined"),
        ({"withdrawn": "source_revised"}, "source_revised"),
        ({"paths": (a_path(active=False),)}, "unsupported"),
        ({"paths": (a_path(active=False), a_path(active=True))}, None),
        ({"paths": (a_path(active=True),), "withdrawn": "retracted"}, "retracted"),
        ({"paths": (a_path(active=True),), "owner_active": False}, "owner_inactive"),
    ],
)
def test_each_reason_excludes_alone(fields: dict[str, object], reason: str | None) -> None:
    """An active path never brings back what was withdrawn."""
    assert reason == admit(an_evidence_row(**fields), unclaimed="eligible").reason


def test_unclaimed_evidence_leaves_unless_the_team_withholds_it() -> None:
    """Decision 5: the strict line of the page is a setting of the team."""
    never_claimed, claimed = an_evidence_row(), an_evidence_row(paths=(a_path(active=True),))

    assert (None, "unclaimed") == (admit(never_claimed, unclaimed="eligible").reason, admit(never_claimed, unclaimed="withheld").reason)
    assert admit(claimed, unclaimed="withheld").reason is None


def test_only_active_paths_are_named() -> None:
    good, bad = a_path(active=True), a_path(active=False)

    assert (good,) == admit(an_evidence_row(paths=(bad, good)), unclaimed="eligible").active_paths
