"""What is kept of a space names every vector that may be among the nearest, and takes each arrival once."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.db.resident import Arrivals, BlockName, ResidentVectors, VectorBlock, block_bytes, made_block
from commonlore.db.vectors import UuidArray
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Vectors

DIMENSIONS = 8


def arrivals(ids: Sequence[UUID], arrived: Sequence[int], vectors: Vectors, *, mark: int) -> Arrivals:
    """As the database sends them."""
    halves = vectors.astype(">f2")
    rows = b"".join(struct.pack("!HH", halves.shape[1], 0) + row.tobytes() for row in halves)
    return Arrivals(mark, b"".join(key.bytes for key in ids), struct.pack(f"!{len(arrived)}q", *arrived), rows)


def unit_vectors(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def ids_in(array: UuidArray) -> list[UUID]:
    """What PostgreSQL would read: a one-dimensional array of uuid without nulls."""
    assert (1, 0, 2950, (len(array) - 20) // 20, 1) == struct.unpack("!iiIii", array[:20])
    entries = [array[start : start + 20] for start in range(20, len(array), 20)]
    assert {b"\0\0\0\x10"} >= {entry[:4] for entry in entries}
    return [UUID(bytes=entry[4:]) for entry in entries]


@given(seed=st.integers(0, 1_000), count=st.integers(1, 400), wanted=st.integers(1, 60), near=st.booleans())
def test_every_vector_that_is_not_named_lies_beyond_the_bound(seed: int, count: int, wanted: int, near: bool) -> None:
    """Whichever way the sums are rounded: the exact ones of 16-bit floats are compared. `near`: vectors that hardly differ."""
    vectors = unit_vectors(count, seed)
    if near:
        vectors = vectors[:1] + vectors * np.float32(1e-3)
    query = unit_vectors(1, seed + 1)[0]
    keys = [new_id() for _ in range(count)]
    block = made_block(arrivals(keys, [1] * count, vectors, mark=2))
    assert block is not None

    found = block.nearest(query, wanted)

    exact = vectors.astype(np.float16).astype(np.float64) @ query.astype(np.float16).astype(np.float64)
    named = set(ids_in(found.ids))
    assert all(-score > found.within for key, score in zip(keys, exact, strict=True) if key not in named)
    assert len(named) >= min(wanted, count)
    if found.within < math.inf:
        assert wanted <= sum(-score <= found.within for score in exact)


def test_an_id_with_several_vectors_is_named_once() -> None:
    key, other = new_id(), new_id()
    block = made_block(arrivals([key, key, other], [1, 1, 1], unit_vectors(3), mark=2))

    assert block is not None and [key, other] == ids_in(block.nearest(unit_vectors(1)[0], 5).ids)


def test_a_transaction_that_was_under_way_is_asked_for_until_it_is_over() -> None:
    """Snapshot 1 sees 5 and 8 while 6 is under way; 6 comes later, and what is asked for then is all from 6 on but 8."""
    first, late, last = new_id(), new_id(), new_id()
    block = made_block(arrivals([first, last], [5, 8], unit_vectors(2), mark=6))
    assert block is not None
    assert (6, {8}) == (block.mark, block.held)

    assert block.add(arrivals([late], [6], unit_vectors(1, 1), mark=9))

    assert (9, set(), 3) == (block.mark, block.held, block.count)


def test_recalls_that_asked_at_the_same_time_add_what_they_found_once() -> None:
    """The later snapshot's answer may come first; the earlier one's then brings nothing."""
    block = made_block(arrivals([new_id()], [1], unit_vectors(1), mark=2))
    assert block is not None
    found = arrivals([new_id(), new_id()], [2, 4], unit_vectors(2, 1), mark=3)
    later = arrivals([new_id(), new_id(), new_id()], [2, 4, 5], unit_vectors(3, 1), mark=6)

    assert block.add(later) and block.add(found) and block.add(later)

    assert (4, 6, set()) == (block.count, block.mark, block.held)


def test_rows_of_a_transaction_to_come_count_as_none() -> None:
    """Restored rows say 0: they are kept, and do not stand for the transaction that they name."""
    block = made_block(arrivals([new_id()], [0], unit_vectors(1), mark=7))

    assert block is not None and (1, 7, set()) == (block.count, block.mark, block.held)


def test_a_block_that_is_full_or_of_another_length_is_of_no_more_use() -> None:
    block = made_block(arrivals([new_id()], [1], unit_vectors(1), mark=2))
    assert block is not None
    many = 300

    assert not block.add(arrivals([new_id()], [3], unit_vectors(1, dimensions=16), mark=4))
    assert not block.add(arrivals([new_id() for _ in range(many)], [3] * many, unit_vectors(many), mark=4))
    assert made_block(Arrivals(2, b"", b"", b"")) is None


def name(number: int) -> BlockName:
    return BlockName(UUID(int=number), number, "evidence", 1)


def test_spaces_are_kept_from_their_second_recall_on() -> None:
    store = ResidentVectors(1_000_000, least_rows=10)
    store.note_dimensions(1, DIMENSIONS)

    assert [False, True, False] == [store.wants(name(1), 10) for _ in range(3)]
    assert [False, False] == [store.wants(name(2), 9) for _ in range(2)]


def test_nothing_is_kept_where_there_is_no_room() -> None:
    """One space takes half of the room at most; of vectors of unknown length the longest possible are expected."""
    rows = 100
    for room, is_known in ((2 * block_bytes(rows, DIMENSIONS) - 1, True), (1_000_000, False), (0, True)):
        store = ResidentVectors(room, least_rows=1)
        if is_known:
            store.note_dimensions(1, DIMENSIONS)

        assert [False, False] == [store.wants(name(1), rows) for _ in range(2)]


def test_the_longest_unused_goes_first() -> None:
    blocks = {number: VectorBlock(DIMENSIONS, 10) for number in (1, 2, 3)}
    store = ResidentVectors(2 * blocks[1].size_bytes)
    store.keep(name(1), blocks[1])
    store.keep(name(2), blocks[2])
    assert store.of(name(1)) is blocks[1]

    store.keep(name(3), blocks[3])

    assert (blocks[1], None, blocks[3]) == tuple(store.of(name(number)) for number in (1, 2, 3))
    assert store.size_bytes == 2 * blocks[1].size_bytes


def test_a_block_that_was_replaced_is_not_forgotten_for_the_old_one() -> None:
    store, old, fresh = ResidentVectors(1_000_000), VectorBlock(DIMENSIONS, 1), VectorBlock(DIMENSIONS, 1)
    store.keep(name(1), old)
    store.keep(name(1), fresh)

    store.forget(name(1), old)
    assert store.of(name(1)) is fresh

    store.forget(name(1), fresh)
    assert (None, 0) == (store.of(name(1)), store.size_bytes)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -0.5, 2.0**-24, 0.1, 65_504.0])
def test_halves_are_read_as_they_are(value: float) -> None:
    """Among equal vectors none is named before the others, whatever their size."""
    count = 40
    block = made_block(arrivals([new_id() for _ in range(count)], [1] * count, np.full((count, DIMENSIONS), value, np.float32), mark=2))
    assert block is not None
    query = np.full(DIMENSIONS, 1 / DIMENSIONS**0.5, np.float32)

    found = block.nearest(query, 5)

    exact = -float(np.float32(np.float16(value)) * query.astype(np.float16).astype(np.float64).sum())
    assert count == len(ids_in(found.ids))
    assert exact <= found.within
    assert found.within == pytest.approx(exact, rel=1e-3, abs=1e-12)
