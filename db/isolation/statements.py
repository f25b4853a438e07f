"""The second lock, read off the plans: what each named statement restricts by itself, with no policy in force.

A statement is planned as a superuser, for whom policies do not count. Every scan of a tenant table in its plan must then
carry a condition on the team, and on the space epoch where the table has one. The planner draws a join's consequences
(`using (team_id)`), so a condition stated once may hold for several tables; text alone could not tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.rows import DictRow

from commonlore.db.isolation.catalogue import level
from commonlore.db.isolation.report import Check
from commonlore.db.sql import statements, subjects

# Statements that may reach beyond one team or space, by subject and name, and why that is right.
EXEMPT: Mapping[tuple[str, str], str] = {
    ("tenancy", "list_teams"): "the owner lists the teams through the policy list_teams; the serving role sees its own team only",
    ("erasure_deletion", "list_leaving_teams"): "a worker's sweep lists the teams that are to be erased through the same policy",
    ("worker", "list_teams"): "a worker's sweep lists the teams through the same policy; their spaces are read team by team",
}

# `{gate}` stands for the text whose name ends in `_gate` and which is no statement itself; `{sample}` for the statement whose name does.
_PLACE = re.compile(r"\{(?P<word>[a-z]+)\}")
_WHOLE = frozenset({"sample"})
_STATEMENT = re.compile(r"\s*(?:select|insert|update|delete|with)\b", re.IGNORECASE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)  # may name a place without being one
_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s")
_INSERT = re.compile(r"insert into\s+(?:commonlore\.)?(?P<table>\w+)[^(]*\((?P<columns>[^)]*)\)", re.IGNORECASE)
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter", "TID Cond")
_MARK = "-- tenant"
_MARKED_LINE = re.compile(r"^[ \t]*(?:(?P<word>and|where|on)\b)?.*-- tenant[ \t]*$", re.MULTILINE | re.IGNORECASE)


def named_statements() -> Iterator[tuple[str, str, str]]:
    """Every (subject, name, statement) below db/queries, in order; the catalogue's own reading is left out.

    A statement with places for conditions comes twice: with them, and with `true` instead, since a caller may leave one out.
    """
    read = {(subject, name): _COMMENT.sub("", text) for subject in subjects() if subject != "isolation" for name, text in statements(subject).items()}
    words = {match["word"] for text in read.values() for match in _PLACE.finditer(text)}
    pieces = {key: text for key, text in read.items() if any(key[1].endswith(f"_{word}") for word in words - _WHOLE) and not _STATEMENT.match(text)}
    fragments = {word: text for word in words for (_, name), text in pieces.items() if name.endswith(f"_{word}")}
    whole = {word: text for word in words & _WHOLE for (_, name), text in read.items() if name.endswith(f"_{word}")}
    for (subject, name), text in read.items():
        if (subject, name) in pieces:
            continue
        yield subject, name, _filled(text, whole | fragments)
        if _PLACE.search(text):
            yield subject, f"{name} without fragments", _filled(text, whole | dict.fromkeys(fragments, "true"))


def _filled(text: str, fragments: Mapping[str, str]) -> str:
    """`text` with every place filled; a fragment may have places of its own, two levels deep."""
    for _ in range(3):
        text = _PLACE.sub(lambda match: fragments.get(match["word"], match[0]), text)
    return text


def without_predicates(statement: str) -> str:
    """The statement with the condition of every marked line true; a `where` or `on` that begins the line stays."""
    return _MARKED_LINE.sub(lambda match: f"{match['word'] or ''} true", statement)


def unlocked(connection: Connection[DictRow], statement: str) -> list[str]:
    """Tenant tables that the statement reads or writes without a condition of its own, as `table: what is missing`.

    `connection` is a superuser's. Order of the plan.

    Raises:
        psycopg.Error: the statement does not plan.
    """
    missing = []
    columns = {match["table"]: set(re.findall(r"\w+", match["columns"])) for match in _INSERT.finditer(statement)}
    for node in _nodes(_plan(connection, statement)):
        table = node.get("Relation Name")
        if table is None or node.get("Schema") != "commonlore" or level(table) == "global":
            continue
        needed = ("team_id", "space_epoch") if level(table) == "space" else ("team_id",)
        if node["Node Type"] != "ModifyTable":
            conditions = [str(node[key]) for key in _CONDITIONS if key in node]
            absent = [column for column in needed if not any(_restricts(text, column) for text in conditions)]
        elif node["Operation"] == "Insert":
            absent = [column for column in needed if column not in columns.get(table, ())]
        else:
            continue  # the rows come from a scan of the same table, which is another node
        if absent:
            missing.append(f"{table}: {', '.join(absent)}")
    return missing


def reads_tenant_rows(connection: Connection[DictRow], statement: str) -> bool:
    """Whether the plan scans a tenant table; an insert of given values does not."""
    return any(
        node.get("Schema") == "commonlore" and node["Node Type"] != "ModifyTable" and level(node["Relation Name"]) != "global"
        for node in _nodes(_plan(connection, statement))
        if "Relation Name" in node
    )


def _restricts(text: str, column: str) -> bool:
    """Whether one of the conditions that all must hold compares the column for equality; one side of an OR does not count."""
    side = re.compile(rf"(?:\w+\.)?{column} = (?!ANY ).+|.+ = (?:\w+\.)?{column}")
    return any(side.fullmatch(part) and not _split(part, " OR ")[1:] for part in _conjuncts(text))


def _conjuncts(text: str) -> list[str]:
    """The parts of a printed condition that are joined by AND at its top, without the parentheses around each."""
    bare = re.sub(r"'(?:[^']|'')*'", "''", text).strip()
    while bare.startswith("(") and _closes_at_end(bare):
        bare = bare[1:-1]
    parts = _split(bare, " AND ")
    return [bare] if len(parts) == 1 else [inner for part in parts for inner in _conjuncts(part)]


def _closes_at_end(text: str) -> bool:
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(text) - 1
    return False


def _split(text: str, word: str) -> list[str]:
    """`text` cut at `word` outside of parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(word, position):
            parts.append(text[start:position])
            start = position + len(word)
    return [*parts, text[start:]]


def positional(statement: str) -> str:
    """The statement with `$1`, `$2` ... for its named parameters, so that it can be planned without values."""
    numbers: dict[str, int] = {}
    text = _PARAMETER.sub(lambda match: f"${numbers.setdefault(match['name'], len(numbers) + 1)}", statement)
    return text.replace("%%", "%")


def _plan(connection: Connection[DictRow], statement: str) -> dict[str, Any]:
    query = f"explain (generic_plan, verbose, format json) {positional(statement)}"
    with connection.transaction():
        # A bitmap scan prints its conditions as alternatives of several indexes, each of them whole.
        connection.execute("set local enable_bitmapscan = off")
        row = connection.execute(query.encode(), None).fetchone()
    assert row is not None
    plan: dict[str, Any] = row["QUERY PLAN"][0]["Plan"]
    return plan


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def statement_checks(connection: Connection[DictRow]) -> list[Check]:
    """The rules for every named statement. `connection`: a superuser's, autocommit."""
    return [check for subject, name, statement in named_statements() for check in _check(connection, subject, name, statement)]


def _check(connection: Connection[DictRow], subject: str, name: str, statement: str) -> Iterator[Check]:
    label = f"{subject}.{name}"
    try:
        found = unlocked(connection, statement)
        reads = reads_tenant_rows(connection, statement)
    except psycopg.Error as error:
        yield Check("a statement can be planned", label, False, error.diag.message_primary or "")
        return
    if (subject, name) in EXEMPT:
        yield Check("a statement restricts every tenant table", label, True, f"exempt: {EXEMPT[subject, name]}")
        return
    yield Check("a statement restricts every tenant table", label, not found, "; ".join(found))
    if not reads:
        return
    if _MARK not in statement:
        yield Check("a tenant predicate is marked", label, False, "no line ends in `-- tenant`")
        return
    try:
        left = unlocked(connection, without_predicates(statement))
    except psycopg.Error as error:
        yield Check("a statement stands without its marked predicates", label, False, error.diag.message_primary or "")
        return
    yield Check("the marked predicates are the lock", label, bool(left), "" if left else "without them every table is still restricted")
