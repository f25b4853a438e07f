"""The closed list of reasons and its page."""

from __future__ import annotations

import re
from pathlib import Path

from commonlore.domain.correct.reasons import REASONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "corrections.md"


def test_the_page_lists_every_reason_with_its_words() -> None:
    """In the order of the code: the reason, what is said and what to do."""
    listed = re.findall(r"^\| `([a-z_]+)` \| (.+) \| (.+) \|$", PAGE.read_text("utf-8").split("## When it is rejected")[1], re.MULTILINE)

    assert [(code, *words) for code, words in REASONS.items()] == listed
