"""The cases that other memory services failed, run against this one. Each is in exactly one state."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import (
    area_admin,
    area_deletion,
    area_edge,
    area_erasure,
    area_fts,
    area_graph,
    area_memory,
    area_operation,
    area_pooling,
    area_scale,
    area_tenancy,
    area_time,
    area_unicode,
    area_vector,
)
from tests.cases.adapter import CASES, REFUSED, ROOT, RUN, World
from tests.cases.states import ELSEWHERE, OPEN, WAITING
from tests.support.databases import clone, drop
from tests.support.server import Service, running_service

AREAS = (
    area_admin,
    area_deletion,
    area_edge,
    area_erasure,
    area_fts,
    area_graph,
    area_memory,
    area_operation,
    area_pooling,
    area_scale,
    area_tenancy,
    area_time,
    area_unicode,
    area_vector,
)


@pytest.fixture(scope="module")
def service(template: str) -> Iterator[Service]:
    """One service for all cases; each has teams of its own."""
    database = clone(template)
    with running_service(database) as running:
        yield running
    drop(database.name)


@pytest.fixture
def world(request: pytest.FixtureRequest, service: Service, template: str, tmp_path: Path) -> World:
    return World(CASES[request.node.callspec.params["case_id"]], service, template, tmp_path)


def _param(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name], strict=True) if name in OPEN else ())


@pytest.mark.parametrize("case_id", [_param(name) for name in sorted(RUN)])
def test_case(world: World, case_id: str) -> None:
    """As the case expects."""
    RUN[case_id](world)


@pytest.mark.parametrize("case_id", sorted(REFUSED))
def test_refused_case(world: World, case_id: str) -> None:
    """Our contract answers otherwise, and this is how."""
    REFUSED[case_id][1](world)


def test_every_case_is_in_exactly_one_state() -> None:
    """Run, proven elsewhere, waiting for a later part, or refused: nothing forgotten, nothing twice."""
    states = Counter([*RUN, *REFUSED, *WAITING, *ELSEWHERE])

    assert {} == {name: count for name, count in states.items() if count > 1}
    assert set(CASES) == set(states)
    assert set(RUN) >= set(OPEN)


@pytest.mark.parametrize("case_id", sorted(ELSEWHERE))
def test_the_test_that_proves_a_case_exists(case_id: str) -> None:
    """By its node id."""
    for node in ELSEWHERE[case_id]:
        path, name = node.split("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        assert name in {item.name for item in ast.walk(tree) if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_a_reason_is_given_for_what_is_not_run() -> None:
    """In words."""
    assert [] == [name for name, reason in WAITING.items() if len(reason) < 10]
    assert [] == [name for name, (reason, _) in REFUSED.items() if len(reason) < 30]


def test_the_page_has_the_counts() -> None:
    """docs/reference/cases.md: one line an area, then the sum."""
    page = (ROOT / "docs" / "reference" / "cases.md").read_text("utf-8")
    rows = {name: tuple(map(int, re.findall(r"\d+", counts))) for name, counts in re.findall(r"^\| (\w+) \|((?: \d+ \|)+)$", page, re.MULTILINE)}
    states = (RUN, ELSEWHERE, WAITING, REFUSED)
    counted = {
        area: (sum(case.area == area for case in CASES.values()), *(sum(CASES[name].area == area for name in state) for state in states))
        for area in {case.area for case in CASES.values()}
    }

    assert counted | {"all": (len(CASES), *map(len, states))} == rows
