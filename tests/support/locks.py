"""The two locks of a database under test, each of which a test may take away."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from commonlore.db.isolation.statements import without_predicates
from tests.support.memory import Memory

_COMPARISON = re.compile(r"\b\w+\.(?:team_id = %\(team_id\)s::uuid|space_epoch = %\(space_epoch\)s::bigint)")


def statement_tables() -> Iterator[dict[str, str]]:
    """Every table of named statements that a loaded module of the product holds, each once."""
    seen: set[int] = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith("commonlore."):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, dict) and id(value) not in seen and any(isinstance(text, str) and "%(team_id)s" in text for text in value.values()):
                seen.add(id(value))
                yield value


def remove_predicates(monkeypatch: pytest.MonkeyPatch) -> int:
    """No statement compares team or space any more, until the test ends; the number of statements that lost something.

    Statements that were put together without their comments have no marks left, so there the comparisons themselves are taken out.
    """
    changed = 0
    for table in statement_tables():
        for name, text in list(table.items()):
            bare = _COMPARISON.sub("true", without_predicates(text))
            assert "team_id = %(team_id)s" not in bare, name
            if bare != text:
                monkeypatch.setitem(table, name, bare)
                changed += 1
    return changed


def remove_policies(memory: Memory) -> int:
    """No table asks who reads it any more; the number of tables."""
    tables = memory.sql("select relname from pg_class where relnamespace = 'commonlore'::regnamespace and relrowsecurity")
    for (table,) in tables:
        memory.sql(f"alter table commonlore.{table} disable row level security")
    return len(tables)
