"""The glossary and the code use the same words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (?P<terms>[^|]+) \| (?P<meaning>[^|]+) \| (?P<names>`[^|]+`) \| (?P<avoid>[^|]+) \|$", re.MULTILINE)
REQUIRED = ("part", "space epoch", "occurrence", "evidence gate", "exclusion", "submission", "backlog", "folding")
ROWS = [match.groupdict() for match in ROW.finditer((ROOT / "docs" / "GLOSSARY.md").read_text("utf-8"))]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row["names"])})


@cache
def code() -> str:
    """Python and SQL of the rooms, migrations included."""
    files = [
        path
        for room in ("domain", "db", "api", "client", "workers", "alembic")
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".sql")
    ]
    return "\n".join(path.read_text("utf-8") for path in sorted(files))


@pytest.mark.parametrize("name", NAMES)
def test_a_code_name_of_the_glossary_is_in_the_code(name: str) -> None:
    """A word that the code no longer uses leaves the glossary, too."""

    found = (ROOT / name).is_dir() if "/" in name else re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", code()) is not None

    assert found, f"{name} is not in the code"


@pytest.mark.parametrize("term", REQUIRED)
def test_a_word_that_needs_explaining_is_explained(term: str) -> None:
    """These words are easily taken for something else."""

    assert term in {single for row in ROWS for single in row["terms"].split(", ")}


def test_a_term_is_explained_once() -> None:
    """One row a term."""

    terms = [row["terms"] for row in ROWS]

    assert sorted(set(terms)) == sorted(terms)
