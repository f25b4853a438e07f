"""`commonlore up`, `migrate` and `worker`: run the service from one command, or its parts one by one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonlore.api.cli.accepting import Connections
from commonlore.api.cli.output import Output, json_option
from commonlore.api.cli.processes import WORKER, WorkerProcess, child_environment, keep_database, one_arena
from commonlore.api.cli.serving import address_of, is_loopback, listen, load_early, serving
from commonlore.api.cli.siblings import answering, processes_of, require_connections, siblings
from commonlore.db.embedded.cluster import MAX_CONNECTIONS
from commonlore.db.erasure.signing import receipt_key
from commonlore.db.locate import Database, open_database, require_migrated, revision
from commonlore.db.migrate import head_revision
from commonlore.db.settings import Settings, default_home, read_settings
from commonlore.domain.errors import OperatorError, Unavailable

if TYPE_CHECKING:
    from commonlore.api.cli.first_key import Installation
    from commonlore.db.embedding.local import LocalEmbedder
    from commonlore.domain.tenancy.administration import IssuedKey

_Result = TypeVar("_Result")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_home_option = click.option("--home", type=click.Path(path_type=Path), help="The data folder, instead of COMMONLORE_HOME.")


@dataclass(frozen=True, slots=True)
class Started:
    """What a person is told once the service answers."""

    settings: Settings
    database: Database
    worker_pid: int | None
    api_pids: tuple[int, ...]
    first_key: IssuedKey | None


@click.command()
@click.option("--host", help="Where to listen, instead of COMMONLORE_HOST. Other than this machine's own only once a key exists.")
@click.option("--port", type=click.IntRange(0, 65535), help="Instead of COMMONLORE_PORT; 0 takes a free one.")
@_home_option
@click.option("--no-worker", is_flag=True, help="Do not start a worker; run `commonlore worker` elsewhere.")
@click.option("--processes", type=click.IntRange(1, 64), help="API processes on one socket, instead of COMMONLORE_API_PROCESSES.")
@json_option
@click.pass_obj
def up(output: Output, host: str | None, port: int | None, home: Path | None, no_worker: bool, processes: int | None) -> None:
    """Run the service until Ctrl-C: the database if it is the embedded one, the API and a worker.

    The first start makes a team, a member and a key, and shows the key once.
    """
    one_arena()
    settings = read_settings(os.environ, host=host, port=port, home=home, api_processes=processes)
    configure_logging(settings)
    settings = replace(settings, api_processes=processes_of(settings))
    if settings.embedded:
        require_connections(settings, MAX_CONNECTIONS)
    run_service(settings, lambda started: _announce(output, started), worker=not no_worker)


def run_service(settings: Settings, announce: Callable[[Started], None], *, worker: bool) -> None:
    """Everything in order: port, database, API, worker; and backwards on SIGINT, SIGTERM or SIGHUP.

    Raises:
        CommonloreError: what keeps the service from starting.
    """
    with signals_interrupt(), contextlib.closing(listen(settings.host, settings.port)) as listener:
        settings = replace(settings, port=int(listener.getsockname()[1]))
        model = load_early(settings.embedding_threads)
        with open_for_serving(settings) as database:
            with contextlib.suppress(OSError):  # a folder that cannot be written to: whoever signs first says so
                receipt_key(settings.home)
            run_loop(_run_until_signalled(settings, database, listener, model, announce, worker=worker))


@contextmanager
def open_for_serving(settings: Settings) -> Iterator[Database]:
    """Prepared where this process may prepare it; where it knows the serving role only, it must have been migrated.

    Raises:
        OperatorError: as `open_database`; `settings_invalid` where the database that a setting names does not answer.
    """
    prepare = settings.embedded or settings.database_url is not None
    with contextlib.ExitStack() as stack:
        try:
            database = stack.enter_context(open_database(settings, prepare=prepare))
            if not prepare:
                require_migrated(database.serving_conninfo)
        except Unavailable as error:
            if settings.embedded:
                raise
            name = "DATABASE_URL" if settings.database_url is not None else "SERVING_URL"
            message = f"the database that COMMONLORE_{name} names does not answer; no other is used in its place"
            raise OperatorError("settings_invalid", message) from error
        yield database


async def _run_until_signalled(
    settings: Settings,
    database: Database,
    listener: socket.socket,
    model: Future[LocalEmbedder],
    announce: Callable[[Started], None],
    *,
    worker: bool,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    installation = await _installation(database)
    if not is_loopback(settings.host) and installation is not None and not installation.has_active_key:
        raise OperatorError(
            "settings_invalid",
            f"{settings.host} can be reached from other machines, and there is no key yet: start once on 127.0.0.1, or make a key first",
        )
    connections = Connections() if settings.api_processes > 1 else None
    async with (
        siblings(settings, database.serving_conninfo, listener, connections) as others,
        service(settings, database, listener, model, worker=worker, connections=connections) as process,
        answering(others, stop),  # so that they end before the worker does
    ):
        first_key = await _first_key(database) if installation is not None and not installation.has_team else None
        api_pids = (os.getpid(), *(one.pid for one in others if one.pid is not None))
        announce(Started(settings, database, process.pid if process else None, api_pids, first_key))
        guard = loop.create_task(keep_database(settings)) if settings.embedded else None
        await stop.wait()
        if guard is not None:
            guard.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await guard
        logging.getLogger("commonlore.up").info("stopping")


@asynccontextmanager
async def service(
    settings: Settings,
    database: Database,
    listener: socket.socket,
    model: Future[LocalEmbedder],
    *,
    worker: bool = True,
    worker_log: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    connections: Connections | None = None,
) -> AsyncIterator[WorkerProcess | None]:
    """API and worker for the length of the block. The API stops first, so that no job is made that nobody takes."""
    process = WorkerProcess(child_environment(environment, settings), log_file=worker_log) if worker else None
    try:
        async with serving(settings, database.serving_conninfo, listener, model, connections=connections):
            if process is not None:
                await process.start()
            yield process
    finally:
        if process is not None:
            await process.stop()


async def _installation(database: Database) -> Installation | None:
    """None where this process does not know an owner's address: keys are then made elsewhere."""
    from commonlore.api.cli.first_key import look
    from commonlore.db.tenancy import owner_pool

    if database.migrator is None and database.admin is None:
        return None
    async with owner_pool(database.owner_conninfo) as pool:
        return await look(pool)


async def _first_key(database: Database) -> IssuedKey:
    from commonlore.api.cli.first_key import make_first_key
    from commonlore.db.tenancy import owner_pool

    async with owner_pool(database.owner_conninfo) as pool:
        return await make_first_key(pool)


def run_loop(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine on uvloop."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP act as Ctrl-C for the length of the block, so that a start that is broken off tidies up as well."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def configure_logging(settings: Settings) -> None:
    """To standard error. Addresses of requests are never logged: libraries that log them speak from WARNING only."""
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("httpx", "httpcore", "uvicorn", "uvicorn.error", "uvicorn.access", "psycopg", "procrastinate", "asyncio", "alembic"):
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))


# -- what a person reads


def command_line(settings: Settings, words: str) -> str:
    """`words` as a command that works from here: with the program's path if it is not on PATH, and with the home if it is not the default."""
    found = shutil.which("commonlore")
    own = Path(sys.argv[0])
    program = "commonlore" if found or own.name != "commonlore" else os.path.relpath(own)
    home = "" if settings.home == default_home(os.environ) else f"COMMONLORE_HOME={shlex.quote(str(settings.home))} "
    return f"{home}{program} {words}"


def _announce(output: Output, started: Started) -> None:
    settings, issued = started.settings, started.first_key
    url = address_of(settings)
    if output.as_json:
        output.document(
            {
                "url": url,
                "mcp_url": f"{url}/mcp",
                "data_directory": str(settings.home) if settings.embedded else None,
                "database": "embedded" if started.database.embedded else "external",
                "worker_pid": started.worker_pid,
                "api_pids": list(started.api_pids),
                "key": issued.text if issued else None,
            }
        )
    else:
        click.echo("\n".join(_lines(started, url, issued)))
    sys.stdout.flush()


def _lines(started: Started, url: str, issued: IssuedKey | None) -> list[str]:
    settings = started.settings
    data = f"{settings.home} (PostgreSQL of its own)" if started.database.embedded else "the PostgreSQL that COMMONLORE_DATABASE_URL names"
    lines = [
        "",
        f"Commonlore answers on  {url}",
        f"  for agents (MCP)     {url}/mcp",
        f"  data                 {data}",
        *([f"  API processes        {len(started.api_pids)}"] if len(started.api_pids) > 1 else []),
        f"  worker               {'running' if started.worker_pid else 'not started here; run it with: ' + command_line(settings, 'worker')}",
        "",
    ]
    create = command_line(settings, "key create --member MEMBER --scope read --scope write")
    if issued is not None:
        lines += [
            f"Your key, with the scopes {', '.join(issued.key.scopes)}. It is shown only now and stored nowhere; keep it safe:",
            "",
            f"    {issued.text}",
            "",
            "More keys are made by (--scope destroy adds the right to erase):",
            f"    {create.replace('MEMBER', issued.key.profile_name)}",
        ]
    else:
        lines += ["Keys are never shown again. A new one is made by (members: " + command_line(settings, "member list") + ")", f"    {create}"]
    lines += [
        "",
        "Try it, with the key in COMMONLORE_KEY:",
        f"    curl -s {url}/v1/remember -H \"Authorization: Bearer $COMMONLORE_KEY\" -H 'Content-Type: application/json' \\",
        '        -d \'{"evidence": [{"content": "Ada moved the Orion project to Lisbon."}]}\'',
        f"    curl -s {url}/v1/recall_memory -H \"Authorization: Bearer $COMMONLORE_KEY\" -H 'Content-Type: application/json' \\",
        '        -d \'{"query": "Where is the Orion project?"}\'',
        "",
        "For an agent that speaks MCP:",
        f'    {{"mcpServers": {{"commonlore": {{"type": "http", "url": "{url}/mcp", "headers": {{"Authorization": "Bearer <key>"}}}}}}}}',
        "",
        "Stop with Ctrl-C.",
    ]
    return lines


# -- its parts


@click.command()
@_home_option
@json_option
@click.pass_obj
def migrate(output: Output, home: Path | None) -> None:
    """Make roles, schemas and extension where they are missing, and bring the database to this program's revision."""
    settings = read_settings(os.environ, home=home)
    with open_database(settings, prepare=True) as database:
        found = revision(database.admin_conninfo)
    if output.as_json:
        output.document({"revision": found, "needed": head_revision()})
    else:
        click.echo(f"The database is at revision {found}, which is what this program needs.")


@click.command()
def worker() -> None:
    """Run a worker in the foreground until Ctrl-C. `commonlore up` starts one by itself."""
    settings = read_settings(os.environ)
    os.execve(sys.executable, [sys.executable, "-m", WORKER], child_environment(os.environ, settings))
