"""Pages of docs/reference that are made from the code."""

from __future__ import annotations

import re

import pytest

from commonlore.api.operations import TOOLS
from commonlore.domain.degradation import MESSAGES
from tests.unit.docs.reference_pages import REFERENCE, degradations, request_fields


def test_the_page_of_request_fields_is_made_from_the_types() -> None:
    """`python -m tests.unit.docs.reference_pages` writes the page anew."""

    assert request_fields() == (REFERENCE / "request-fields.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_field_of_a_request_has_a_row(name: str) -> None:
    """No top-level field of a tool is missing from the page."""

    rows = set(re.findall(r"^\| `(\w+)` \|", (REFERENCE / "request-fields.md").read_text("utf-8"), re.MULTILINE))

    assert set() == set(TOOLS[name].request.__struct_fields__) - rows


def test_the_page_of_degradations_is_the_closed_list() -> None:
    """One row for each pair of frontier and code, with its message, in the order of the list."""

    page = (REFERENCE / "degradations.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", page, re.MULTILINE)

    assert [(*pair, message) for pair, message in MESSAGES.items()] == rows
    assert degradations() == page
