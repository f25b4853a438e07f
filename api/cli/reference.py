"""The reference pages of the command line and of the settings, made from what the program itself declares.

    python -m commonlore.api.cli.reference docs/reference

A test compares the pages with these functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from commonlore.api.cli.main import SUBCOMMANDS, cli
from commonlore.db.settings import CLIENT_VARIABLES, FIELDS, PREFIX, Settings

_WIDTH = 110


_COMMANDS = """# The command line

Made by `python -m commonlore.api.cli.reference`; a test compares it with the program.

Exit codes: 0 done; 1 a stated failure, or a check that did not pass; 2 the command line is wrong; 130 interrupted. With `--json` a command
writes exactly one JSON document to standard output, for failures too. Settings come from `COMMONLORE_*` variables: see
[settings](settings.md)."""


def command_page() -> str:
    """`docs/reference/cli.md`."""
    parts = [
        _COMMANDS,
        *(f"## {path}\n\n```text\n{text.rstrip()}\n```" for path, text in _help(cli, None, "commonlore")),
    ]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, parent: click.Context | None, name: str) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=_WIDTH, terminal_width=_WIDTH, **command.context_settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for word in SUBCOMMANDS if parent is None else command.list_commands(context):
            found = command.get_command(context, word)
            assert found is not None
            yield from _help(found, context, word)


def settings_page() -> str:
    """`docs/reference/settings.md`."""
    defaults = Settings(home=Path("home"))
    rows = []
    for name, field in FIELDS.items():
        value = getattr(defaults, name)
        shown = "see below" if name == "home" else "none" if value in (None, ()) else f"`{value}`"
        rows.append(f"| `{PREFIX}{name.upper()}` | {shown} | {field.valid} | {field.meaning} |")
    return _SETTINGS.format(rows="\n".join(rows), clients=" and ".join(f"`{name}`" for name in sorted(CLIENT_VARIABLES)))


_SETTINGS = """# Settings

Every setting is an environment variable. A value outside its range, or a name that begins with `COMMONLORE_` and is not in this list,
stops the start; nothing is clamped or ignored. `commonlore doctor` shows the effective values and where each came from.

| variable | default | valid | meaning |
|---|---|---|---|
{rows}

The default of `COMMONLORE_HOME` is `commonlore` below `$XDG_DATA_HOME`, or below `~/.local/share` where that is not set. For root it is
`/var/lib/commonlore`, because the account that runs PostgreSQL for root cannot enter root's own folder.

{clients} are read by the commands that are clients of a service, such as `commonlore import`. They are no settings of a service.

Names that begin with `COMMONLORE_TEST_` belong to the test suite.

Some limits are fixed: an idle kept-alive connection is closed after 15 s; when the service stops, requests under way have 20 s to end and
the worker's jobs 20 s.
"""


def main() -> None:
    folder = Path(sys.argv[1])
    (folder / "cli.md").write_text(command_page(), encoding="utf-8")
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
