"""JSON schemas of the tools, made from the same types that decode requests, so that a bound is written once."""

from __future__ import annotations

from typing import Any

import msgspec

from commonlore.api.operations import ToolSpec

_SAYS_LITTLE = frozenset(("title", "minLength", "maxLength", "minItems", "maxItems"))
_REFERENCE = "#/components/schemas/{name}"


def input_schema(spec: ToolSpec) -> dict[str, Any]:
    """The closed schema of a tool's arguments, an object at its root. Without titles and null defaults, which cost tokens and say nothing."""
    schema = _lean(msgspec.json.schema(spec.request))
    definitions: dict[str, Any] = schema["$defs"]
    root: dict[str, Any] = definitions.pop(spec.request.__name__)
    root.pop("description", None)
    return {**root, "$defs": definitions} if definitions else root


def output_schema(spec: ToolSpec) -> dict[str, Any]:
    """Names the top-level keys that are always there, and no more; the OpenAPI document has the whole shape."""
    return {"type": "object", "required": list(spec.required_keys)}


def component_schemas(kinds: list[Any]) -> dict[str, Any]:
    """OpenAPI components of all `kinds` and what they refer to."""
    _, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    return dict(sorted(components.items()))


def _lean(schema: Any, *, names: bool = False) -> Any:
    """A copy without what says little: titles, empty defaults, null as a value where it is the default anyway, that an id is a UUID, and how
    long texts and lists may be, which the OpenAPI document says and a refusal as well.

    `names` is set inside maps whose keys are names of fields.
    """
    if isinstance(schema, dict):
        if not names and schema.get("default", ...) is None and isinstance(schema.get("anyOf"), list):
            given = [part for part in schema["anyOf"] if part != {"type": "null"}]
            others = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
            schema = {**others, **given[0]} if len(given) == 1 else {**others, "anyOf": given}
        return {
            key: _lean(value, names=key in ("properties", "$defs") and not names)
            for key, value in schema.items()
            if names
            or not (key in _SAYS_LITTLE or (key, value) == ("format", "uuid") or (key in ("default", "required") and value in (None, [], {}, False)))
        }
    if isinstance(schema, list):
        return [_lean(item) for item in schema]
    return schema
