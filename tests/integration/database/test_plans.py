"""The searches read the rows of their own space and no others, by the index that was made for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from commonlore.db.sql import statements
from commonlore.db.statements import FRONTIER, HYDRATE, OPEN_FRONTIER, RESIDENT
from commonlore.domain.ids import new_id
from tests.support.databases import TestDatabase, clone, drop

OURS, TEAMS, PARTS, OTHER_PARTS = new_id(), 50, 5000, 100
VECTOR = "[" + ",".join(["0.05"] * 384) + "]"


@pytest.fixture(scope="module")
def populated(template: str) -> Iterator[TestDatabase]:
    """One team with 5,000 parts and 500 relationships' vectors, and fifty others with 100 parts each."""
    made = clone(template)
    with psycopg.connect(made.admin_conninfo, autocommit=True) as connection:
        teams = [(OURS, PARTS), *[(new_id(), OTHER_PARTS) for _ in range(TEAMS)]]
        for team_id, parts in teams:
            space_id, profile_id, credential_id, submission_id = (new_id() for _ in range(4))
            connection.execute("insert into commonlore.team (team_id, name, known_from) values (%s, %s, now())", (team_id, f"team {team_id}"))
            connection.execute(
                "insert into commonlore.profile (team_id, profile_id, name, profile_kind, known_from) values (%s, %s, 'p', 'agent', now())",
                (team_id, profile_id),
            )
            connection.execute(
                "insert into commonlore.credential (team_id, credential_id, profile_id, name, prefix, suffix, secret_sha256, scopes, memory_binding, known_from) "
                "values (%s, %s, %s, 'k', %s, 'abc', sha256('x'), '{read}', 'shared_only', now())",
                (team_id, credential_id, profile_id, str(team_id)[:8]),
            )
            epoch = connection.execute("select nextval('commonlore.space_epoch_number')").fetchone()[0]  # type: ignore[index]
            with connection.transaction():
                connection.execute(
                    "insert into commonlore.space (team_id, space_id, space_kind, space_epoch, known_from) values (%s, %s, 'team_shared', %s, now())",
                    (team_id, space_id, epoch),
                )
                connection.execute(
                    "insert into commonlore.space_epoch (team_id, space_epoch, space_id, known_from) values (%s, %s, %s, now())",
                    (team_id, epoch, space_id),
                )
            connection.execute(
                "insert into commonlore.submission (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, request_sha256, known_from) "
                "values (%s, %s, %s, 'remember', %s, %s, sha256('x'), now())",
                (team_id, epoch, submission_id, profile_id, credential_id),
            )
            _fill(connection, team_id, epoch, submission_id, profile_id, parts)
        connection.execute("vacuum analyze")
    yield made
    drop(made.name)


def _fill(connection: psycopg.Connection, team_id: object, epoch: int, submission_id: object, profile_id: object, parts: int) -> None:
    common = {"team": team_id, "epoch": epoch, "submission": submission_id, "profile": profile_id, "parts": parts}
    for statement in (
        (
            "insert into commonlore.evidence (team_id, space_epoch, evidence_id, submission_id, evidence_index, owner_profile_id, content, content_sha256, "
            "source_type, authority, labels, part_count, known_from) "
            "select %(team)s, %(epoch)s, md5(%(team)s::text || n)::uuid, %(submission)s, n, %(profile)s, 'text ' || n, sha256(n::text::bytea), 'manual', 'unknown', '{}', 1, now() "
            "from generate_series(1, %(parts)s) n"
        ),
        (
            "insert into commonlore.evidence_part (team_id, space_epoch, evidence_id, part_no, span_start, span_end) "
            "select team_id, space_epoch, evidence_id, 0, 0, 5 from commonlore.evidence where team_id = %(team)s"
        ),
        (
            "insert into commonlore.evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes) "
            "select team_id, space_epoch, t.term, count(*), array_agg(evidence_id), array_agg(65546::bigint) from commonlore.evidence "
            "cross join lateral (values ('common', evidence_index / 64), ('w' || evidence_index %% 100, 0), ('r' || evidence_index, 0)) t (term, block) "
            "where team_id = %(team)s group by 1, 2, t.term, t.block"
        ),
        (
            "insert into commonlore.evidence_posting_difference (team_id, space_epoch, evidence_ids, bases, words) "
            "select team_id, space_epoch, array[evidence_id], '{10}', jsonb_build_object('r' || evidence_index, '{64}') from commonlore.evidence "
            "where team_id = %(team)s and evidence_index <= 20"
        ),
        (
            "insert into commonlore.evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding) "
            "select team_id, space_epoch, evidence_id, 0, array_fill(0.05 + 0.00001 * evidence_index, array[384])::real[]::halfvec(384) "
            "from commonlore.evidence where team_id = %(team)s"
        ),
    ):
        connection.execute(statement, common)
    _relate(connection, team_id, epoch, profile_id, parts // 10)


def _relate(connection: psycopg.Connection, team_id: object, epoch: int, profile_id: object, count: int) -> None:
    """Relationships with documents; what they refer to is left out, for no search looks at it."""
    common = {"team": team_id, "epoch": epoch, "profile": profile_id, "count": count}
    connection.execute("set session_replication_role = replica")
    for statement in (
        (
            "insert into commonlore.relationship (team_id, space_epoch, relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, "
            "predicate_key, predicate_version, object_entity_id, relationship_kind, current_cardinality, status, polarity, support_count, "
            "source_group_count, version, known_from) "
            "select %(team)s, %(epoch)s, md5('r' || %(team)s::text || n)::uuid, %(profile)s, 'sg:' || encode(sha256((n::text)::bytea), 'hex'), "
            "md5('s' || n)::uuid, 'uses', 1, md5('o' || n)::uuid, 'state', 'many', 'active', '+', 1, 1, 1, now() from generate_series(1, %(count)s) n"
        ),
        (
            "insert into commonlore.relationship_posting (team_id, space_epoch, generation, term, entries, relationship_ids, codes) "
            "select team_id, space_epoch, 1, t.term, count(*), array_agg(relationship_id), array_agg(65546::bigint) from commonlore.relationship "
            "cross join lateral (values ('common'), ('w1')) t (term) where team_id = %(team)s group by 1, 2, 4"
        ),
        (
            "insert into commonlore.relationship_vector_1 (team_id, space_epoch, generation, relationship_id, embedding) "
            "select team_id, space_epoch, 1, relationship_id, array_fill(0.05, array[384])::real[]::halfvec(384) "
            "from commonlore.relationship where team_id = %(team)s"
        ),
    ):
        connection.execute(statement, common)
    connection.execute("reset session_replication_role")


@pytest.fixture
def serving(populated: TestDatabase) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(populated.serving_conninfo, row_factory=dict_row) as connection:
        yield connection


def parameters(connection: psycopg.Connection[dict[str, Any]], **given: object) -> dict[str, Any]:
    """Enter the team and its space as a recall does; the values that its statements take."""
    connection.execute(statements("session")["enter_team"], {"team_id": OURS, "timeout_ms": 20_000, "plans": "force_generic_plan"})
    row = connection.execute("select space_id, space_epoch from commonlore.space").fetchone()
    assert row is not None
    connection.execute(statements("session")["enter_space"], {"team_id": OURS, "space_id": row["space_id"]})
    return {
        "team_id": OURS,
        "space_epoch": row["space_epoch"],
        "known_evidence_ids": [],
        "present": True,
        "depth": 200,
        "part_depth": 400,
        "vector": VECTOR,
        "sample": 256,
        "bound_place": 0,
        "near": 400,
        "generation": 1,
        "entity_ids": [],
        "subject_ids": [],
        "known_at": None,
        "object_ids": [],
        "withheld": False,
        "k1": 1.2,
        "b": 0.4,
        "average_length": 10.0,
        **given,
    }


def explained(connection: psycopg.Connection[dict[str, Any]], statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Every node of the plan as it ran: the one plan that a recall uses for every team."""
    order = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${order.index(match[1]) + 1}", statement).replace("%%", "%")
    connection.execute(f"prepare looked_at as {numbered}".encode())
    arguments = sql.SQL(", ").join(sql.Literal(values[name]) for name in order)
    row = connection.execute(sql.SQL("explain (analyze, format json, timing off) execute looked_at ({})").format(arguments)).fetchone()
    connection.execute("deallocate looked_at")
    assert row is not None
    plan = row["QUERY PLAN"] if not isinstance(row["QUERY PLAN"], str) else json.loads(row["QUERY PLAN"])

    def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for child in node.get("Plans", ()):
            yield from nodes(child)

    return list(nodes(plan[0]["Plan"]))


def scans(nodes: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [node for node in nodes if node.get("Relation Name") == table]


@pytest.mark.parametrize("terms", [["r17"], ["w17", "r17"], ["common", "w1", "w2", "r3"]])
@pytest.mark.parametrize("gated", [True, False])
def test_the_words_are_read_by_their_key(serving: psycopg.Connection[dict[str, Any]], terms: list[str], gated: bool) -> None:
    """The blocks of each term, rare or common, and the differences of the space: no row is read to be thrown away, as the serving role."""
    values = parameters(serving, terms=terms, weights=[1.0] * len(terms))
    nodes = explained(serving, (FRONTIER if gated else OPEN_FRONTIER)["evidence_lexical"], values)
    (blocks,), (differences,) = scans(nodes, "evidence_posting"), scans(nodes, "evidence_posting_difference")

    assert ("Index Scan", "evidence_posting_pkey", 0) == (blocks["Node Type"], blocks["Index Name"], blocks.get("Rows Removed by Filter", 0))
    assert (79 if "common" in terms else 0) + len(terms) - ("common" in terms) == round(blocks["Actual Rows"] * blocks["Actual Loops"])
    assert (20, 0) == (differences["Actual Rows"] * differences["Actual Loops"], differences.get("Rows Removed by Filter", 0))


def test_the_counts_of_terms_are_read_by_their_key(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """One block a rare term, and the differences of the space once."""
    nodes = explained(serving, FRONTIER["read_statistics"], parameters(serving, terms=["w17", "r17", "absent"]))
    (blocks,), (differences,) = scans(nodes, "evidence_posting"), scans(nodes, "evidence_posting_difference")

    assert ("Index Scan", "evidence_posting_pkey", 2) == (blocks["Node Type"], blocks["Index Name"], blocks["Actual Rows"] * blocks["Actual Loops"])
    assert (20, 0) == (differences["Actual Rows"] * differences["Actual Loops"], differences.get("Rows Removed by Filter", 0))


@pytest.mark.parametrize(("bound_place", "left_out"), [(0, 0), (52, 3000)])
def test_the_vectors_of_the_space_alone_are_read(serving: psycopg.Connection[dict[str, Any]], bound_place: int, left_out: int) -> None:
    """5,000 of 10,000 rows: no row of another team is touched, not even to be thrown away; a bound leaves most of them unsorted."""
    nodes = explained(serving, OPEN_FRONTIER["evidence_vector"], parameters(serving, bound_place=bound_place))
    sample, whole, again = scans(nodes, "evidence_vector_1")
    removed = whole.get("Rows Removed by Filter", 0)

    assert {("Index Only Scan", "evidence_vector_1_pkey")} == {(scan["Node Type"], scan["Index Name"]) for scan in (sample, whole, again)}
    assert PARTS == whole["Actual Rows"] + removed
    assert removed >= left_out
    assert (256, 0) == (sample["Actual Rows"] * sample["Actual Loops"], again["Actual Loops"])


def test_a_bound_that_lets_too_little_pass_is_given_up(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """The nearest eight of the sample hold fewer than 400 parts: everything is looked at, and the answer is the same."""
    rows = []
    for bound_place in (0, 1):
        values = parameters(serving, bound_place=bound_place)
        rows.append(serving.execute(OPEN_FRONTIER["evidence_vector"].encode(), values).fetchall())

    assert 200 == len(rows[0])
    assert rows[0] == rows[1]


def test_candidates_that_a_process_found_are_looked_up_by_the_key(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """Twenty relationships read twenty rows."""
    parameters(serving)
    rows = serving.execute("select relationship_id from commonlore.relationship order by relationship_id limit 20").fetchall()
    ids = [row["relationship_id"] for row in rows]
    (scan,) = scans(explained(serving, RESIDENT["read_not_counting"], parameters(serving, relationship_ids=ids)), "relationship")

    assert ("Index Scan", "relationship_pkey", len(ids)) == (scan["Node Type"], scan["Index Name"], scan["Actual Rows"] * scan["Actual Loops"])


def test_what_counts_no_more_is_read_without_what_counts(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """All 500 relationships count: none is looked at."""
    nodes = explained(serving, RESIDENT["read_gate"], parameters(serving, most=5_001))
    refused, of_owners = scans(nodes, "relationship")

    assert ("Index Scan", "relationship_not_counting") == (refused["Node Type"], refused["Index Name"])
    assert [0, 0] == [scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) for scan in (refused, of_owners)]
    assert {"evidence_exclusion_pkey"} == {scan["Index Name"] for scan in scans(nodes, "evidence_exclusion")}
    assert {"erasure_not_done"} == {scan["Index Name"] for scan in scans(nodes, "erasure")}


@pytest.mark.parametrize("statement", ["read_evidence_words", "read_relationship_words"])
def test_words_are_read_by_their_key(serving: psycopg.Connection[dict[str, Any]], statement: str) -> None:
    table = "evidence_posting" if "evidence" in statement else "relationship_posting"
    (scan,) = scans(explained(serving, RESIDENT[statement], parameters(serving, terms=["w1"])), table)

    assert ("Index Scan", f"{table}_pkey", 0) == (scan["Node Type"], scan["Index Name"], scan.get("Rows Removed by Filter", 0))


@pytest.mark.parametrize("frontier", ["evidence", "relationship"])
def test_arrivals_are_found_by_their_transaction(serving: psycopg.Connection[dict[str, Any]], frontier: str) -> None:
    """Nothing new: nothing is read of a space of thousands."""
    values = parameters(serving, mark=str(1 << 60), held=[])
    nodes = explained(serving, RESIDENT[f"new_{frontier}"], values)

    assert [f"{frontier}_vector_1_arrived"] == [node["Index Name"] for node in nodes if "Index Name" in node]
    assert [0] == [node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in scans(nodes, f"{frontier}_vector_1")]


@pytest.mark.parametrize("statement", ["relationship_vector", "relationship_lexical"])
def test_found_relationships_are_looked_up_by_their_key(serving: psycopg.Connection[dict[str, Any]], statement: str) -> None:
    """Each of at most 400 found documents costs one lookup, whichever other index begins with the team."""
    values = parameters(serving, terms=["common", "w1"], weights=[1.0, 1.0])
    (scan,) = scans(explained(serving, FRONTIER[statement], values), "relationship")

    assert ("Index Scan", "relationship_pkey", 0) == (scan["Node Type"], scan["Index Name"], scan.get("Rows Removed by Filter", 0))


def test_rows_are_fetched_by_their_key(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """Hydrating ten texts reads ten rows of evidence, not the space."""
    ids = [row["evidence_id"] for row in _ids(serving)]
    values = parameters(
        serving, evidence_ids=ids, wanted_ids=ids, wanted_parts=[0] * 10, valid_at=None, known_at=None, event_time=None, equivalents=21
    )
    nodes = explained(serving, HYDRATE["hydrate_evidence"], values)

    assert [] == [node["Node Type"] for node in nodes if node["Node Type"] == "Seq Scan" and node["Relation Name"] in ("evidence", "evidence_part")]
    assert all(node["Actual Rows"] * node["Actual Loops"] <= 40 for node in scans(nodes, "evidence") + scans(nodes, "evidence_part"))


def _ids(connection: psycopg.Connection[dict[str, Any]]) -> list[dict[str, Any]]:
    parameters(connection)
    return connection.execute("select evidence_id from commonlore.evidence order by evidence_id limit 10").fetchall()


def test_a_session_without_a_team_reads_nothing(serving: psycopg.Connection[dict[str, Any]]) -> None:
    """Fails closed, and cheaply: the policy's condition is empty before a row is read."""
    for table in ("evidence_posting", "evidence_vector_1", "evidence"):
        row = serving.execute(f"select count(*) as n from commonlore.{table}".encode()).fetchone()

        assert row is not None and 0 == row["n"]
