"""`python -m commonlore.api.cli.sibling PARENT LISTENER CONNECTIONS NUMBER`: one further API process of `commonlore up`, which starts it and ends it.

The listening socket and the counts of connections are inherited descriptors, the first line of the input is the serving role's address of the database.
It writes one line when it answers. It ends when its parent does, and has its parent's priority.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

from commonlore.api.cli.accepting import Connections
from commonlore.api.cli.serving import load_early, serving
from commonlore.api.cli.siblings import READY
from commonlore.api.cli.tied import tie
from commonlore.api.cli.up import configure_logging, run_loop
from commonlore.db.settings import Settings, read_settings
from commonlore.domain.errors import CommonloreError


async def _serve(settings: Settings, conninfo: str, listener: socket.socket, connections: Connections, number: int) -> None:
    stop = asyncio.Event()
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(caught, stop.set)
    model = load_early(settings.embedding_threads)
    async with serving(settings, conninfo, listener, model, number=number, connections=connections):
        os.write(sys.stdout.fileno(), READY)
        await stop.wait()


def main() -> int:
    parent, descriptor, counts, number = map(int, sys.argv[1:])
    if not tie(parent):
        return 0
    listener = socket.socket(fileno=descriptor)
    for inherited in (descriptor, counts):
        os.set_inheritable(inherited, False)
    conninfo = sys.stdin.readline().rstrip("\n")
    try:
        settings = read_settings(os.environ)
        configure_logging(settings)
        run_loop(_serve(settings, conninfo, listener, Connections(counts), number))
    except CommonloreError as error:
        sys.stderr.write(f"API process {number}: {error.code}: {error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
