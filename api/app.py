"""The HTTP application: the edge around REST, health, the OpenAPI document and MCP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.exceptions import HTTPException
from litestar.types import ControllerRouterHandler

from commonlore.api.edge import ASGIApp, Edge
from commonlore.api.exchange import ClientGone
from commonlore.api.limits import Limiter
from commonlore.api.mcp import Authenticate, McpEndpoint
from commonlore.api.openapi import document
from commonlore.api.operations import TOOLS, Operations
from commonlore.api.rest import Ready, answer_failure, document_route, health_routes, tool_route
from commonlore.db.settings import Settings
from commonlore.domain.errors import CommonloreError
from commonlore.domain.limits.admission import Admission

if TYPE_CHECKING:
    from commonlore.api.metrics import Metrics

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[Any]]


def create_app(
    operations: Operations,
    *,
    settings: Settings,
    ready: Ready,
    admin_routes: Sequence[ControllerRouterHandler] = (),
    authenticate: Authenticate | None = None,
    lifespan: Sequence[Lifespan] = (),
    metrics: Metrics | None = None,
    admission: Admission | None = None,
    limiter: Limiter | None = None,
) -> ASGIApp:
    """The whole service as one ASGI application.

    `ready` raises a CommonloreError while requests cannot be served. `admin_routes` are Litestar handlers; they find their
    exchange with `exchange_of(request.scope)` and read bodies with `read_json_body`. `authenticate`, when given, checks
    the key of MCP messages that call no tool. `metrics`, when given, counts every request and is shown at `/metrics`.
    `admission` has the seats, where somebody else wants to see them too. Without `limiter` no call is counted.
    """
    rest = Litestar(
        route_handlers=[
            *(tool_route(spec, operations, settings) for spec in TOOLS.values()),
            *health_routes(ready),
            document_route(document()),
            *admin_routes,
        ],
        lifespan=list(lifespan),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=settings.body_limit_bytes,
        exception_handlers={kind: answer_failure for kind in (CommonloreError, HTTPException, ClientGone, Exception)},
    )
    return Edge(rest, McpEndpoint(operations, settings, authenticate), settings, metrics, admission, limiter)  # type: ignore[arg-type]
