"""The table of tools and the schemas made from it."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from commonlore.api.admin import ADMIN, AdminOperations, AdminSpec
from commonlore.api.edge import Hosts
from commonlore.api.mcp_server import INSTRUCTIONS, tools
from commonlore.api.openapi import document
from commonlore.api.operations import TOOLS, Operations, ToolSpec
from commonlore.api.schemas import input_schema, output_schema
from commonlore.db.settings import Settings
from commonlore.domain.errors import CODES

SPECS = list(TOOLS.values())
DOCUMENT = json.loads(document())


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object schema with declared properties, at any depth."""
    if isinstance(schema, dict):
        own = [schema] if isinstance(schema.get("properties"), dict) else []
        return own + [found for value in schema.values() for found in objects(value)]
    return [found for value in schema for found in objects(value)] if isinstance(schema, list) else []


def test_the_tools_are_the_operations() -> None:
    """One tool for each operation, named like it."""

    assert {name for name in vars(Operations) if not name.startswith("_")} == set(TOOLS)


def test_administration_is_a_table_of_its_own() -> None:
    """One row for each operation, named like it, the scope `admin` and, for what cannot be taken back, `destroy`; and no name of a tool."""

    destroys = {"preview_erasure", "erase", "delete_space_or_team", "restore"}

    assert {name for name in dir(AdminOperations) if not name.startswith("_")} == set(ADMIN)
    assert ({"admin", "destroy"}, set()) == ({spec.scope for spec in ADMIN.values()}, set(ADMIN) & set(TOOLS))
    assert destroys == {name for name, spec in ADMIN.items() if spec.scope == "destroy"}


def test_only_named_tools_are_listed() -> None:
    """A tool of the table that nobody named here is not shown to every agent."""

    assert ["remember", "ingest_session", "recall_memory", "trace_memory", "retract_evidence", "correct_relationship"] == [
        tool.name for tool in tools()
    ]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_tool_name_suits_every_host(spec: ToolSpec) -> None:
    """At most 30 characters of snake case, and the key of its own row."""

    assert (True, spec.name) == (bool(re.fullmatch(r"[a-z][a-z0-9_]{0,29}", spec.name)), TOOLS[spec.name].name)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_object_of_an_input_schema_is_closed(spec: ToolSpec) -> None:
    """At any depth, so that a misspelt field can be seen before it is sent."""

    closed = [schema.get("additionalProperties") for schema in objects(input_schema(spec))]

    assert [False] * len(closed) == closed
    assert closed


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("limit", (1, 50, 10)),
        ("relationship_limit", (0, 20, 5)),
        ("community_limit", (0, 10, 3)),
        ("community_relationship_limit", (1, 20, 5)),
    ],
)
def test_the_bounds_that_are_shown_are_those_that_hold(field: str, bounds: tuple[int, int, int]) -> None:
    """Minimum, maximum and default; one step beyond each bound is refused by the decoder itself."""

    schema = input_schema(TOOLS["recall_memory"])["properties"][field]
    kind = TOOLS["recall_memory"].request
    refused = 0
    for value in (bounds[0] - 1, bounds[1] + 1):
        try:
            msgspec.convert({"query": "x", field: value}, kind)
        except msgspec.ValidationError:
            refused += 1
    for value in bounds:
        msgspec.convert({"query": "x", field: value}, kind)

    assert (bounds, 2) == ((schema["minimum"], schema["maximum"], schema["default"]), refused)


def test_the_list_of_tools_is_short() -> None:
    """Under 4,000 tokens at four characters a token."""

    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools()]

    assert len(json.dumps(listed)) / 4 < 4000


def test_an_output_schema_names_the_keys_the_published_client_reads() -> None:
    """Required top-level keys only."""

    assert {
        "type": "object",
        "required": [
            "recall_id",
            "results",
            "related_relationships",
            "related_communities",
            "conflicts",
            "search_states",
            "degradations",
            "suggested_actions",
        ],
    } == output_schema(TOOLS["recall_memory"])


@pytest.mark.parametrize(
    ("name", "hints"), [("remember", (False, False, False)), ("recall_memory", (True, False, True)), ("trace_memory", (True, False, True))]
)
def test_the_hints_of_a_tool(name: str, hints: tuple[bool, bool, bool]) -> None:
    """Read-only, destructive, idempotent."""

    annotations = next(tool for tool in tools() if tool.name == name).annotations
    assert annotations is not None

    assert hints == (annotations.read_only_hint, annotations.destructive_hint, annotations.idempotent_hint)


def test_the_instructions_are_short() -> None:
    """A host puts them into every conversation."""

    assert len(INSTRUCTIONS) <= 600


@pytest.mark.parametrize("spec", [*SPECS, *ADMIN.values()], ids=lambda spec: spec.name)
def test_an_example_is_a_valid_request(spec: ToolSpec | AdminSpec) -> None:
    """The document does not teach a request that is refused."""

    request = msgspec.convert(json.loads(json.dumps(spec.example, default=dict)), spec.request)
    validate = getattr(request, "validate", lambda: None)

    assert validate() is None


def test_the_document_has_the_routes_and_the_security_scheme() -> None:
    """OpenAPI 3.1, one path for each tool, a bearer key everywhere but at the health checks."""

    paths = {f"/v1/{name}" for name in TOOLS} | {f"/v1/admin/{name}" for name in ADMIN} | {"/v1/health/live", "/v1/health/ready", "/v1/receipt-key"}

    assert ("3.1.0", paths, [{"key": []}], "bearer") == (
        DOCUMENT["openapi"],
        set(DOCUMENT["paths"]),
        DOCUMENT["security"],
        DOCUMENT["components"]["securitySchemes"]["key"]["scheme"],
    )


@pytest.mark.parametrize("spec", [*SPECS, *ADMIN.values()], ids=lambda spec: spec.name)
def test_the_document_closes_its_requests(spec: ToolSpec | AdminSpec) -> None:
    """Litestar's own document would not."""

    assert DOCUMENT["components"]["schemas"][spec.request.__name__]["additionalProperties"] is False


def test_every_reference_of_the_document_leads_somewhere() -> None:
    """No component is missing."""

    missing = []
    for reference in set(re.findall(r'"\$ref":"#/([^"]+)"', document().decode())):
        at: Any = DOCUMENT
        for token in reference.split("/"):
            at = at.get(token) if isinstance(at, dict) else None
        missing += [reference] if at is None else []

    assert [] == missing


def test_the_document_lists_every_code() -> None:
    """The problem schema's codes are the closed list."""

    assert list(CODES) == DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]


@pytest.mark.parametrize(
    ("authority", "allowed"),
    [
        (b"127.0.0.1:7411", True),
        (b"localhost", True),
        (b"LOCALHOST:1", True),
        (b"[::1]:7411", True),
        (b"lore.example", True),
        (b"lore.example.:443", True),
        (b"evil.example:8000", False),
        (b"localhost.evil.example", False),
        (b"lore.example@evil.example", False),
        (b"10.0.0.7", False),
        (b"", False),
        (b"localhost:1:2", False),
        (b"\xff", False),
    ],
)
def test_the_hosts_that_are_answered_for(tmp_path: Any, authority: bytes, allowed: bool) -> None:
    """The loopback names and the listed ones, with any port."""

    assert allowed == Hosts(Settings(home=tmp_path, allowed_hosts=("lore.example",))).allow(authority)


@pytest.mark.parametrize(("authority", "allowed"), [(b"10.0.0.7:7411", True), (b"[2001:db8::7]", True), (b"evil.example", False)])
def test_a_service_on_all_addresses_answers_for_address_literals(tmp_path: Any, authority: bytes, allowed: bool) -> None:
    """DNS rebinding needs a name; an address is what a caller of such a service has."""

    assert allowed == Hosts(Settings(home=tmp_path, host="0.0.0.0")).allow(authority)
