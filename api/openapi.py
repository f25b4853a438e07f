"""The OpenAPI 3.1 document, made from the tables of tools, of administration and of failures.

Litestar's own document would leave `additionalProperties: false` out of closed requests, so it is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from commonlore.api.admin import ADMIN, AdminSpec
from commonlore.api.operations import TOOLS, ToolSpec
from commonlore.api.problems import MEDIA_TYPE, STATUS, TYPE_PREFIX
from commonlore.api.schemas import component_schemas
from commonlore.domain.errors import CODES

_TAGS = {
    "memory": "What agents do; the same operations are MCP tools.",
    "admin": "What an administrator's key does to its own team; never an MCP tool.",
    "health": "Whether the service answers; no key.",
}
_STATUSES_OF_TOOLS = (400, 401, 403, 404, 409, 413, 415, 422, 500, 503, 504)


def document() -> bytes:
    """The whole document as JSON."""
    specs: list[ToolSpec | AdminSpec] = [*TOOLS.values(), *ADMIN.values()]
    schemas = component_schemas([kind for spec in specs for kind in (spec.request, spec.result)])
    paths = {f"/v1/{spec.name}": {"post": _operation(spec, "memory")} for spec in TOOLS.values()}
    paths |= {spec.path: {"post": _operation(spec, "admin")} for spec in ADMIN.values()}
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Commonlore", "version": version("commonlore"), "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
            "servers": [{"url": "/"}],
            "security": [{"key": []}],
            "tags": [{"name": name, "description": description} for name, description in _TAGS.items()],
            "paths": paths | _health_paths(),
            "components": {
                "schemas": schemas | {"Problem": _problem_schema()},
                "responses": {str(status): _problem_response(status) for status in sorted({status for status, _ in STATUS.values()})},
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "A key that `commonlore key create` showed once."}},
            },
        }
    )


def _operation(spec: ToolSpec | AdminSpec, tag: str) -> dict[str, Any]:
    parameters = [_header("X-Correlation-ID", r"^[A-Za-z0-9._-]{1,128}$", "Comes back in the answer's header of the same name.")]
    if "idempotency_key" in spec.request.__struct_fields__:
        parameters.append(_header("Idempotency-Key", None, "The same as `idempotency_key` in the body; two different keys are refused."))
    return {
        "operationId": spec.name,
        # Whether the same request again changes nothing more.
        **({"x-idempotent": spec.idempotent} if isinstance(spec, ToolSpec) else {}),
        "tags": [tag],
        "summary": spec.title,
        "description": f"{spec.description}\n\nNeeds the scope `{spec.scope}`.",
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _reference(spec.request.__name__), "examples": {"plain": {"value": dict(spec.example)}}}},
        },
        "responses": {
            "200": {
                "description": "The answer.",
                "headers": {"X-Correlation-ID": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": _reference(spec.result.__name__)}},
            },
            **_problems(_STATUSES_OF_TOOLS),
        },
    }


_KEY_FIELDS = ("algorithm", "key_id", "public_key")
_RECEIPT_KEY = {"type": "object", "required": list(_KEY_FIELDS), "properties": {name: {"type": "string"} for name in _KEY_FIELDS}}


def _health_paths() -> dict[str, Any]:
    def check(summary: str, statuses: Iterable[int]) -> dict[str, Any]:
        body = {"application/json": {"schema": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}}}
        responses = {"200": {"description": "Yes.", "content": body}, **_problems(statuses)}
        return {"get": {"summary": summary, "tags": ["health"], "security": [], "responses": responses}}

    return {
        "/v1/health/live": check("Whether the process answers", ()),
        "/v1/receipt-key": {
            "get": {
                "summary": "The public key by which receipts of erasures are verified",
                "tags": ["health"],
                "security": [],
                "responses": {"200": {"description": "Algorithm, id and key in base64.", "content": {"application/json": {"schema": _RECEIPT_KEY}}}},
            }
        },
        "/v1/health/ready": check("Whether requests can be served", (503, 504)),
    }


def _header(name: str, pattern: str | None, description: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 128}
    if pattern is not None:
        schema["pattern"] = pattern
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


def _reference(name: str) -> Mapping[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _problems(statuses: Iterable[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _problem_response(status: int) -> dict[str, Any]:
    codes = [code for code, (of, _) in STATUS.items() if of == status]
    return {"description": f"One of the codes {', '.join(codes)}.", "content": {MEDIA_TYPE: {"schema": _reference("Problem")}}}


def _problem_schema() -> dict[str, Any]:
    text = {"type": "string"}
    shared = {
        "code": {"type": "string", "enum": list(CODES)},
        "message": text,
        "retryable": {"type": "boolean"},
        "next_action": {"type": "string", "enum": sorted({code.next_action for code in CODES.values()})},
        "remediation": text,
    }
    place = {"pointer": {"type": "string", "description": "RFC 6901."}, "detail": text, **shared}
    properties = {
        "type": {"type": "string", "pattern": f"^{TYPE_PREFIX}"},
        "title": text,
        "status": {"type": "integer"},
        "detail": text,
        **shared,
        "correlation_id": text,
        "errors": {"type": "array", "items": {"type": "object", "required": list(place), "properties": place}},
        "details": {"type": "object"},
        "retry_after_seconds": {"type": "integer", "minimum": 0},
    }
    required = ["type", "title", "status", "detail", *shared, "correlation_id"]
    return {"type": "object", "description": "RFC 9457.", "required": required, "properties": properties, "additionalProperties": False}
