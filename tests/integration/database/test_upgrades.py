"""From every earlier revision, with rows in every table that there was: upgraded to head, complete, guarded and answering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from commonlore.db.isolation import verify_live
from commonlore.db.migrate import head_revision, shipped_revisions, upgrade
from commonlore.domain.tenancy.key import parse
from tests.support.catalogue import admin, counts, shape
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory
from tests.support.revisions import FOLDER, KEY, TEAM_ID, empty_database, filled_revisions, named

EARLIER = shipped_revisions()[:-1]


@pytest.fixture(scope="module")
def revisions() -> Iterator[dict[str, TestDatabase]]:
    with filled_revisions() as made:
        yield made


@pytest.fixture(scope="module")
def fresh() -> Iterator[TestDatabase]:
    """Migrated at once, without a row of anybody."""
    with empty_database() as database:
        upgrade(database.migrator_conninfo)
        yield database


def test_every_file_of_rows_is_of_a_revision() -> None:
    """A migration that was given another number takes its rows with it."""

    assert [] == sorted({path.stem for path in FOLDER.glob("*.sql")} - set(shipped_revisions()))


def test_every_table_has_rows(revisions: dict[str, TestDatabase]) -> None:
    """What is empty is not upgraded by any test. Red for a new table without a row in tests/data/revisions."""

    assert [] == [table for table, number in counts(revisions[head_revision()]).items() if number == 0]


@pytest.mark.parametrize("revision", EARLIER)
async def test_a_filled_database_of_a_revision_is_upgraded(revisions: dict[str, TestDatabase], fresh: TestDatabase, revision: str) -> None:
    """No row is lost, the schema is that of a fresh one, isolation holds, and the texts are found."""
    database = revisions[revision]
    before = counts(database)
    assert (revision, head_revision()) == upgrade(database.migrator_conninfo)

    assert 0 not in before.values()
    assert before == {table: number for table, number in counts(database).items() if table in before}
    of_contract = {row for row in shape(database) if row[1].endswith("_vector_2")}
    assert set(shape(fresh)) == set(shape(database)) - of_contract
    assert [] == [check for check in verify_live(database.serving_conninfo) if not check.passed]
    if revision >= "0003":
        assert "Ada leads Orion." in await found(database, "Ada")
    if revision >= "0002":
        assert {True: 1} == ends(database)


async def found(database: TestDatabase, query: str) -> list[str]:
    presented = parse(KEY)
    assert presented is not None
    async with Memory.open(database) as memory:
        answer = await memory.recall(Holder(presented, KEY, TEAM_ID, named("ada"), named("key")), query)
        return [item["context"] for item in answer["results"]]


def ends(database: TestDatabase) -> dict[Any, Any]:
    """Whether events know the end of validity, which migration 0009 takes over: it reaches every team, although the owner is bound by their policies."""
    query = (
        "select r.valid_to = t.valid_to, count(*) from commonlore.relationship r"
        " join commonlore.relationship_transition_event t using (team_id, space_epoch, relationship_id) where r.valid_to is not null group by 1"
    )
    with admin(database) as connection:
        return dict(connection.execute(query).fetchall())


_THREE_TEAMS = """
insert into commonlore.team (team_id, name, known_from) select md5(t::text)::uuid, 'team ' || t, '2026-01-01Z' from generate_series(1, 3) t;
insert into commonlore.profile select team_id, md5('p')::uuid, 'ada', 'human', '2026-01-01Z' from commonlore.team;
insert into commonlore.space (team_id, space_id, space_kind, space_epoch, known_from)
select team_id, md5('s')::uuid, 'team_shared', right(name, 1)::int, '2026-01-01Z' from commonlore.team;
insert into commonlore.space_epoch select team_id, space_epoch, space_id, '2026-01-01Z' from commonlore.space;
insert into commonlore.entity select team_id, space_epoch, md5('e')::uuid, 'person', 'active', 1, '2026-01-01Z' from commonlore.space;
insert into commonlore.predicate_definition select team_id, space_epoch, 'knows', 1, '{}', '{}', '{}', 'state', 'many', 'active', '2026-01-01Z' from commonlore.space;
insert into commonlore.relationship (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key, predicate_version,
    object_entity_id, relationship_kind, current_cardinality, status, polarity, scope_key, valid_to, support_count, source_group_count, version, known_from)
select team_id, space_epoch, md5(n::text)::uuid, md5('p')::uuid, 'sg:' || repeat('a', 64), md5('e')::uuid, 'knows', 1, md5('e')::uuid, 'state', 'many', 'active', '+',
    n::text, '2027-01-01Z', 1, 1, 1, '2026-01-01Z'
from commonlore.space, generate_series(1, 10) n;
insert into commonlore.relationship_transition_event (team_id, space_epoch, event_id, relationship_id, to_status, version, reason, known_from)
select team_id, space_epoch, relationship_id, relationship_id, 'active', 1, 'stored', '2026-01-01Z' from commonlore.relationship;
"""


def test_a_backfill_reaches_the_rows_of_every_team() -> None:
    """Three teams of ten rows, by the plain role that migrates, which is bound by their policies."""
    with empty_database() as database:
        upgrade(database.migrator_conninfo, to="0008")
        with admin(database) as connection:
            connection.execute(_THREE_TEAMS.encode())
        upgrade(database.migrator_conninfo)

        assert {True: 30} == ends(database)
