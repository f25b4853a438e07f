"""From bytes or MCP arguments to a request, one way for both; every fault names its field and its valid range.

Nothing that the caller sent is repeated, with one exception: a field name that is a near miss of a valid one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import inspect

from commonlore.api.strict_json import Parsed, find_flaw, malformed, parse, pointer_token
from commonlore.domain.errors import Incorrect, Problem, invalid

R = TypeVar("R", bound=msgspec.Struct)

IDEMPOTENCY_KEY_CHARS = 128
_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP = re.compile(r"\.(?P<field>\w+)|\[(?P<index>\d+)\]")
_NEAR = 0.6


def decode_body(body: bytes, kind: type[R]) -> R:
    """A request of `kind` from one JSON text. `kind` is any closed struct; its `validate`, if it has one, is called.

    Raises:
        Incorrect: `malformed_body` or `invalid_input`.
    """
    return decode_arguments(parse(body), kind)


def decode_arguments(arguments: Parsed, kind: type[R]) -> R:
    """A request of `kind` from a parsed JSON value; MCP arguments come this way.

    Raises:
        Incorrect: `malformed_body` when it is no object, else `invalid_input`.
    """
    if not isinstance(arguments.value, dict):
        raise malformed("expected one JSON object")
    if arguments.suspect and (flaw := find_flaw(arguments.value)) is not None:
        raise _flawed(*flaw, kind)
    try:
        request = msgspec.convert(arguments.value, kind)
    except msgspec.ValidationError as error:
        raise _explain(str(error), arguments.value, kind) from None
    validate: Callable[[], None] | None = getattr(request, "validate", None)
    if validate is not None:
        validate()
    return request


def merge_idempotency_key(request: R, headers: list[bytes]) -> R:
    """`request`, which has the field `idempotency_key`, with the key of the `Idempotency-Key` header, given as the values of all such headers.

    Raises:
        Incorrect: `invalid_input` for a key that is not 1 to 128 visible characters; `idempotency_key_mismatch` for two keys.
    """
    if not headers:
        return request
    key = _read_key(headers[0])
    if len(set(headers)) > 1 or getattr(request, "idempotency_key", None) not in (None, key):
        raise Incorrect("idempotency_key_mismatch", "the header Idempotency-Key and /idempotency_key differ; expected one key")
    return msgspec.structs.replace(request, idempotency_key=key)


def _read_key(value: bytes) -> str:
    detail = f"the header Idempotency-Key: expected 1 to {IDEMPOTENCY_KEY_CHARS} visible characters in UTF-8"
    try:
        key = value.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise invalid("/idempotency_key", detail) from error
    if not (1 <= len(key) <= IDEMPOTENCY_KEY_CHARS and key.isprintable()):
        raise invalid("/idempotency_key", detail)
    return key


def _flawed(pointer: str, detail: str, kind: type[msgspec.Struct]) -> Incorrect:
    """The pointer is kept as far as it consists of valid fields and indices; below that the names are the caller's own."""
    known = ""
    at: inspect.Type | None = inspect.type_info(kind)
    for token in pointer.split("/")[1:]:
        at = _child(at, token)
        if at is None:
            break
        known += f"/{token}"
    if detail.startswith("expected a number") and at is not None:
        detail = f"expected {describe(at)}"
    return invalid(known, detail)


def _explain(message: str, value: object, kind: type[msgspec.Struct]) -> Incorrect:
    """msgspec's words, which may hold the caller's text, turned into a pointer and the valid range."""
    pointer, at, here = "", inspect.type_info(kind), value
    place = _PLACE.search(message)
    for step in _STEP.finditer(place["path"] if place else ""):
        token = step["field"] or step["index"]
        child = _child(at, token)
        if child is None:
            break
        pointer, at = f"{pointer}/{pointer_token(token)}", child
        here = here.get(token) if isinstance(here, dict) else here[int(token)] if isinstance(here, list) else None
    struct = _struct(at)
    if struct is not None and isinstance(here, dict):
        fields = {field.encode_name: field for field in struct.fields}
        for key in here:
            if key not in fields:
                return _unknown_field(pointer, key, list(fields))
        for name, field in fields.items():
            if field.required and name not in here:
                return invalid(f"{pointer}/{name}", f"missing; expected {describe(field.type)}")
    return invalid(pointer, f"expected {describe(at)}")


def _unknown_field(pointer: str, key: str, fields: list[str]) -> Incorrect:
    # A close name is our own vocabulary misspelt; any other name is the caller's content and stays out of the answer.
    near = difflib.get_close_matches(key[:64], fields, n=1, cutoff=_NEAR)
    if near:
        detail = f"unknown field; did you mean {near[0]}?"
        where = f"{pointer}/{pointer_token(key)}" if len(key) <= 64 else pointer
        return Incorrect("invalid_input", f"{where}: {detail}", problems=(Problem(where, detail),))
    return invalid(pointer, f"unknown field; expected only {', '.join(fields)}" if fields else "unknown field; expected an empty object")


def _bare(kind: inspect.Type | None) -> tuple[inspect.Type, ...]:
    """The alternatives of a type, without annotations and null."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if kind is None:
        return ()
    if isinstance(kind, inspect.UnionType):
        return tuple(found for part in kind.types for found in _bare(part) if not isinstance(found, inspect.NoneType))
    return (kind,)


def _struct(kind: inspect.Type | None) -> inspect.StructType | None:
    return next((part for part in _bare(kind) if isinstance(part, inspect.StructType)), None)


def _child(kind: inspect.Type | None, token: str) -> inspect.Type | None:
    for part in _bare(kind):
        if isinstance(part, inspect.StructType):
            return next((field.type for field in part.fields if field.encode_name == token), None)
        if isinstance(part, inspect.ListType) and token.isdigit():
            return part.item_type
    return None


def describe(kind: inspect.Type) -> str:
    """The valid values of a type in words: "an integer from 1 to 50"."""
    parts = [_describe(part) for part in _bare(kind)]
    bare = kind
    while isinstance(bare, inspect.Metadata):
        bare = bare.type
    if isinstance(bare, inspect.UnionType) and any(isinstance(part, inspect.NoneType) for part in bare.types):
        parts.append("null")
    return " or ".join(dict.fromkeys(parts))


def _describe(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType():
            return f"an integer{_between(kind.ge, kind.le)}"
        case inspect.FloatType():
            return f"a number{_between(kind.ge, kind.le)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return f"a string{_length(kind.min_length, kind.max_length, 'character')}"
        case inspect.UUIDType():
            return "a UUID"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case inspect.ListType():
            return f"an array{_length(kind.min_length, kind.max_length, 'item')}"
        case inspect.DictType():
            return f"an object{_length(kind.min_length, kind.max_length, 'member')}"
        case _:
            return "an object"


def _between(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    if low is not None:
        return f" of at least {_number(low)}"
    return "" if high is None else f" of at most {_number(high)}"


def _number(bound: float) -> str:
    return str(int(bound)) if float(bound).is_integer() else str(bound)


def _length(low: int | None, high: int | None, unit: str) -> str:
    if low and high is not None:
        return f" of {low} to {high} {unit}s"
    if low:
        return f" of at least {low} {unit}{'s' if low > 1 else ''}"
    return "" if high is None else f" of at most {high} {unit}s"


__all__ = ["decode_arguments", "decode_body", "describe", "merge_idempotency_key"]
