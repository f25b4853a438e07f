"""Every named statement prepares against the migrated database as the role that runs it, with each parameter typed where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from commonlore.db.sql import statements, subjects
from commonlore.db.statements import (
    FILTERED_FRONTIER,
    FRONTIER,
    HISTORY,
    HYDRATE,
    NEAR,
    OPEN_FRONTIER,
    PAST_FILTERED_FRONTIER,
    PAST_FRONTIER,
    RESIDENT,
)
from tests.support.databases import TestDatabase, clone, drop

# Texts that are put into others and are no statement themselves.
FRAGMENTS = {
    ("frontier", "evidence_gate"),
    ("frontier", "evidence_filter"),
    ("frontier", "document_words"),
    ("frontier", "evidence_sample"),
    ("frontier", "relationship_narrowing"),
    ("hydrate", "relationship_eligible"),
    *(("history", name) for name in ("relationship_past", "support_effective", "support_granted", "evidence_gone", "relationship_end")),
}
# Who runs what; everything else is the serving role's.
OWNERS = {
    "tenancy": "owner",
    "worker": "worker",
    "folding": "worker",
    "erasure_deletion": "worker",
    "erasure_projection": "worker",
    "job_runs": "worker",
    "conflict_review": "worker",
    "community_run": "worker",
    "hypothesis_run": "worker",
    "vector_index": "worker",
    "isolation": "owner",
    "archive": "owner",
    "projection_build": "worker",
    "contract": "worker",
    "contract_change": "owner",
    "audit_seal": "worker",
    "feedback_removal": "worker",
    "retention_run": "worker",
    "limit_ceiling": "owner",
}
# A backup is the owner's, and so is the note of it.
OWNERS_OF_STATEMENTS = {("erasure_scope", "add_export"): "owner"}
_COMMENT = re.compile(r"--.*$", re.MULTILINE)
_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s(?P<cast>::[a-z0-9_]+(?:\(\d+\))?(?:\[\])?)?")


def _all() -> list[tuple[str, str, str]]:
    found = []
    for subject in subjects():
        complete = {"frontier": FRONTIER, "near": NEAR, "resident": RESIDENT, "hydrate": HYDRATE, "history": HISTORY}.get(subject) or statements(
            subject
        )
        found += [(subject, name, text) for name, text in complete.items() if (subject, name) not in FRAGMENTS]
    for variant, texts in (
        ("open", OPEN_FRONTIER),
        ("past", PAST_FRONTIER),
        ("filtered", FILTERED_FRONTIER),
        ("past, filtered", PAST_FILTERED_FRONTIER),
    ):
        found += [("frontier", f"{name} ({variant})", text) for name, text in texts.items() if ("frontier", name) not in FRAGMENTS]
    return found


ALL = _all()


def positional(text: str) -> str:
    """`$1` for each name, `%` for `%%`, comments gone."""
    numbers: dict[str, int] = {}
    return _PARAMETER.sub(
        lambda match: f"${numbers.setdefault(match['name'], len(numbers) + 1)}{match['cast'] or ''}", _COMMENT.sub("", text)
    ).replace("%%", "%")


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture(scope="module")
def connections(shared: TestDatabase) -> Iterator[dict[str, psycopg.Connection]]:
    with (
        psycopg.connect(shared.serving_conninfo, autocommit=True) as serving,
        psycopg.connect(shared.worker_conninfo, autocommit=True) as worker,
        psycopg.connect(shared.owner_conninfo, autocommit=True) as owner,
    ):
        owner.execute("set role commonlore_owner")
        yield {"serving": serving, "worker": worker, "owner": owner}


@pytest.mark.parametrize(("subject", "name", "text"), ALL, ids=[f"{subject}.{name}" for subject, name, _ in ALL])
def test_a_statement_prepares_as_its_role(subject: str, name: str, text: str, connections: dict[str, psycopg.Connection]) -> None:
    """Names, types, columns: whatever a migration breaks is found here. `explain` also asks for the role's rights."""
    connection = connections[OWNERS_OF_STATEMENTS.get((subject, name)) or OWNERS.get(subject, "serving")]
    query = positional(text)
    if re.match(r"\s*(?:create|alter|drop|set|lock|vacuum|analyze)\b", query, re.IGNORECASE):
        pytest.skip("a command without a plan")

    connection.execute(f"prepare checked as {query}".encode())
    connection.execute("deallocate checked")
    plan = connection.execute(f"explain (generic_plan) {query}".encode()).fetchall()

    assert [] != plan


@pytest.mark.parametrize(("subject", "name", "text"), ALL, ids=[f"{subject}.{name}" for subject, name, _ in ALL])
def test_every_parameter_says_its_type(subject: str, name: str, text: str) -> None:
    """So that a statement can be prepared without a caller."""
    assert [] == [match["name"] for match in _PARAMETER.finditer(_COMMENT.sub("", text)) if match["cast"] is None]


@pytest.mark.parametrize(("subject", "name", "text"), ALL, ids=[f"{subject}.{name}" for subject, name, _ in ALL])
def test_no_place_and_no_lone_percent_is_left(subject: str, name: str, text: str) -> None:
    bare = _PARAMETER.sub("", _COMMENT.sub("", text)).replace("%%", "")

    assert ([], []) == (re.findall(r"\{\w+\}", bare), re.findall(r"%", bare))


def test_a_name_is_a_name_of_one_statement() -> None:
    """One statement a name, and every file has some."""
    assert len(ALL) == len({(subject, name) for subject, name, _ in ALL})
    assert {subject for subject, _, _ in ALL} == set(subjects())


def test_no_query_of_ours_sets_the_context_but_that_of_the_session() -> None:
    """Team and space are set in one file (decisions.md 26)."""
    setting = [(subject, name) for subject, name, text in ALL if "set_config('commonlore" in text]

    assert {"session"} == {subject for subject, _ in setting}
