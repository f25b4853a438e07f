"""A memory for tests of what recall promises: one database a module, in which each test has a team of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Memory


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


@pytest.fixture
async def own(database: TestDatabase) -> AsyncIterator[Memory]:
    """A database of the test's own, for tests that break something in it."""
    async with Memory.open(database) as opened:
        yield opened
