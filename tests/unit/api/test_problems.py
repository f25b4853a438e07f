"""Problem bodies and the table behind them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from commonlore.api.problems import STATUS, internal_failure, problem_body, problem_headers
from commonlore.domain import errors
from commonlore.domain.errors import CODES, CommonloreError, Incorrect, NotVisible, Problem, Unauthenticated, Unavailable, invalid

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"
KIND_STATUS = {
    "Incorrect": {400, 404, 405, 413, 414, 415, 422},
    "Unauthenticated": {401},
    "Forbidden": {403},
    "NotVisible": {404},
    "Conflict": {409},
    "Limited": {403, 429},
    "Unavailable": {503},
    "DeadlineExceeded": {504},
    "Fault": {500},
    "OperatorError": {422, 503},
}


def make(code: str, message: str = "words") -> CommonloreError:
    kind: type[CommonloreError] = getattr(errors, CODES[code].kind)
    return kind(code, message)


def test_every_code_has_a_status_and_no_other_has() -> None:
    """The table and the closed list name the same codes."""

    assert set(CODES) == set(STATUS)


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_status_belongs_to_its_kind(code: str) -> None:
    """Whose fault it is decides the class of the status."""

    assert STATUS[code][0] in KIND_STATUS[CODES[code].kind]


def test_the_page_lists_every_code_with_its_status() -> None:
    """docs/reference/errors.md has one row for each code, with the status and whether to retry."""

    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (yes|no) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert {(code, str(STATUS[code][0]), "yes" if CODES[code].retryable else "no") for code in CODES} == set(rows)
    assert len(CODES) == len(rows)


def test_a_body_has_the_fields_of_rfc_9457_and_of_the_published_client() -> None:
    """Everything that a reader of either needs is at top level."""

    assert {
        "type": "urn:commonlore:problem:not_found",
        "title": "Not found",
        "status": 404,
        "detail": "words",
        "code": "not_found",
        "message": "words",
        "retryable": False,
        "next_action": "correct_and_resubmit",
        "remediation": CODES["not_found"].remediation,
        "correlation_id": "c-1",
    } == problem_body(NotVisible("not_found", "words"), "c-1")


def test_an_entry_of_errors_can_be_read_in_place_of_the_top_level() -> None:
    """The published client reads `errors[0]` when there is one, so it carries the code as well."""

    entries = problem_body(invalid("/limit", "expected an integer from 1 to 50"), "c-1")["errors"]

    assert [
        {
            "pointer": "/limit",
            "detail": "expected an integer from 1 to 50",
            "code": "invalid_input",
            "message": "/limit: expected an integer from 1 to 50",
            "retryable": False,
            "next_action": "correct_and_resubmit",
            "remediation": CODES["invalid_input"].remediation,
        }
    ] == entries


def test_a_body_stays_below_what_the_published_client_reads() -> None:
    """16 KiB, however many and long the problems are."""

    error = Incorrect("invalid_input", "é" * 9000, problems=tuple(Problem("/" + "é" * 9000, "é" * 9000) for _ in range(99)))

    assert len(msgspec.json.encode(problem_body(error, "c" * 128))) <= 16 * 1024


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (NotVisible("not_found", "words"), {}),
        (Unauthenticated("credential_invalid", "words"), {"www-authenticate": "Bearer"}),
        (Unavailable("overloaded", "words", retry_after_s=7), {"retry-after": "7"}),
        (Incorrect("method_not_allowed", "words", details={"allow": "POST"}), {"allow": "POST"}),
        (Incorrect("body_too_large", "words"), {"connection": "close"}),
    ],
)
def test_the_headers_that_go_with_a_failure(error: CommonloreError, headers: dict[str, str]) -> None:
    """Beside them only that no answer is stored."""

    assert {"cache-control": "no-store"} | headers == problem_headers(error)


def test_the_time_to_wait_is_in_the_body_as_well() -> None:
    """`retry_after_seconds` repeats the header."""

    assert 7 == problem_body(Unavailable("overloaded", "words", retry_after_s=7), "c")["retry_after_seconds"]


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_body_is_json(code: str) -> None:
    """Each code can be written and read back."""

    assert code == json.loads(msgspec.json.encode(problem_body(make(code), "c")))["code"]


def test_an_unstated_failure_says_nothing_of_itself() -> None:
    """Only the code and a fixed message."""

    assert ("internal_failure", {}, ()) == (internal_failure().code, internal_failure().details, internal_failure().problems)
