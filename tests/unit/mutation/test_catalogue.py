"""The mutations are in step with the product: each can be applied, names tests that exist, and stands in the page of results."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

import pytest

from tests.mutation.catalogue import MUTATIONS
from tests.mutation.mutation import ROOT, Lost, Mutation, mutated

INVARIANTS = ROOT / "tests" / "acceptance" / "test_recall_ranking.py"
PAGE = ROOT / "docs" / "reference" / "mutations.md"


@cache
def docstrings(path: str) -> dict[str, str]:
    """The docstring of each test of a module, by its name."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
    return {node.name: ast.get_docstring(node) or "" for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_can_be_applied(mutation: Mutation) -> None:
    """Its text stands in the product exactly once, the change is one, and a module still compiles with it.

    Red after a rewrite: anchor it anew in tests/mutation, and run `python -m tests.mutation.run --only` with its name.
    """
    text = mutated(mutation)

    assert mutation.old != mutation.new and mutation.path.split("/")[0] in ("alembic", "api", "client", "db", "domain", "workers")
    if mutation.path.endswith(".py"):
        compile(text, mutation.path, "exec")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_tests_of_a_mutation_exist(mutation: Mutation) -> None:
    assert mutation.tests
    for node in mutation.tests:
        path, _, name = node.partition("::")
        assert name in docstrings(path), node


def test_names_are_distinct() -> None:
    """--only and the page take a mutation by its name."""
    assert [] == [name for name, count in Counter(mutation.name for mutation in MUTATIONS).items() if count > 1]


def test_every_invariant_has_a_test_and_a_mutation() -> None:
    """One test of acceptance says each number from 1 to 18, and a mutation turns it red."""
    numbers = {
        int(found[1]): name for name, text in docstrings(str(INVARIANTS.relative_to(ROOT))).items() if (found := re.match(r"Invariant (\d+)\.", text))
    }
    red = {node.partition("::")[2] for mutation in MUTATIONS for node in mutation.tests}

    assert list(range(1, 19)) == sorted(numbers)
    assert [] == sorted(set(numbers.values()) - red)


def test_the_page_has_every_mutation() -> None:
    """In the order of the catalogue, with what it breaks; killed, or honestly not run since it was written or anchored anew."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([\w ]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)

    assert [(mutation.name, mutation.breaks) for mutation in MUTATIONS] == [row[:2] for row in rows]
    assert {"killed", "not run"} >= {row[2] for row in rows}


def test_a_text_that_is_gone_or_doubled_is_an_error() -> None:
    """Nothing is mutated then; a run stops at it instead of passing."""
    for old in ("no such text", "rank"):
        with pytest.raises(Lost):
            mutated(Mutation("x", "nothing", "domain/recall/fusion.py", old, "", ()))
    with pytest.raises(Lost):
        mutated(Mutation("x", "nothing", "domain/no_such_module.py", "return", "", ()))
