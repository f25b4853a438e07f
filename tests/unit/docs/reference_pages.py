"""The pages of docs/reference that are made from the code, and the command that writes them.

    python -m tests.unit.docs.reference_pages

Tests compare each page with what is made here. The page of the schema needs a server: `COMMONLORE_TEST_SERVER`, or an
embedded one that is started for it.
"""

from __future__ import annotations

import inspect as python
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from msgspec import inspect
from psycopg.rows import dict_row

from commonlore.api.decode import describe
from commonlore.api.operations import TOOLS
from commonlore.db.isolation.catalogue import GLOBAL_TABLES, level
from commonlore.db.sql import statements
from commonlore.domain.degradation import MESSAGES

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"

# -- docs/reference/request-fields.md

_REQUEST_HEAD = """# Fields of the requests

Made from the request types by `python -m tests.unit.docs.reference_pages`; a test compares it.
Unknown fields are refused, and so is a value of another JSON type: nothing is converted.
Where no default stands, the field is required.
Times are RFC 3339 with an offset, years 0001 to 9999, with at most six digits of a second.
Lengths are in code points.
"""

_REQUEST_RULES = """
## What a range cannot say

- `content` has at most 10 MiB of UTF-8 and at least one visible character; so have `query`, `name`, `source`, `source_group`, `source_key`, `speaker` and
  `session` at least one visible character.
- `metadata` has at most 16 KiB of JSON and is nested at most 8 deep.
- `source_key` and `source_revision` come together; `previous_source_revision` only with them.
- An end of a relationship has a `name`, a `known_entity_id`, or both; an object is either an entity or a value; a predicate is either a `proposed_key` or a
  `known_predicate_key`.
- A relationship cites at least one text, by `evidence_indices`, `known_evidence_ids` or `supports`; an index names a text of the same request.
  An id of `known_evidence_ids` that is no text of the space, or one that does not count now, is a warning of the answer.
- A span lies inside its text and is at most 999 code points long; `quote`, if given, is exactly that text.
- `valid_to` is not before `valid_from`; a `ref` occurs once in a request.
- A `value` of type `number` is a JSON number, of type `boolean` a JSON boolean, of any other type a JSON string.
- The texts of the events of one `ingest_session` have together at most 1 MiB of UTF-8. An event that was taken in before is compared with what it was: its text,
  its speaker, and its time where both have one.
- A correction is submitted with `expected_version` and `patch` and confirmed with `submission_id`, `confirmation_token` and `selection`; a patched end has
  either an `entity_id` or a `name`, a patch at most one of `object_entity` and `object_value`. Without a default, a field of a patch that is left out stays.
- `known_evidence_ids` and `known_relationship_ids` of a recall are ignored where they are unknown or foreign; an unknown `expand_from_entity_ids` touches no
  relationship.
- `community_limit` and `community_relationship_limit` are checked; the lane is empty where communities are off.
"""


def request_fields() -> str:
    """Every field of every request with its range and default, in the order of the types."""
    pieces = [_REQUEST_HEAD]
    for name, spec in TOOLS.items():
        pieces.append(f"\n## `{name}`\n")
        pieces += [_struct_section(kind) for kind in _structs(spec.request)]
    return "".join(pieces) + _REQUEST_RULES


def _structs(root: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """`root` and the types inside it, each once, outermost first."""
    found: dict[type[msgspec.Struct], None] = {root: None}
    for kind in _growing(found):
        for field in inspect.type_info(kind).fields:  # type: ignore[union-attr]
            found.update(dict.fromkeys(part.cls for part in _parts(field.type) if isinstance(part, inspect.StructType)))
    return list(found)


def _growing(found: dict[type[msgspec.Struct], None]) -> Iterator[type[msgspec.Struct]]:
    """The keys of `found`, those included that are added on the way."""
    place = 0
    while place < len(found):
        yield list(found)[place]
        place += 1


def _parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        yield from _parts(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for part in kind.types:
            yield from _parts(part)
    elif isinstance(kind, inspect.ListType):
        yield kind
        yield from _parts(kind.item_type)
    else:
        yield kind


def _struct_section(kind: type[msgspec.Struct]) -> str:
    said = python.cleandoc(vars(kind).get("__doc__") or "").splitlines()
    lines = [f"\n### {kind.__name__}\n", *([f"\n{' '.join(filter(None, said))}\n"] if said else []), "\n| field | range | default |\n|---|---|---|\n"]
    for field in inspect.type_info(kind).fields:  # type: ignore[union-attr]
        lines.append(f"| `{field.encode_name}` | {_range(field.type)} | {_default(field)} |\n")
    return "".join(lines)


def _range(kind: inspect.Type) -> str:
    text = describe(kind).removesuffix(" or null")
    for part in _parts(kind):
        if isinstance(part, inspect.ListType):
            text = f"{text}, each {_item(part.item_type)}"
            break
        if isinstance(part, inspect.StructType):
            text = _link(part)
    return text.replace("|", "\\|")


def _item(kind: inspect.Type) -> str:
    found = next(part for part in _parts(kind))
    return _link(found) if isinstance(found, inspect.StructType) else describe(kind)


def _link(kind: inspect.StructType) -> str:
    return f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"


def _default(field: inspect.Field) -> str:
    if field.required:
        return ""
    if field.default is inspect.NODEFAULT and field.default_factory is inspect.NODEFAULT:
        return "left as it is"
    value = field.default if field.default is not inspect.NODEFAULT else field.default_factory()
    return f"`{json.dumps(value)}`"


# -- docs/reference/degradations.md

_DEGRADATION_HEAD = """# Degradations

What an answer may lack and still be an answer.
`degradations[]` of a recall names each once, by `frontier` and `code`; `optional` is always true, since a part that is required fails the request instead.
A test compares this table with the code.

| frontier | code | message |
|---|---|---|
"""


def degradations() -> str:
    """The table of the closed list, in its order."""
    rows = "".join(f"| `{frontier}` | `{code}` | {message} |\n" for (frontier, code), message in MESSAGES.items())
    return _DEGRADATION_HEAD + rows + _DEGRADATION_TAIL


_DEGRADATION_TAIL = """
`search_states` says the same by lane: `evidence` and `relationships` are `current`, `pending`, `failed` or `not_required`.
Over several spaces the worst counts: `failed`, else `pending`, else `current`, else `not_required`.
`pending` means that a text is found by its words while its vector is still being made.

## What is required

A part without which an answer could mislead fails the request instead, with a code of [errors.md](errors.md):

| part | failure |
|---|---|
| the key cannot be checked, or is not valid | `internal_failure` or `database_unavailable`; `credential_invalid` |
| the counts or the search by words of the team's shared space | the failure of the database, `internal_failure` |
| the rows behind texts, relationships, what the caller knows, and conflicts | `hydration_failed`; nothing is put together from search text, and no side of a conflict is shown without the other |
| a statement or the whole request takes too long | `request_timeout`, in any step and any space |
| a trace | any of these |

Of a private space the same parts may be missing: `space_branch_unavailable` says that one space could not be read, not which part.
A slow private space is no missing one: it ends the request.
"""


# -- docs/reference/schema.md

_SCHEMA_HEAD = """# The schema

Made from a migrated database by `python -m tests.unit.docs.reference_pages`; a test compares it.

`level` is what the policy of a table compares: `space` the team and the space epoch, `team` the team alone, `global` nothing, since there is no tenant's row.
A table is append-only where a role may insert and neither may change or remove a row.
The owner is bound by the same policies.
Every role reads what the policies show it.

"""
_GRANTS = """
select c.relname as name, r.role, p.privilege
from pg_class c, unnest(array['commonlore_app', 'commonlore_worker']) as r (role), unnest(array['INSERT', 'UPDATE', 'DELETE']) as p (privilege)
where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p') and has_table_privilege(r.role, c.oid, p.privilege)
"""
_LISTS: Mapping[str, str] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}


def schema(conninfo: str) -> str:
    """Tables, grants, columns and keys of the database at `conninfo`, an administrator's."""
    named = statements("isolation")
    with psycopg.connect(conninfo, row_factory=dict_row) as connection:
        tables = [row["name"] for row in connection.execute(named["relations"], {}) if row["kind"] in "rp"]
        grants: dict[tuple[str, str], list[str]] = defaultdict(list)
        for row in connection.execute(_GRANTS):
            grants[row["name"], row["role"]].append(row["privilege"])
        found = {name: _by_table(connection.execute(named[name], {}).fetchall()) for name in ("columns", "keys", "foreign_keys")}
    lines = [_SCHEMA_HEAD, "| table | level | serving role | worker | append-only |\n|---|---|---|---|---|\n"]
    for table in tables:
        app, worker = (_granted(grants[table, role]) for role in ("commonlore_app", "commonlore_worker"))
        writes = {*app, *worker}
        kept = "no" if writes - {"insert"} else "yes" if writes else "written by the owner"
        cells = (f"[`{table}`](#{table})", level(table), ", ".join(app) or "read", ", ".join(worker) or "read", kept)
        lines.append(f"| {' | '.join(cells)} |\n")
    for table in tables:
        lines += [f"\n## {table}\n\n", *_table(table, found)]
    return "".join(lines)


def _by_table(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["relation"]].append(row)
    return grouped


def _granted(privileges: list[str]) -> list[str]:
    return [word for privilege, word in _LISTS.items() if privilege in privileges]


def _table(table: str, found: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> Iterator[str]:
    if table in GLOBAL_TABLES:
        yield f"No tenant data: {GLOBAL_TABLES[table]}.\n\n"
    yield "| column | type | null |\n|---|---|---|\n"
    for row in found["columns"].get(table, []):
        yield f"| `{row['name']}` | {row['type']} | {'no' if row['required'] else 'yes'} |\n"
    yield "\n"
    for row in found["keys"].get(table, []):
        kind = "Primary key" if row["is_primary"] else f"Unique `{row['name']}`"
        yield f"- {kind}: {', '.join(column or 'an expression' for column in row['columns'])}\n"
    for row in found["foreign_keys"].get(table, []):
        yield f"- {', '.join(row['columns'])} → `{row['target']}` ({', '.join(row['target_columns'])})\n"


# -- the command


def main() -> None:
    from tests.support.databases import clone, drop, make_template

    template = make_template()
    database = clone(template)
    try:
        pages = {"request-fields.md": request_fields(), "degradations.md": degradations(), "schema.md": schema(database.admin_conninfo)}
    finally:
        drop(database.name)
        drop(template)
    for name, text in pages.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
