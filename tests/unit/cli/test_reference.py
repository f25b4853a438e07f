"""The reference pages say what the program says."""

from __future__ import annotations

import re
from pathlib import Path

from commonlore.api.cli.reference import command_page, settings_page
from commonlore.db.settings import FIELDS, PREFIX

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_of_the_command_line_is_that_of_the_program() -> None:
    """Regenerate with: python -m commonlore.api.cli.reference docs/reference"""

    assert command_page() == (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def test_the_page_of_the_settings_is_that_of_the_program() -> None:
    """Every setting with its range, its default and its meaning."""

    assert settings_page() == (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")


def test_every_setting_that_a_page_or_file_names_exists() -> None:
    """A newcomer never copies a variable that stops the start."""

    known = {PREFIX + name.upper() for name in FIELDS} | {"COMMONLORE_KEY", "COMMONLORE_URL"}
    pages = [
        ROOT / "README.md",
        ROOT / "docker-compose.yml",
        ROOT / "Dockerfile",
        *(ROOT / "docs/tutorial").glob("*.md"),
        *(ROOT / "docs/how-to").glob("*.md"),
    ]
    named = {word for page in pages for word in re.findall(r"\bCOMMONLORE_[A-Z_]*[A-Z]\b", page.read_text(encoding="utf-8"))}

    assert set() == {name for name in named if not name.startswith("COMMONLORE_TEST_")} - known
