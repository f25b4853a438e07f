"""REST: one `POST` for each tool and each operation of an administrator, health, and the OpenAPI document. Decode, call, encode."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from litestar import Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from commonlore.api.admin import ADMIN, AdminOperations, AdminSpec
from commonlore.api.classes import body_limit, class_of
from commonlore.api.decode import decode_body, merge_idempotency_key
from commonlore.api.exchange import ClientGone, encode_problem, exchange_of, log_unstated, off_loop, read_json_body, require_key, supervise
from commonlore.api.measure import current
from commonlore.api.operations import Operations, ToolSpec
from commonlore.api.problems import internal_failure
from commonlore.db.acting import acting
from commonlore.db.settings import Settings
from commonlore.domain.audit.act import act_of
from commonlore.domain.erasure.receipt import key_id
from commonlore.domain.errors import CommonloreError, Incorrect

Ready = Callable[[], Awaitable[None]]
_HEADERS = {"cache-control": "no-store"}


def tool_route(spec: ToolSpec, operations: Operations, settings: Settings) -> HTTPRouteHandler:
    """`POST /v1/<name>`, answering 200."""
    return _post(f"/v1/{spec.name}", spec, spec.of(operations), settings)


def admin_routes(operations: AdminOperations, settings: Settings) -> list[HTTPRouteHandler]:
    """`POST /v1/admin/<name>` for each of `ADMIN`, answering 200."""
    return [_post(spec.path, spec, spec.of(operations), settings) for spec in ADMIN.values()]


def _post(path: str, spec: ToolSpec | AdminSpec, operation: Callable[..., Awaitable[Mapping[str, object]]], settings: Settings) -> HTTPRouteHandler:
    name, kind, limit_bytes = spec.name, spec.request, body_limit(spec, settings.body_limit_bytes)

    async def handle(request: Request[Any, Any, Any]) -> Response[bytes]:
        exchange = exchange_of(request.scope)
        measure = current()
        measure.operation = name
        key = require_key(exchange)
        measure.charge.present(key)
        measure.charge.begin(class_of(spec))
        body = await read_json_body(exchange, request.receive, limit_bytes)
        with measure.record.step("decode"):
            asked = await off_loop(len(body), lambda: decode_body(body, kind))
        if "idempotency_key" in kind.__struct_fields__:
            asked = merge_idempotency_key(asked, exchange.headers.get(b"idempotency-key", []))
        with acting(act_of(name, asked, exchange.correlation_id, spec.scope)):
            result = await supervise(exchange, request.receive, operation(key, asked, correlation_id=exchange.correlation_id))
        return _json(msgspec.json.encode(result))

    handle.__name__ = name
    return post(path, status_code=200)(handle)


def health_routes(ready: Ready) -> list[HTTPRouteHandler]:
    """Live: the process answers. Ready: `ready()` returns, else its failure is the answer."""

    @get("/v1/health/live")
    async def live() -> Response[bytes]:
        return _json(b'{"status":"live"}')

    @get("/v1/health/ready")
    async def is_ready(request: Request[Any, Any, Any]) -> Response[bytes]:
        await supervise(exchange_of(request.scope), request.receive, ready())
        return _json(b'{"status":"ready"}')

    return [live, is_ready]


def receipt_key_route(public_key: Callable[[], bytes]) -> HTTPRouteHandler:
    """The key by which receipts of erasures are verified; no key of a caller is needed."""

    @get("/v1/receipt-key")
    async def receipt_key() -> Response[bytes]:
        key = await asyncio.to_thread(public_key)
        shown = {"algorithm": "Ed25519", "key_id": key_id(key), "public_key": base64.b64encode(key).decode()}
        return _json(msgspec.json.encode(shown))

    return receipt_key


def document_route(document: bytes) -> HTTPRouteHandler:
    @get("/schema/openapi.json")
    async def openapi() -> Response[bytes]:
        return _json(document)

    return openapi


def _json(body: bytes) -> Response[bytes]:
    return Response(body, media_type="application/json", headers=_HEADERS)


def answer_failure(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The one exception handler of the Litestar application."""
    exchange = exchange_of(request.scope)
    if isinstance(error, ClientGone):
        return Response(b"", status_code=400)
    status, body, headers = encode_problem(_stated(error, exchange.correlation_id), exchange.correlation_id)
    media_type = headers.pop("content-type")
    return Response(body, status_code=status, media_type=media_type, headers=headers)


def _stated(error: Exception, correlation_id: str) -> CommonloreError:
    if isinstance(error, CommonloreError):
        return error
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Incorrect("route_not_found", "no route has this address")
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = next((value for name, value in (error.headers or {}).items() if name.lower() == "allow"), "")
        return method_not_allowed(allowed)
    if isinstance(error, HTTPException) and error.status_code == 413:
        return Incorrect("body_too_large", "expected a smaller body")
    if isinstance(error, HTTPException) and 400 <= error.status_code < 500:
        return Incorrect("invalid_input", "the request does not fit this route")
    log_unstated(error, correlation_id)
    return internal_failure()


def method_not_allowed(allowed: str) -> Incorrect:
    methods = ", ".join(sorted(name.strip() for name in allowed.split(",")))
    return Incorrect("method_not_allowed", f"expected the method {methods}", details={"allow": methods})
