"""A memory of one test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.databases import TestDatabase
from tests.support.memory import Memory


@pytest.fixture
async def memory(database: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(database) as opened:
        yield opened
