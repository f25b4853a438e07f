"""Detection and description: the same communities from the same relationships, whoever reads them in whatever order and process."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import msgspec
import numpy as np
import pytest

from commonlore.domain.community.describe import CommunityRecord, describe
from commonlore.domain.community.detect import detect
from commonlore.domain.community.graph import SharedGraph, build_graph
from commonlore.domain.community.lineage import logical_ids
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import CommunitySource
from tests.unit.community.test_graph import a_relationship, a_source, a_support, key

POLICY = CommunityPolicy()
ROOT = Path(__file__).resolve().parents[3]


def found(source: CommunitySource, earlier: dict[UUID, frozenset[str]] | None = None) -> list[CommunityRecord]:
    return describe(source, detect(build_graph(source, POLICY), POLICY), earlier or {}, POLICY)


def planted(topics: int, size: int, *, shuffled: int = 0) -> CommunitySource:
    """Topics of `size` relationships among ten entities each; every tenth relationship ties two topics."""
    numbers = random.Random(11)
    rows, supports = [], []
    for number in range(topics * size):
        topic = number // size
        other = numbers.randrange(topics) if number % 10 == 0 else topic
        rows.append(a_relationship(number, 1000 * topic + numbers.randrange(10), 1000 * other + numbers.randrange(10)))
        supports.append(a_support(number, 1_000_000 + number // 2, number=number))
        if number % 4 == 0:
            supports.append(a_support(number, 3_000_000 + number, number=700_000 - number))
        if number % 3 == 0:  # another author says the same in a text of its own
            rows.append(rows[-1]._replace(relationship_id=key(500_000 + number)))
            supports.append(a_support(500_000 + number, 2_000_000 + number, number=500_000 + number))
    if shuffled:
        numbers = random.Random(shuffled)
        numbers.shuffle(rows)
        numbers.shuffle(supports)
    return a_source(rows, supports)


def test_planted_topics_are_found() -> None:
    """Forty topics of thirty relationships: nearly every pair of one topic is together, and communities stay small."""
    records = found(planted(40, 30))
    pairs = together = 0
    for record in records:
        topics = [int(group[3:], 16) // 30 for group in record.group_keys]
        together += sum(topics[i] == topics[j] for i in range(len(topics)) for j in range(i))
        pairs += len(topics) * (len(topics) - 1) // 2

    assert together / pairs > 0.85
    assert max(len(record.group_keys) for record in records) <= POLICY.split_above


def test_a_hub_of_100_000_edges_is_no_failure() -> None:
    """Topics around one entity that everything names are still found; what has nothing else in common is one community."""
    rows = [a_relationship(n, 0, 1 + n // 20 if n < 2000 else 10_000 + n) for n in range(100_000)]
    supports = [a_support(n, 500_000 + n // 20, number=n) for n in range(2000)]
    records = found(a_source(rows, supports))

    assert sum(len(record.group_keys) for record in records) == 100_000
    assert sum(len({int(key[3:], 16) // 20 for key in record.group_keys}) == 1 for record in records if len(record.group_keys) == 20) == 100


def a_graph(ties: list[tuple[int, int, float]]) -> SharedGraph:
    """A graph of groups alone, from each tie once."""
    nodes = 1 + max(max(first, second) for first, second, _ in ties)
    both = sorted([(first, second, weight) for first, second, weight in ties] + [(second, first, weight) for first, second, weight in ties])
    starts = np.searchsorted([first for first, _, _ in both], np.arange(nodes + 1)).astype(np.int64)
    neighbours = np.array([second for _, second, _ in both], dtype=np.int32)
    return SharedGraph(nodes, nodes, starts, neighbours, np.array([weight for _, _, weight in both], dtype=np.float64))


OSCILLATING = {
    "double edge": ([(0, 1, 2.0)], 1),
    "triangle": ([(0, 1, 2.0), (1, 2, 2.0), (0, 2, 2.0)], 1),
    "star": ([(0, leaf, 1.0) for leaf in range(1, 14)], 1),
    "two pairs": ([(0, 1, 1.0), (2, 3, 1.0)], 2),
    "bipartite": ([(left, right, 1.0) for left in range(5) for right in range(5, 10)], 5),
    "chain": ([(0, 1, 2.0), (0, 2, 2.0), (1, 3, 1.0), (2, 4, 1.0)], 2),
}


@pytest.mark.parametrize("name", OSCILLATING)
def test_small_graphs_on_which_others_never_ended(name: str) -> None:
    """Within the bound of sweeps; the same clusters each time."""
    ties, clusters = OSCILLATING[name]
    found_clusters = detect(a_graph(ties), POLICY)

    assert clusters == len(found_clusters)
    assert found_clusters == detect(a_graph(ties), POLICY)


def test_a_change_inside_one_community_renames_none() -> None:
    """Ten clear clusters of twenty; five more ties inside one: nine keep every member, all keep their names."""

    def clusters(more: int) -> CommunitySource:
        rows = [a_relationship(n, 1000 * (n // 20) + n % 5, 1000 * (n // 20) + 10 + n % 4) for n in range(200)]
        return a_source(rows, [a_support(n, 50, number=n) for n in range(more)], mark=bytes([more]) * 32)

    before = found(clusters(0))
    named = {record.logical_community_id: frozenset(record.group_keys) for record in before}
    after = found(clusters(5), named)

    assert 10 == len(before)
    assert named.keys() == {record.logical_community_id for record in after}
    assert 9 <= sum(named[record.logical_community_id] == frozenset(record.group_keys) for record in after)


def test_there_is_one_detector() -> None:
    """One module of the rooms calls an algorithm of communities, and its name and version are those that a snapshot carries."""
    callers = [
        path.relative_to(ROOT).as_posix()
        for room in ("api", "db", "domain", "workers")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"^\s*(import|from) (graspologic_native|networkx|igraph|community)\b", path.read_text("utf-8"), re.MULTILINE)
    ]

    assert ["domain/community/detect.py"] == callers
    assert POLICY.configuration.startswith("community-leiden-1;")


@pytest.mark.parametrize("shuffled", [1, 2, 3])
def test_the_order_of_rows_changes_nothing(shuffled: int) -> None:
    assert found(planted(30, 20)) == found(planted(30, 20, shuffled=shuffled))


def test_processes_and_hash_seeds_change_nothing() -> None:
    """The records of three processes with other hash seeds and other orders of rows, byte by byte."""
    program = "import sys; from tests.unit.community.test_detect import found, planted, shown; sys.stdout.buffer.write(shown(found(planted(30, 20, shuffled=int(sys.argv[1])))))"
    answers = {
        subprocess.run(
            [sys.executable, "-c", program, seed], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=ROOT, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert {shown(found(planted(30, 20)))} == answers


def shown(records: list[CommunityRecord]) -> bytes:
    return msgspec.json.encode(records)


def test_a_lone_group_is_no_community() -> None:
    assert [] == found(a_source([a_relationship(1, 1, 2), a_relationship(2, 3, 4)]))
    assert [2] == [len(record.group_keys) for record in found(a_source([a_relationship(1, 1, 2), a_relationship(2, 1, 4), a_relationship(3, 8, 9)]))]


def test_members_are_ordered_by_their_ties_inside() -> None:
    """The one that shares an entity with both others is the most central; ties by number."""
    (record,) = found(a_source([a_relationship(1, 10, 20), a_relationship(2, 20, 30), a_relationship(3, 30, 40)]))

    assert [2, 1, 3] == [int(group[3:], 16) for group in record.group_keys]


def test_what_describes_a_community() -> None:
    """Entities and predicates by the members that name them; one quote a member, no text twice, a long one passed over."""
    rows = [a_relationship(n, 10, 20 + n) for n in range(4)] + [a_relationship(9, 10, 20, group=0)]
    supports = [
        a_support(0, 1, number=50, chars=POLICY.quote_chars + 1),
        a_support(9, 2, number=51),
        a_support(1, 2, number=52),
        a_support(2, 2, number=53),
        a_support(3, 2, number=54),
        a_support(3, 3, number=55),
    ]
    (record,) = found(a_source(rows, supports))

    assert (4, 5, 5) == (len(record.group_keys), record.relationship_count, record.entity_count)
    assert UUID(bytes=key(10)) == record.top_entity_ids[0]
    assert ("p",) == record.top_predicates
    assert [UUID(bytes=key(51)), UUID(bytes=key(55))] == list(record.quote_support_ids)


# --- logical identity


def names(*clusters: str, earlier: dict[UUID, str]) -> list[UUID]:
    return logical_ids([tuple(cluster) for cluster in clusters], {name: frozenset(keys) for name, keys in earlier.items()}, POLICY)


def test_three_of_five_groups_keep_the_identity_and_two_do_not() -> None:
    """dense-mem 30: {a,b,c,d} to {a,b,c,e} is 3/5; {a,b,e} is 2/5."""
    old = UUID(int=7)

    assert [old] == names("abce", earlier={old: "abcd"})
    assert [old] != names("abe", earlier={old: "abcd"})


def test_identities_are_unique_and_do_not_depend_on_the_order_of_the_groups() -> None:
    """A new community of the very groups after which an old one is named takes another name while the old one lives on."""
    (name,) = names("abc", earlier={})
    (moved, made) = names("abcde"[2:] + "fg", "abc", earlier={name: "cdefg"})

    assert [name] == names("cba", earlier={})
    assert (name, True) == (moved, made != name)


def test_an_unchanged_source_gives_the_same_ids_and_a_grown_one_the_same_names() -> None:
    source = planted(10, 20)
    first = found(source)
    earlier = {record.logical_community_id: frozenset(record.group_keys) for record in first}

    assert first == found(source, earlier)
    grown = found(a_source([*source.relationships, a_relationship(99_999, 0, 1)], list(source.supports), mark=b"n" * 32), earlier)
    assert len({record.logical_community_id for record in grown} & earlier.keys()) >= len(first) - 2
    assert not {record.community_id for record in grown} & {record.community_id for record in first}
