"""What a command writes: for people tables and sentences, with `--json` exactly one JSON document on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

import click

from commonlore.domain.errors import CODES, CommonloreError
from commonlore.domain.time import render_instant

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Output:
    """Where a command's results and failures go. `as_json` is set by the option `--json`, wherever it stands."""

    def __init__(self) -> None:
        self.as_json = False

    def document(self, value: object) -> None:
        click.echo(json.dumps(value, default=_plain, ensure_ascii=False, indent=2))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
        """A table for people, or the sentence `empty` where there is no row. Ids are never cut."""
        if not rows:
            click.echo(empty)
            return
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console() if sys.stdout.isatty() else Console(width=240)
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column, no_wrap=column == "id", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_shown(value)) for value in row))
        console.print(table)

    def failure(self, error: CommonloreError) -> None:
        """A stated failure: what went wrong, then what to do next. What is said of a wrong field says both."""
        if self.as_json:
            problem = _problem(error.code, error.message)
            problem["errors"] = [{"pointer": place.pointer, "detail": place.detail} for place in error.problems]
            self.document(problem | ({"details": error.details} if error.details else {}))
        else:
            click.echo(f"Error: {error.message}" + ("" if error.problems else f"\n{error.entry.remediation}"), err=True)

    def usage(self, error: click.ClickException) -> None:
        """A command line that cannot be read."""
        if self.as_json:
            self.document(_problem("invalid_input", error.format_message()))
        else:
            error.show()


def _problem(code: str, message: str) -> dict[str, object]:
    entry = CODES[code]
    return {
        "code": code,
        "message": message,
        "retryable": entry.retryable,
        "next_action": entry.next_action,
        "remediation": entry.remediation,
    }


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return render_instant(value)
    if isinstance(value, (UUID, Enum)):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return render_instant(value.replace(microsecond=0))
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _note(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(context.obj, Output):
        context.obj.as_json = True


def idempotency_option(function: _Function) -> _Function:
    """`--idempotency-key` of a command that writes."""
    help_text = "A name for this one act: the same command given again changes nothing and answers the same."
    return click.option("--idempotency-key", metavar="KEY", help=help_text)(function)


def json_option(function: _Function) -> _Function:
    """`--json` for a command: one JSON document instead of tables, for failures too. Read before every other option."""
    option = click.option("--json", is_flag=True, is_eager=True, expose_value=False, callback=_note, help="Write one JSON document.")
    return option(function)
