"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.databases import TestDatabase, clone, drop, make_template
from tests.support.dying import Dying, nursery
from tests.support.temporary import keep_in_memory

keep_in_memory()

# Some tests import the model's runtime before `commonlore.db.embedding` keeps it from reporting to its maker.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# A busy machine is no failure. `.ci/run` sets CI, and then the same examples come every time (hypothesis' own profile "ci").
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
if "CI" not in os.environ:
    settings.load_profile("untimed")


@pytest.fixture(scope="session")
def template() -> Iterator[str]:
    """The name of a migrated database to clone."""
    name = make_template()
    yield name
    drop(name)


@pytest.fixture
def database(template: str) -> Iterator[TestDatabase]:
    """A migrated database of one test's own."""
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture(scope="session")
def dying() -> Iterator[Dying]:
    """Makes workers that kill themselves."""
    with nursery() as made:
        yield made
