"""The API inside this process: a bound socket, an eager model, and a server that somebody else stops."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import ipaddress
import socket
import time
from collections.abc import AsyncIterator, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from commonlore.db.settings import Settings
from commonlore.domain.errors import OperatorError
from commonlore.domain.limits.admission import Admission, AdmissionPolicy
from commonlore.domain.limits.meter import LimitStore, Meter

if TYPE_CHECKING:
    from commonlore.api.cli.accepting import Acceptor, Connections
    from commonlore.api.edge import ASGIApp
    from commonlore.api.limits import Limiter
    from commonlore.api.metrics import Metrics
    from commonlore.api.service import MemoryOperations
    from commonlore.db.assemble import Adapters
    from commonlore.db.embedding.local import LocalEmbedder

_BACKLOG = 512
_KEEP_ALIVE_S = 15
# Requests under way get this long when the service stops.
_DRAIN_S = 20
_TICK_S = 0.005
# A recall makes some six thousand objects that the collector follows; looked through every seven hundred, they cost it 2 % of its time.
_NEW_OBJECTS = 20_000
# How often a process tells the others what was used: a transaction a team, or one script for everything.
_TELL_DATABASE_S, _TELL_VALKEY_S = 1.0, 0.1
# How often it keeps what it recalled. Beside others on one socket, a caller's next call may well reach another process.
_RECALLS_ALONE_S, _RECALLS_BESIDE_OTHERS_S = 30.0, 5.0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. It is taken before anything is started, so that a wrong port costs nothing.

    Raises:
        OperatorError: `settings_invalid`, the port is taken or the address is not one of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise OperatorError("settings_invalid", f"the host {host} is not known: {error.strerror}") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} on {host} is taken, perhaps by a Commonlore that runs already; choose another with --port"
        else:
            message = f"cannot listen on {host} port {port}: {error.strerror}"
        raise OperatorError("settings_invalid", message) from error
    return made


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(settings: Settings) -> str:
    """The address for a client on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def load_early(threads: int) -> Future[LocalEmbedder]:
    """Load the model, and the modules that serving needs, in a thread: the database's start leaves the processor idle meanwhile."""

    def load() -> LocalEmbedder:
        from commonlore.db.embedding.local import LocalEmbedder

        embedder = LocalEmbedder(threads=threads)
        _modules()
        return embedder

    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="start")
    made = executor.submit(load)
    executor.shutdown(wait=False)
    return made


def _modules() -> None:
    import uvicorn  # noqa: F401

    import commonlore.api.administration
    import commonlore.api.app
    import commonlore.api.protocol
    import commonlore.api.service  # noqa: F401


@asynccontextmanager
async def serving(
    settings: Settings,
    conninfo: str,
    listener: socket.socket,
    model: Future[LocalEmbedder],
    *,
    number: int = 1,
    connections: Connections | None = None,
) -> AsyncIterator[Limiter]:
    """The API answers for the length of the block; then it takes no more, lets what runs end within 20 s, and closes. Gives its limits.

    `number` is the process's among those that share the socket, `connections` how many each of them has; without, it takes all that come.

    Raises:
        OperatorError: `role_unsafe`, `model_invalid`.
        Unavailable: the database does not answer.
    """
    from commonlore.api.service import MemoryOperations
    from commonlore.db.assemble import assemble

    embedder = await asyncio.wrap_future(model)
    try:
        async with (
            assemble(conninfo, settings, name="api", make_embedder=lambda: embedder) as adapters,
            _limit_store(adapters, settings) as store,
        ):
            operations = MemoryOperations(adapters)
            limiter = _limiter(adapters, settings, store)
            server = _server(_application(operations, settings, limiter, number), settings)
            recalls_every_s = _RECALLS_ALONE_S if settings.api_processes == 1 else _RECALLS_BESIDE_OTHERS_S
            upkeep = asyncio.gather(operations.run_upkeep(recalls_every_s=recalls_every_s), limiter.run())
            running = asyncio.create_task(server.serve(sockets=[listener] if connections is None else []))
            try:
                while not server.started and not running.done():  # noqa: ASYNC110  the server has no event to wait for
                    await asyncio.sleep(_TICK_S)
                _keep_what_is_loaded()
                with contextlib.nullcontext() if connections is None else contextlib.closing(_acceptor(server, listener, connections, number)):
                    yield limiter
            finally:
                server.should_exit = True
                await running
                upkeep.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await upkeep
                await operations.flush_uses()
                await limiter.exchange()
    finally:
        embedder.close()


@asynccontextmanager
async def _limit_store(adapters: Adapters, settings: Settings) -> AsyncIterator[LimitStore]:
    if settings.redis_url is None:
        from commonlore.db.limits import PostgresLimitStore

        yield PostgresLimitStore(adapters.pool, adapters.clock)
    else:
        from commonlore.db.limit_valkey import ValkeyLimitStore

        store = ValkeyLimitStore(settings.redis_url)
        try:
            yield store
        finally:
            await store.close()


def _limiter(adapters: Adapters, settings: Settings, store: LimitStore) -> Limiter:
    from commonlore.api.limits import Limiter

    return Limiter(
        Meter(time.monotonic, adapters.clock),
        store,
        interval_s=_TELL_DATABASE_S if settings.redis_url is None else _TELL_VALKEY_S,
        trusted_proxies=tuple(ipaddress.ip_network(text) for text in settings.trusted_proxies),
        enforced=settings.limits == "on",
    )


def _application(operations: MemoryOperations, settings: Settings, limiter: Limiter, number: int) -> ASGIApp:
    from commonlore.api.administration import TeamAdministration
    from commonlore.api.app import create_app
    from commonlore.api.rest import admin_routes, receipt_key_route

    def public_key() -> bytes:
        return operations.adapters.receipts_signed_by().public_key

    administration = TeamAdministration(operations.adapters, operations.note)
    admission = Admission(AdmissionPolicy(seats=settings.calls_at_once), time.monotonic)
    return create_app(
        operations,
        settings=settings,
        ready=operations.adapters.ready,
        admin_routes=[*admin_routes(administration, settings), receipt_key_route(public_key)],
        authenticate=operations.authenticate,
        metrics=_metrics(operations.adapters, admission, limiter, number if settings.api_processes > 1 else None)
        if settings.metrics == "on"
        else None,
        admission=admission,
        limiter=limiter,
    )


def _metrics(adapters: Adapters, admission: Admission, limiter: Limiter, process: int | None) -> Metrics:
    from commonlore.api.metrics import Metrics
    from commonlore.db.jobs import read_numbers

    def pool() -> dict[str, int]:
        found = adapters.pool.get_stats()
        size, idle = found.get("pool_size", 0), found.get("pool_available", 0)
        return {"used": size - idle, "idle": idle, "waiting": found.get("requests_waiting", 0) + adapters.pool.shares.waiting}

    return Metrics(
        pool=pool, cache=adapters.query_counts, queue=lambda: read_numbers(adapters.pool), admission=admission, limiter=limiter, process=process
    )


def _acceptor(server: Any, listener: socket.socket, connections: Connections, number: int) -> Acceptor:
    from commonlore.api.cli.accepting import Acceptor

    config = server.config

    def make_protocol() -> asyncio.Protocol:
        made: asyncio.Protocol = config.http_protocol_class(config=config, server_state=server.server_state, app_state=server.lifespan.state)
        return made

    acceptor = Acceptor(listener, connections, number, make_protocol)
    config.http_protocol_class.on_lost = staticmethod(acceptor.lost)
    return acceptor


def _keep_what_is_loaded() -> None:
    """What the process has by now it keeps: cycles are looked for among newer objects, and after more of them than one recall makes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 10, 10)


def _server(app: Any, settings: Settings) -> Any:
    import uvicorn

    from commonlore.api.protocol import uvicorn_options

    class Server(uvicorn.Server):
        """Signals are the caller's, who stops the worker and the database after it."""

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    return Server(
        uvicorn.Config(
            app,
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_DRAIN_S,
            **uvicorn_options(settings),
        )
    )
