"""Ids and numbers by the hundred thousand reach the database as they are."""

from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest

from commonlore.db.arrays import BigintArray, UuidArray, ids_of
from tests.support.databases import TestDatabase


@pytest.mark.parametrize("count", [0, 1, 3_000])
def test_arrays_in_the_databases_own_form_are_read_as_what_they_were_made_from(database: TestDatabase, count: int) -> None:
    ids = [UUID(int=0), UUID(int=2**128 - 1), *(uuid4() for _ in range(count))][:count]
    numbers = [-(2**63), 2**63 - 1, *range(count)][:count]
    with psycopg.connect(database.admin_conninfo) as connection:
        parameters = (UuidArray.of(ids_of(ids)), BigintArray.of(np.array(numbers, np.int64)))
        found = connection.execute("select %s::uuid[], %s::bigint[]", parameters).fetchone()

    assert (ids, numbers) == found
