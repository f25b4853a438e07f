"""The manifest of erasure as a table of rules: order, lines, and what has none."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from commonlore.db.erasure.manifest import SPACE_TABLES, TEAM_ORDER, TEAM_TABLES, in_order, rule_of, unclassified


def test_a_table_without_a_line_is_named() -> None:
    """The vector tables of every contract are one line."""

    assert ["brand_new"] == unclassified(["evidence", "team", "evidence_vector_7", "relationship_vector_12", "brand_new"])
    assert rule_of("evidence_vector_7") is SPACE_TABLES["evidence_vector_"]
    assert not SPACE_TABLES.keys() & TEAM_TABLES.keys()


def test_a_line_says_how_rows_go_or_why_they_stay() -> None:
    assert [] == [table for table, rule in SPACE_TABLES.items() if bool(rule.ties) == bool(rule.stays)]
    assert [] == [table for table, rule in SPACE_TABLES.items() if rule.lets_go and rule.gives is None and not rule.ties and not rule.stays]


def test_who_refers_goes_first() -> None:
    assert ["c", "b", "a"] == in_order(["a", "b", "c"], [("b", "a"), ("c", "b"), ("c", "a"), ("a", "a"), ("b", "elsewhere")])
    with pytest.raises(ValueError, match="a, b"):
        in_order(["a", "b"], [("a", "b"), ("b", "a")])


def test_what_goes_with_the_team_is_deleted_with_it() -> None:
    """Jobs go by a statement of their own, which leaves the erasure's."""
    going = {table for table, line in TEAM_TABLES.items() if not line.startswith("stays")}

    assert going == {*TEAM_ORDER, "job"}
    assert len(TEAM_ORDER) == len(set(TEAM_ORDER))


def test_the_database_deletes_what_goes_with_a_team_and_no_other_table() -> None:
    """Its function has a list of its own, which is this one."""
    migration = runpy.run_path(str(Path(__file__).parents[3] / "alembic" / "versions" / "0026_erasure_deleting.py"))

    assert TEAM_ORDER == migration["OF_TEAM"]
