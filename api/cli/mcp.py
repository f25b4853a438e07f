"""`commonlore mcp`: a process that an agent's host starts, between the agent and a running service."""

from __future__ import annotations

import logging
import os
import stat
import sys
from pathlib import Path

import click

from commonlore.api.cli.calling import require_url
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.key import parse

log = logging.getLogger("commonlore.mcp")


@click.command()
@click.option("--url", envvar="COMMONLORE_URL", default="http://127.0.0.1:7411", show_default=True, help="Where the service answers.")
@click.option("--key-file", type=click.Path(path_type=Path), help="A file with the key alone, instead of COMMONLORE_KEY.")
def mcp(url: str, key_file: Path | None) -> None:
    """Serve MCP over standard input and output, for an agent's host that starts its servers itself.

    The key comes from COMMONLORE_KEY or a file, never from the command line, which other users see. What is said goes to standard error.
    """
    key = _read_key(key_file)
    require_url(url)
    import anyio

    from commonlore.api.mcp_stdio import serve

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    anyio.run(serve, url, key)


def _read_key(key_file: Path | None) -> str:
    """
    Raises:
        OperatorError: `settings_invalid`, there is no key; `file_unreadable`.
    """
    text = os.environ.get("COMMONLORE_KEY", "")
    if key_file is not None:
        try:
            text = key_file.read_text("ascii").strip()
            if stat.S_IMODE(key_file.stat().st_mode) & 0o077:
                click.echo(f"Warning: others may read {key_file}; chmod 600 keeps the key yours.", err=True)
        except (OSError, UnicodeDecodeError) as error:
            raise OperatorError("file_unreadable", f"{key_file} cannot be read as a key") from error
    if parse(text) is None:
        raise OperatorError("settings_invalid", "a key of the service is needed: set COMMONLORE_KEY, or give --key-file")
    return text
