"""Detection and description: the same communities from the same relationships, whoever reads them in whatever order and process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from commonlore.domain.community.describe import CommunityRecord, describe
from commonlore.domain.community.detect import detect
from commonlore.domain.community.graph import build_graph
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
