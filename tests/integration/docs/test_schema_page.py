"""docs/reference/schema.md is what a migrated database says."""

from __future__ import annotations

from tests.support.databases import TestDatabase
from tests.unit.docs.reference_pages import REFERENCE, schema


def test_the_page_of_the_schema_is_that_of_a_migrated_database(database: TestDatabase) -> None:
    """Tables, grants, columns and keys; `python -m tests.unit.docs.reference_pages` writes the page anew."""

    assert schema(database.admin_conninfo) == (REFERENCE / "schema.md").read_text("utf-8")
