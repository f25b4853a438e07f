"""The typed half of the client, made from the OpenAPI document: `python -m tests.unit.client.client_source` writes it.

A test compares it, so that a field that the service gains or loses is one that the client's types gain or lose.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonlore.api.openapi import document

ROOT = Path(__file__).resolve().parents[3]
_MADE = "Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it."
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict[str, Any]"}
_REPEATABLE = {(True, True): "always", (True, False): "always", (False, True): "with_key", (False, False): "never"}


class Source:
    def __init__(self) -> None:
        self.openapi = json.loads(document())
        self.schemas: dict[str, Any] = self.openapi["components"]["schemas"]
        self.tools = {path.removeprefix("/v1/"): entry["post"] for path, entry in self.openapi["paths"].items() if "post" in entry and _is_tool(path)}

    def request_of(self, tool: str) -> str:
        return _named(self.tools[tool]["requestBody"]["content"]["application/json"]["schema"])

    def result_of(self, tool: str) -> str:
        return _named(self.tools[tool]["responses"]["200"]["content"]["application/json"]["schema"])

    def reached(self, roots: list[str]) -> list[str]:
        """The schemas that are reached from `roots`, each after those that it refers to."""
        found: list[str] = []

        def visit(name: str) -> None:
            for inner in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(self.schemas[name])):
                if inner not in found and inner != name:
                    visit(inner)
            if name not in found:
                found.append(name)

        for root in sorted(roots):
            visit(root)
        return found

    def types(self, names: list[str], about: str, *, given: bool, imported: str = "") -> str:
        parts = [self._type(name, given=given) for name in names]
        uuid = "from uuid import UUID\n" if "UUID" in "".join(parts) else ""
        used = [word for word in ("Any", "Literal", "NotRequired", "TypedDict") if re.search(rf"\b{word}\b", "".join(parts))]
        head = f'"""{about}\n\n{_MADE}\n"""\n\nfrom __future__ import annotations\n\nfrom typing import {", ".join(used)}\n{uuid}{imported}'
        return head + "".join(f"\n\n{part}" for part in parts)

    def _type(self, name: str, *, given: bool) -> str:
        schema = self.schemas[name]
        required = set(schema.get("required", []))
        lines = [f"class {name}(TypedDict):"]
        if description := schema.get("description"):
            lines += [textwrap.indent(f'"""{description}{chr(10) if chr(10) in description else ""}"""', "    ", lambda line: bool(line.strip())), ""]
        for field, inner in schema.get("properties", {}).items():
            hint = _hint(inner, given=given)
            lines.append(f"    {field}: {hint if field in required else f'NotRequired[{hint}]'}")
        return "\n".join(lines).rstrip() + "\n"

    def methods(self) -> str:
        head = f'"""The tools as methods.\n\n{_MADE}\n"""\n\nfrom __future__ import annotations\n\n'
        head += "from collections.abc import AsyncIterator, Iterator, Mapping\nfrom typing import Any, Protocol, Unpack, cast\n\n"
        head += "from commonlore.client import requests, results\nfrom commonlore.client.calling import Answer, Repeatable\n"
        return head + "".join(f"\n\n{part}" for part in (self._class("SyncTools", "", ""), self._class("AsyncTools", "async ", "await ")))

    def _class(self, name: str, made: str, waited: str) -> str:
        iterator = "AsyncIterator" if made else "Iterator"
        lines = [
            f"class {name}(Protocol):",
            f'    """Each tool as a method, with the fields of its request as keyword arguments.{" Each is a coroutine." if made else ""}"""',
            "",
            f'    {made}def call(self, path: str, request: Mapping[str, Any], repeatable: Repeatable = "never") -> Answer: ...',
            "",
            f"    def each(self, path: str, request: Mapping[str, Any], name: str) -> {iterator}[Any]: ...",
        ]
        for tool, entry in self.tools.items():
            request, result = self.request_of(tool), self.result_of(tool)
            keyed = "idempotency_key" in self.schemas[request]["properties"]
            said = entry["summary"].rstrip(".") + "."
            lines += [
                "",
                f"    {made}def {tool}(self, **request: Unpack[requests.{request}]) -> results.{result}:",
                f'        """{said}"""',
                f'        answer = {waited}self.call("/v1/{tool}", cast(Mapping[str, Any], request), "{_REPEATABLE[entry["x-idempotent"], keyed]}")',
                f"        return cast(results.{result}, answer)",
            ]
            if listed := self._listed(result):
                field, entry_type = listed
                lines += [
                    "",
                    f"    def each_of_{tool}(self, **request: Unpack[requests.{request}]) -> {iterator}[{entry_type}]:",
                    f'        """Every entry of every page of `{tool}`."""',
                    f'        return self.each("/v1/{tool}", cast(Mapping[str, Any], request), "{field}")',
                ]
        return "\n".join(lines) + "\n"

    def _entry(self, schema: dict[str, Any]) -> str:
        return f"results.{_named(schema)}" if "$ref" in schema else _hint(schema, given=False)

    def _listed(self, result: str) -> tuple[str, str] | None:
        properties = self.schemas[result]["properties"]
        lists = [(name, self._entry(inner["items"])) for name, inner in properties.items() if inner.get("type") == "array"]
        return lists[0] if "next_cursor" in properties and len(lists) == 1 else None


def _is_tool(path: str) -> bool:
    return re.fullmatch(r"/v1/\w+", path) is not None


def _named(schema: dict[str, str]) -> str:
    return schema["$ref"].rpartition("/")[2]


def _hint(schema: dict[str, Any], *, given: bool) -> str:
    if "$ref" in schema:
        return _named(schema)
    if "anyOf" in schema:
        return _union([_hint(part, given=given) for part in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(json.dumps(value) if isinstance(value, str) else repr(value) for value in values)}]"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_hint(schema.get('items', {}), given=given)}]"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"dict[str, {_hint(schema['additionalProperties'], given=given)}]"
    if kind == "string" and schema.get("format") == "uuid" and given:
        return "UUID | str"
    return _PLAIN.get(str(kind), "Any")


def _union(hints: list[str]) -> str:
    """Several lists of words are one list."""
    words = [hint for hint in hints if hint.startswith("Literal[")]
    joined = [f"Literal[{', '.join(hint.removeprefix('Literal[').removesuffix(']') for hint in words)}]"] if words else []
    return " | ".join(dict.fromkeys([*joined, *(hint for hint in hints if hint not in words)]))


def _imports(source: Source, asked: list[str], parts: list[str]) -> str:
    named = {name for request in asked for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(source.schemas[request]))}
    return f"\nfrom commonlore.client.proposals import {', '.join(sorted(named & set(parts)))}\n"


def files() -> Iterator[tuple[Path, str]]:
    """Path and text of each module, formatted."""
    source = Source()
    asked = [source.request_of(tool) for tool in source.tools]
    parts = [name for name in source.reached(asked) if name not in asked]
    traces = source.reached(["RecallTrace"])
    whole = set(re.findall(r"\bresults\.(\w+)", source.methods()))
    results = [name for name in source.reached(sorted(whole)) if name not in traces]
    pieces = [name for name in results if name not in whole]
    about = "What comes back. An answer may have more keys than are named here."
    named = {piece for name in whole for piece in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(source.schemas[name]))}
    imported = (
        f"\nfrom commonlore.client.pieces import {', '.join(sorted(named.intersection(pieces)))}\nfrom commonlore.client.traces import RecallTrace\n"
    )
    made = {
        "proposals": source.types(parts, "What requests are made of.", given=True),
        "requests": source.types(sorted(asked), "What may be sent: one type a tool.", given=True, imported=_imports(source, asked, parts)),
        "traces": source.types(traces, "How a recall came to its answer: `trace` of its result.", given=False),
        "pieces": source.types(pieces, "What results are made of.", given=False),
        "results": source.types([name for name in results if name in whole], about, given=False, imported=imported),
        "tools": source.methods(),
    }
    for name, text in made.items():
        command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", f"client/{name}.py", "-"]
        yield ROOT / "client" / f"{name}.py", subprocess.run(command, input=text, text=True, check=True, capture_output=True, cwd=ROOT).stdout


def main() -> None:
    for path, text in files():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
