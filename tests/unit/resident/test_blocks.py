"""What is kept of a space measures as the database does, and takes each arrival once."""

from __future__ import annotations

import asyncio
import random
import statistics
import struct
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from commonlore.db.residence import Residence, ResidentVectors
from commonlore.db.resident import Arrivals, BlockName, VectorBlock, block_bytes, made_block
from commonlore.db.settings import read_settings
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.vector_index import VectorIndexPolicy

DIMENSIONS = 8


def arrivals(
    ids: Sequence[UUID], arrived: Sequence[int], vectors: Vectors, *, mark: int, part_nos: Sequence[int] = (), one_by_one: bool = False
) -> Arrivals:
    """As the database sends them, with what it says of a whole space."""
    distances = [-in_lanes(row, vectors[0], one_by_one=one_by_one) for row in vectors]
    numbers = part_nos or [0] * len(ids)
    return Arrivals(
        mark,
        True,
        b"".join(key.bytes for key in ids),
        struct.pack(f"!{len(numbers)}i", *numbers),
        struct.pack(f"!{len(arrived)}q", *arrived),
        b"".join(map(sent, vectors)),
        sent(vectors[0]),
        struct.pack(f"!{len(distances)}d", *distances),
    )


def sent(vector: Vectors) -> bytes:
    return struct.pack("!HH", len(vector), 0) + vector.astype(">f2").tobytes()


def in_lanes(left: Vectors, right: Vectors, *, one_by_one: bool = False) -> float:
    """The inner product of 16-bit floats as the database adds it up, a number at a time."""
    sums = [np.float32(0)] * 8
    halves = zip(left.astype(np.float16).astype(np.float32), right.astype(np.float16).astype(np.float32), strict=True)
    for place, (one, other) in enumerate(halves):
        sums[place % 8] = np.float32(sums[place % 8] + one * other)
    while len(sums) > 1:
        count = 1 if one_by_one else len(sums) // 2
        sums = [np.float32(sums[0] + sums[1]), *sums[2:]] if one_by_one else [np.float32(sums[place] + sums[place + count]) for place in range(count)]
    return float(sums[0])


def unit_vectors(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@given(seed=st.integers(0, 1_000), count=st.integers(1, 300), wanted=st.integers(1, 60), near=st.booleans(), one_by_one=st.booleans())
def test_the_nearest_are_those_of_the_database_to_the_last_bit(seed: int, count: int, wanted: int, near: bool, one_by_one: bool) -> None:
    """Whichever order its build adds up in. `near`: vectors that hardly differ."""
    vectors = unit_vectors(count, seed, 16)
    if near:
        vectors = vectors[:1] + vectors * np.float32(1e-3)
    query = unit_vectors(1, seed + 1, 16)[0]
    # Of few vectors both orders may give the same distances; a space that is kept has a thousand.
    assume(not one_by_one or any(in_lanes(row, vectors[0]) != in_lanes(row, vectors[0], one_by_one=True) for row in vectors))
    chooser = random.Random(seed)
    keys = [new_id() for _ in range(count)]
    # Some owners have several parts, in any order.
    owners = [chooser.choice(keys[: place + 1]) for place in range(count)]
    numbers = [owners[:place].count(key) for place, key in enumerate(owners)]
    block = made_block(arrivals(owners, [1] * count, vectors, mark=2, part_nos=numbers, one_by_one=one_by_one))
    assert block is not None
    refused = frozenset(key.bytes for key in chooser.sample(keys, count // 5))
    rows = zip(owners, numbers, vectors, strict=True)
    exact = sorted((-in_lanes(row, query, one_by_one=one_by_one), key.bytes, number) for key, number, row in rows if key.bytes not in refused)

    assert [(-score, key.bytes, part_no) for key, part_no, score in block.nearest(query, wanted, refused)] == exact[:wanted]
    tied = [found for found in exact if found[0] <= exact[min(wanted, len(exact)) - 1][0]] if exact else []
    if not refused:
        assert [(-score, key.bytes, part_no) for key, part_no, score in block.nearest(query, wanted, with_ties=True)] == tied


@pytest.mark.parametrize("parts", [1, 2])
def test_the_best_part_of_each_owner_counts(parts: int) -> None:
    one, two = new_id(), new_id()
    numbers = [number for number in range(parts) for _ in (one, two)]
    block = made_block(arrivals([one, two] * parts, [1] * (2 * parts), unit_vectors(2 * parts), mark=2, part_nos=numbers))
    assert block is not None
    hits = [(one, parts - 1, 0.9), (two, 0, 0.7)]
    every = [(one, 1, 0.9), (one, 0, 0.8), (two, 0, 0.7)] if parts == 2 else hits

    assert hits == block.best_parts(every, 5)
    assert hits[:1] == block.best_parts(every, 1)


def test_a_vector_that_was_written_anew_takes_the_place_of_the_old_one() -> None:
    vectors = unit_vectors(3)
    keys = [new_id(), new_id()]
    block = made_block(arrivals(keys, [1, 1], vectors[:2], mark=2))
    assert block is not None

    assert block.add(arrivals(keys[:1], [4], vectors[2:], mark=5))

    assert 2 == block.count
    assert {keys[0].bytes: in_lanes(vectors[2], vectors[2]), keys[1].bytes: in_lanes(vectors[1], vectors[2])} == {
        key.bytes: score for key, _, score in block.nearest(vectors[2], 2)
    }


def test_what_was_measured_before_a_block_changed_is_measured_again() -> None:
    vectors = unit_vectors(40)
    block = made_block(arrivals([new_id() for _ in range(39)], [1] * 39, vectors[:39], mark=2))
    assert block is not None
    query, late = vectors[39], new_id()
    measured = block.measured(query)
    assert block.nearest(query, 5, measured=measured) == block.nearest(query, 5)

    assert block.add(arrivals([late], [4], vectors[39:], mark=5))

    assert late == block.nearest(query, 5, measured=measured)[0][0]


@given(
    seed=st.integers(0, 200),
    count=st.integers(1, 80),
    asked=st.lists(st.tuples(st.integers(1, 60), st.booleans(), st.booleans()), min_size=1, max_size=5),
)
def test_what_the_search_before_asked_is_ready_for_the_next_and_changes_nothing(seed: int, count: int, asked: list[tuple[int, bool, bool]]) -> None:
    """Whether the next wants as many, with or without ties, or less what somebody has."""
    vectors = unit_vectors(count, seed)[np.random.default_rng(seed).integers(0, count, count)]  # some are as near as others
    keys = [new_id() for _ in range(count)]
    found = arrivals(keys, [1] * count, vectors, mark=2)
    used, fresh = made_block(found), made_block(found)
    assert used is not None
    assert fresh is not None
    for number, (wanted, with_ties, has_refused) in enumerate(asked):
        query = unit_vectors(1, seed + number)[0]
        refused = frozenset(key.bytes for key in keys[::3]) if has_refused else frozenset()
        measured, wants = used.measured(query), {"with_ties": with_ties and not refused}

        assert used.nearest(query, wanted, refused, **wants, measured=measured) == fresh.nearest(query, wanted, refused, **wants)
        assert used.moments(query, wanted, measured=measured) == fresh.moments(query, wanted)


def test_a_database_that_measures_in_another_way_is_asked_itself() -> None:
    found = arrivals([new_id() for _ in range(30)], [1] * 30, unit_vectors(30), mark=2)
    distances = bytearray(found.distances)
    distances[-1] ^= 1

    assert made_block(found) is not None
    assert made_block(found._replace(distances=bytes(distances))) is None


@given(seed=st.integers(0, 100), count=st.integers(1, 40), sample=st.integers(1, 20))
def test_moments_are_those_of_the_owners_whose_ids_end_lowest(seed: int, count: int, sample: int) -> None:
    vectors, query = unit_vectors(2 * count, seed), unit_vectors(1, seed + 1)[0]
    keys = [new_id() for _ in range(count)]
    block = made_block(arrivals(keys * 2, [1] * (2 * count), vectors, mark=2, part_nos=[0] * count + [1] * count))
    assert block is not None

    found = block.moments(query, sample)

    lowest = sorted(range(count), key=lambda place: str(keys[place])[-12:])[:sample]
    values = [in_lanes(vectors[place], query) for place in lowest]
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert found.deviation == pytest.approx(statistics.pstdev(values), abs=1e-9)


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
    assert made_block(Arrivals(2, True, b"", b"", b"", b"")) is None


def name(number: int) -> BlockName:
    return BlockName(UUID(int=number), number, "evidence", 1)


def test_spaces_are_kept_from_their_second_recall_on() -> None:
    """Of the recalls that run at that time one reads the space; were it cut off, another does after a while."""
    now = [100.0]
    store = ResidentVectors(1_000_000, least_rows=10, patience_s=10.0, clock=lambda: now[0])
    store.note_dimensions(1, DIMENSIONS)

    assert [False, True, False, False, False] == [store.wants(name(1), 10) for _ in range(5)]
    assert [False, False] == [store.wants(name(2), 9) for _ in range(2)]
    now[0] = 110.0
    assert [True, False] == [store.wants(name(1), 10) for _ in range(2)]


def test_a_space_that_was_of_no_use_is_not_read_again_at_once() -> None:
    now = [100.0]
    store = ResidentVectors(1_000_000, least_rows=10, patience_s=10.0, clock=lambda: now[0])
    store.note_dimensions(1, DIMENSIONS)
    store.note_useless(name(1))

    assert not store.wants(name(1), 10)
    now[0] = 110.0
    assert store.wants(name(1), 10)


@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_large_space_is_kept_once_its_block_is_made(is_whole: bool) -> None:
    """Meanwhile nobody reads it again; one of no use is not read again at once."""
    store = ResidentVectors(1_000_000, least_rows=10)
    store.note_dimensions(1, DIMENSIONS)
    found = arrivals([new_id() for _ in range(30)], [1] * 30, unit_vectors(30), mark=2)

    store.keep_later(name(1), found if is_whole else found._replace(distances=b""))

    assert store.of(name(1)) is None
    assert not store.wants(name(1), 30)
    assert not store.take_made()
    await asyncio.gather(*store._making)
    await asyncio.sleep(0)
    assert [True, False] == [store.take_made() for _ in range(2)]
    assert is_whole == (store.of(name(1)) is not None)
    assert not store.wants(name(1), 30)


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


def test_a_space_has_one_block_of_each_frontier() -> None:
    """What it had under another contract or generation would be asked for as long as it is kept, and its table may be gone."""
    store = ResidentVectors(1_000_000)
    names = [name(1), name(1)._replace(contract_id=2), name(1)._replace(frontier="relationship", generation=3), name(2)]
    for one in names:
        store.keep(one, VectorBlock(DIMENSIONS, 1))

    store.replace(names[1])

    assert names[1:3] == store.names_of(names[0].team_id, names[0].space_epoch)
    assert store.of(names[3]) is not None


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
    """Among equal vectors the ids decide, whatever their size."""
    count, vector = 40, np.full(DIMENSIONS, value, np.float32)
    keys = [new_id() for _ in range(count)]
    block = made_block(arrivals(keys, [1] * count, np.tile(vector, (count, 1)), mark=2))
    assert block is not None
    query = np.full(DIMENSIONS, 1 / DIMENSIONS**0.5, np.float32)

    found = block.nearest(query, 5)

    assert [(key.bytes, in_lanes(vector, query)) for key in sorted(keys)[:5]] == [(key.bytes, score) for key, _, score in found]


def test_what_gets_no_vector_index_by_default_fits_a_process_by_default(tmp_path: Path) -> None:
    """Else it would neither be kept nor have an index."""
    settings, rows = read_settings({"COMMONLORE_HOME": str(tmp_path)}), VectorIndexPolicy().build_from - 1
    residence, name = Residence(settings.resident_vectors_mb * 1_000_000), BlockName(new_id(), 1, "evidence", 1)
    residence.vectors.note_dimensions(1, 384)

    assert [False, True] == [residence.vectors.wants(name, rows) for _ in range(2)]
    assert residence.words.has_room(rows)
