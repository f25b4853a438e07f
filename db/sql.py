"""Named SQL statements, read once from the .sql files beside this module.

A file holds the statements of one subject. A statement starts at a line `-- name: <name>`; the comment lines that
follow say what it returns, in which order, and which index serves it. Every parameter is cast where it stands
(`%(team_id)s::uuid`), so that PostgreSQL can type it without a caller and a test can PREPARE each statement against a
migrated database. The second lock of a tenant statement ends in the mark `-- tenant`, so that a test can strip it and
prove that row security alone isolates (decisions.md 24).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)


@cache
def statements(subject: str) -> dict[str, LiteralString]:
    """Statements of `queries/<subject>.sql` by name.

    Raises:
        ValueError: a name occurs twice, or text precedes the first name.
    """
    text = files("commonlore.db").joinpath("queries", f"{subject}.sql").read_text("utf-8")
    head, *rest = _NAME.split(text)
    if any(line and not line.startswith("--") for line in head.splitlines()):
        raise ValueError(f"{subject}.sql: SQL before the first `-- name:` line")
    names, bodies = rest[::2], rest[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{subject}.sql: a statement name occurs twice")
    return {name: cast(LiteralString, body.strip()) for name, body in zip(names, bodies, strict=True)}


def subjects() -> list[str]:
    """Every subject that has a file, sorted."""
    return sorted(path.name.removesuffix(".sql") for path in files("commonlore.db").joinpath("queries").iterdir() if path.name.endswith(".sql"))
