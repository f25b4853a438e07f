"""What the catalogue must say. Read-only; every role can run it.

Everything allowed is a closed list here. A table, policy, definer function or grant that nobody listed is a failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow, dict_row

from commonlore.db.errors import stating
from commonlore.db.isolation.report import Check
from commonlore.db.sql import statements

_SQL = statements("isolation")

# Tables without tenant data (decisions.md 20).
GLOBAL_TABLES: Mapping[str, str] = {
    "alembic_version": "the revision of the schema",
    "embedding_contract": "one row for each embedding model of the installation",
}
# Tables that belong to a team as a whole; every other tenant table belongs to a space of it.
TEAM_TABLES = frozenset(
    (
        "team",
        "profile",
        "credential",
        "space",
        "space_epoch",
        "space_grant",
        "promotion",
        "promotion_item",
        "projection_generation",
        "job",
        "audit_entry",
        "audit_unsealed",
        "audit_seal",
        "feedback_recall",
        "feedback_result",
        "recall_feedback",
        "feedback_mark",
        "retention_rule",
        "limit_use",
        *("erasure", "erasure_scope", "erasure_count", "legal_hold", "export"),
    )
)
_DELETING = (
    "hide_rows",
    "collect_rows",
    "unlink_rows",
    "purge_rows",
    "purge_epoch",
    "purge_briefs",
    "purge_feedback",
    "left_feedback",
    "purge_predicates",
    "purge_team_rows",
    "left_rows",
)
DEFINER_FUNCTIONS = frozenset(
    f"commonlore.{name}" for name in ("enqueue", "cancel_job", "retry_job", "queue_numbers", "worker_numbers", "remove_audit", *_DELETING)
)
TEAM_CONDITION = "(team_id = (NULLIF(current_setting('commonlore.team_id'::text, true), ''::text))::uuid)"
SPACE_CONDITION = f"({TEAM_CONDITION} AND (space_epoch = (NULLIF(current_setting('commonlore.space_epoch'::text, true), ''::text))::bigint))"
# Here the column names the erasure that a row belongs to, and hides nothing.
ERASURE_TABLES = frozenset(("erasure_item", "erasure_sample"))
_EXTRA_POLICIES = {("team", "list_teams"): ("r", True, ["commonlore_owner", "commonlore_worker"], "true", None)}
# On the tables whose rows an erasure marks: a marked row is in the sight of neither serving role. A table has the policy where it has the mark.
_ERASED_POLICY = ("*", False, ["commonlore_app", "commonlore_worker"], "(erasure_id IS NULL)", None)
SERVING_ROLES = ("commonlore_app", "commonlore_worker")


def level(table: str) -> str:
    """`global`, `team` or `space`: how closely the policy of a table must bind."""
    return "global" if table in GLOBAL_TABLES else "team" if table in TEAM_TABLES else "space"


def _rows(connection: Connection[DictRow], statement: str) -> list[dict[str, Any]]:
    return connection.execute(_SQL[statement], {}).fetchall()


def tenant_tables(connection: Connection[DictRow]) -> list[str]:
    """Every table of the product's schema that is not global, by name."""
    return [row["name"] for row in _rows(connection, "relations") if row["kind"] in "rpf" and level(row["name"]) != "global"]


def verify_live(serving_conninfo: str) -> list[Check]:
    """The catalogue checks and a look without context, in one read-only transaction of the serving role.

    Raises:
        Unavailable: the database does not answer.
    """
    with stating(), psycopg.connect(serving_conninfo, row_factory=dict_row) as connection:
        connection.read_only = True
        checks = [_serves_as(connection), *catalogue_checks(connection)]
        for table in tenant_tables(connection):
            query = sql.SQL("select exists (select from {}) as found").format(sql.Identifier("commonlore", table))
            try:
                with connection.transaction():
                    row = connection.execute(query).fetchone()
                seen = row is not None and row["found"]
            except psycopg.errors.InsufficientPrivilege:
                seen = False
            checks.append(Check("without context no row is visible", table, not seen, "a row is visible" if seen else ""))
        connection.rollback()
    return checks


def _serves_as(connection: Connection[DictRow]) -> Check:
    [row] = _rows(connection, "who_am_i")
    same = row["session_name"] == row["current_name"] == "commonlore_app"
    return Check("the API logs in as the serving role", row["session_name"], same, "" if same else "expected commonlore_app")


def catalogue_checks(connection: Connection[DictRow]) -> list[Check]:
    """Every rule for every object, in a fixed order. Runs inside the caller's transaction."""
    relations = _rows(connection, "relations")
    tables = {row["name"]: row for row in relations if row["kind"] in "rpf"}
    return [
        *_levels(tables),
        *_row_security(connection, tables),
        *_keys(connection, tables),
        *_foreign_keys(connection, tables),
        *_roles(connection),
        *_owners(relations),
        *_views(connection),
        *_functions(connection),
        *_grants(connection),
    ]


def _levels(tables: Mapping[str, dict[str, Any]]) -> Iterator[Check]:
    for name in sorted(GLOBAL_TABLES.keys() | TEAM_TABLES):
        yield Check("a listed table exists", name, name in tables)
    for name, row in tables.items():
        if level(name) == "global":
            yield Check("a global table has no team", name, "team_id" not in row["columns"])
        else:
            needed = {"team_id", "space_epoch"} if level(name) == "space" else {"team_id"}
            missing = sorted(needed.difference(row["columns"]))
            yield Check("a tenant table has its columns", name, not missing, f"missing {', '.join(missing)}" if missing else "")


def _row_security(connection: Connection[DictRow], tables: Mapping[str, dict[str, Any]]) -> Iterator[Check]:
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in _rows(connection, "policies"):
        found[row["relation"]][row["name"]] = row
    for name, table in tables.items():
        if level(name) == "global":
            continue
        yield Check("row security is enabled", name, table["enabled"])
        yield Check("row security is forced on the owner", name, table["forced"])
        condition = SPACE_CONDITION if level(name) == "space" else TEAM_CONDITION
        yield _policy(name, found[name].get("tenant"), ("*", True, ["public"], condition, condition))
        marks = level(name) == "space" and "erasure_id" in table["columns"] and name not in ERASURE_TABLES
        if marks:
            seen = found[name].get("erased")
            yield _policy(name, seen, _ERASED_POLICY) if seen else Check("an erased row is hidden", name, False, "the policy erased is missing")
        for other, policy in found[name].items():
            if other != "tenant" and not (marks and other == "erased"):
                expected = _EXTRA_POLICIES.get((name, other))
                yield _policy(name, policy, expected) if expected else Check("only listed policies exist", f"{name}.{other}", False, "not listed")


def _policy(table: str, found: Mapping[str, Any] | None, expected: tuple[str, bool, list[str], str, str | None]) -> Check:
    rule = "the policy compares team and space" if level(table) == "space" else "the policy compares the team"
    if found is None:
        return Check(rule, table, False, "the policy tenant is missing")
    parts = ("command", "permissive", "roles", "condition", "check_condition")
    wrong = [f"{part} is {found[part]}" for part, value in zip(parts, expected, strict=True) if found[part] != value]
    return Check(rule, f"{table}.{found['name']}", not wrong, "; ".join(wrong))


def _keys(connection: Connection[DictRow], tables: Mapping[str, dict[str, Any]]) -> Iterator[Check]:
    primary = set()
    for row in _rows(connection, "keys"):
        name = row["relation"]
        if level(name) == "global":
            continue
        shown = f"({', '.join(column or 'expression' for column in row['columns'])})"
        if row["is_primary"]:
            primary.add(name)
            first = ["team_id", "space_epoch"] if level(name) == "space" else ["team_id"]
            yield Check("the primary key begins with the team", f"{name}.{row['name']}", row["columns"][: len(first)] == first, shown)
        else:
            yield Check("a unique key contains the team", f"{name}.{row['name']}", "team_id" in row["columns"], shown)
    for name in tables:
        if level(name) != "global" and name not in primary:
            yield Check("the primary key begins with the team", name, False, "no primary key")


def _foreign_keys(connection: Connection[DictRow], tables: Mapping[str, dict[str, Any]]) -> Iterator[Check]:
    for row in _rows(connection, "foreign_keys"):
        name, target = row["relation"], row["target"]
        if level(target) == "global":
            continue
        pairs = list(zip(row["columns"], row["target_columns"], strict=True))
        both = all("space_epoch" in tables.get(table, {"columns": ()})["columns"] for table in (name, target))
        needed = ["team_id", "space_epoch"] if both and target != "space" else ["team_id"]
        missing = [column for column in needed if (column, column) not in pairs]
        detail = f"does not tie {', '.join(missing)}" if missing else ""
        yield Check("a foreign key ties team and space", f"{name}.{row['name']}", not missing, detail)


def _roles(connection: Connection[DictRow]) -> Iterator[Check]:
    found = {row["name"]: row for row in _rows(connection, "roles")}
    for role in ("commonlore_app", "commonlore_worker", "commonlore_migrator", "commonlore_owner"):
        row = found.get(role)
        if row is None:
            yield Check("a role cannot pass row security", role, False, "the role is missing")
            continue
        powers = [power for power in ("superuser", "bypass", "createrole", "replication") if row[power]]
        yield Check("a role cannot pass row security", role, not powers, ", ".join(powers))
        allowed = ["commonlore_owner"] if role == "commonlore_migrator" else []
        others = sorted(set(row["member_of"]).difference(allowed))
        yield Check("a role is a member of no other", role, not others, ", ".join(others))


def _owners(relations: list[dict[str, Any]]) -> Iterator[Check]:
    for row in relations:
        yield Check("the owner role owns it", row["name"], row["owner"] == "commonlore_owner", row["owner"])


def _views(connection: Connection[DictRow]) -> Iterator[Check]:
    for row in _rows(connection, "views"):
        passed = row["kind"] == "v" and row["invoker"]
        detail = "a materialized view has no row security" if row["kind"] == "m" else "" if passed else "security_invoker is off"
        yield Check("a view reads as its caller", row["name"], passed, detail)


def _functions(connection: Connection[DictRow]) -> Iterator[Check]:
    for row in _rows(connection, "functions"):
        if row["leakproof"]:
            yield Check("no function of ours is marked leakproof", row["name"], False)
        if row["definer"]:
            wrong = [
                text
                for text, bad in (
                    ("not listed", row["plain_name"] not in DEFINER_FUNCTIONS),
                    ("search_path is not pinned", not row["pinned"]),
                    ("PUBLIC may execute it", row["public_execute"]),
                )
                if bad
            ]
            yield Check("a definer function is listed, pinned and closed to PUBLIC", row["name"], not wrong, "; ".join(wrong))


def _grants(connection: Connection[DictRow]) -> Iterator[Check]:
    public, excess = _rows(connection, "public_grants"), _rows(connection, "excess_grants")
    for row in public:
        yield Check("PUBLIC is granted nothing", row["name"], False, row["privilege"])
    for row in excess:
        yield Check("no grant goes round row security", f"{row['role']} on {row['name']}", False, row["privilege"])
    if not public:
        yield Check("PUBLIC is granted nothing", "commonlore, procrastinate", True)
    if not excess:
        yield Check("no grant goes round row security", ", ".join(SERVING_ROLES), True)
