"""Names of briefs, claims on them, and the form of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from commonlore.db.delegation_subjects import SOURCES
from commonlore.db.delegation_verdicts import APPLY
from commonlore.domain.delegation.brief import BriefKey, parse_brief_id
from commonlore.domain.delegation.claim import Held, require_claim, take
from commonlore.domain.delegation.kind import ALL_KINDS, KINDS
from commonlore.domain.delegation.request import SubmitVerdictRequest
from commonlore.domain.errors import CommonloreError, Incorrect, NotVisible

NOW = datetime(2026, 7, 1, tzinfo=UTC)
ONE, TWO, THREE = (UUID(int=(7 << 76) + (2 << 62) + number) for number in (1, 2, 3))


def held(state: str = "claimed", *, seconds: int = 60) -> Held:
    return Held(state, ONE, TWO, THREE, NOW + timedelta(seconds=seconds), 1)


def test_a_kind_has_a_source_and_each_verdict_that_is_applied_a_way() -> None:
    applied = {name for kind in KINDS.values() for name, verdict in kind.verdicts.items() if verdict.is_applied}

    assert (set(ALL_KINDS), set(ALL_KINDS), set(APPLY)) == (set(KINDS), set(SOURCES), applied)


@pytest.mark.parametrize("key", [BriefKey("verify_relationship", (ONE,), 3), BriefKey("merge_entities", (ONE, TWO), 0)])
def test_a_name_says_what_the_brief_is_about(key: BriefKey) -> None:
    assert (key, True) == (parse_brief_id(key.text), len(key.text) <= 128)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "verify_relationship",
        f"verify_relationship:{ONE}",
        f"verify_relationship:{ONE}:01",
        f"verify_relationship:{str(TWO).upper()}:A",
        f"verify_relationship:{ONE}+{TWO}:1",
        f"merge_entities:{ONE}:0",
        f"forget_everything:{ONE}:1",
        f"verify_relationship:{ONE}:1\n",
    ],
)
def test_any_other_name_is_as_absent_as_a_foreign_one(name: str) -> None:
    with pytest.raises(NotVisible):
        parse_brief_id(name)


@pytest.mark.parametrize(
    ("row", "claim_id", "credential", "expected"),
    [
        (held("released"), None, ONE, ("claimed",)),
        (held(seconds=0), None, ONE, ("expired", "claimed")),
        (held(seconds=1), None, ONE, "brief_claimed"),
        (held(seconds=1), None, TWO, "brief_claimed"),
        (held(), ONE, TWO, ("extended",)),
        (held(), ONE, ONE, "not_found"),
        (held(), TWO, TWO, "not_found"),
        (held(seconds=0), ONE, TWO, "stale_input"),
        (held("released"), ONE, TWO, "stale_input"),
        (held("decided"), None, ONE, "stale_input"),
        (held("decided"), ONE, TWO, "stale_input"),
    ],
)
def test_who_gets_a_brief_that_was_claimed_before(row: Held, claim_id: UUID | None, credential: UUID, expected: tuple[str, ...] | str) -> None:
    try:
        found: tuple[str, ...] | str = take(row, credential, NOW, claim_id=claim_id)
    except CommonloreError as error:
        found = error.code

    assert expected == found


def test_a_claim_counts_to_the_instant_at_which_it_runs_out() -> None:
    assert held() == require_claim(held(), ONE, TWO, NOW + timedelta(seconds=59))
    with pytest.raises(CommonloreError):
        require_claim(held(), ONE, TWO, NOW + timedelta(seconds=60))
    with pytest.raises(NotVisible):
        require_claim(None, ONE, TWO, NOW)


def verdict(kind: str = "verify_relationship", **fields: object) -> SubmitVerdictRequest:
    ids = f"{ONE}+{TWO}" if kind == "merge_entities" else str(ONE)
    return msgspec.convert({"brief_id": f"{kind}:{ids}:1", "claim_id": str(ONE), "reason": "so", **fields}, SubmitVerdictRequest)


QUOTE = {"evidence_id": str(ONE), "quote": "x"}


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        (verdict(decision="same"), "/decision"),
        (verdict(decision="entailed"), "/quotes"),
        (verdict(decision="entailed", quotes=[QUOTE], summary="x"), "/summary"),
        (verdict(decision="insufficient", keep_entity_id=str(ONE)), "/keep_entity_id"),
        (verdict(decision="insufficient", reason=" "), "/reason"),
        (verdict("merge_entities", decision="same"), "/keep_entity_id"),
        (verdict("assess_conflict", decision="resolve", quotes=[QUOTE]), "/preferred_position_id"),
        (verdict("assess_conflict", decision="dismiss", effective_at="2026-07-01T00:00:00Z"), "/effective_at"),
        (verdict("assess_conflict", decision="resolve", quotes=[QUOTE], preferred_position_id=str(ONE), effective_at="now"), "/effective_at"),
        (verdict("summarise_community", decision="summary", quotes=[QUOTE]), "/summary"),
    ],
)
def test_a_verdict_carries_what_its_decision_takes(request_: SubmitVerdictRequest, pointer: str) -> None:
    with pytest.raises(Incorrect) as caught:
        request_.validate()

    assert pointer == caught.value.problems[0].pointer


@pytest.mark.parametrize(
    "request_",
    [
        verdict(decision="insufficient"),
        verdict(decision="entailed", quotes=[QUOTE]),
        verdict("merge_entities", decision="same", keep_entity_id=str(ONE), quotes=[QUOTE]),
        verdict("assess_conflict", decision="dismiss"),
        verdict("summarise_community", decision="summary", quotes=[QUOTE], summary="x"),
    ],
)
def test_a_verdict_of_the_right_form_is_taken(request_: SubmitVerdictRequest) -> None:
    request_.validate()


def test_the_page_has_each_verdict_with_what_it_takes() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "briefs.md").read_text("utf-8")
    rows = {tuple(cell.strip() for cell in line.split("|")[1:5]) for line in page.splitlines() if line.startswith("| `")}

    def cell(fields: Sequence[str]) -> str:
        return ", ".join(f"`{field}`" for field in sorted(fields))

    expected = {
        (f"`{kind}`", f"`{name}`", cell(item.needs), cell(item.allows)) for kind, entry in KINDS.items() for name, item in entry.verdicts.items()
    }
    assert expected <= rows
