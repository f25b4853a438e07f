"""Administered predicates: what the next version of a definition is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from commonlore.domain.errors import Conflict, Incorrect, invalid
from commonlore.domain.ledger.predicate import ENTITY_KINDS, SEEDS, VALUE_KINDS, Predicate, predicate_key
from commonlore.domain.tenancy.place import InSpace

Lifecycle = Literal["active", "deprecated", "retired"]
Wording = Annotated[str, Meta(min_length=1, max_length=128)]


class DefinePredicateRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new predicate, or the next version of one: what is left out stays. `expected_version` is that of the version read, 0 for a new one."""

    key: Wording
    expected_version: Annotated[int, Meta(ge=0)]
    add_aliases: Annotated[list[Wording], Meta(max_length=20)] = []
    subject_kinds: Annotated[list[str], Meta(max_length=8)] | None = None
    object_kinds: Annotated[list[str], Meta(max_length=13)] | None = None
    relationship_kind: Literal["state", "event"] | None = None
    current_cardinality: Literal["one", "many"] | None = None
    lifecycle_state: Lifecycle | None = None
    reason: Annotated[str, Meta(min_length=1, max_length=1000)]


class ListPredicatesRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Definitions in the order of their keys."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    after_key: Annotated[str, Meta(max_length=128)] = ""


def next_definition(request: DefinePredicateRequest, registered: Mapping[str, Predicate]) -> Predicate:
    """The definition to store, at its next version. A retired predicate may be taken up again.

    Raises:
        Incorrect: a key, alias or kind is none, an alias means another predicate, or nothing changes.
        Conflict: `stale_input`, the predicate has another version.
    """
    key = _read("/key", request.key)
    old = registered.get(key)
    version = old.version if old else 0
    if version != request.expected_version:
        raise Conflict("stale_input", "the predicate has another version than expected_version", details={"version": version})
    base = old or SEEDS.get(key, Predicate(key))
    made = Predicate(
        key=key,
        version=version + 1,
        aliases=tuple(dict.fromkeys((*base.aliases, *_aliases(request, key, registered)))),
        subject_kinds=_kinds("/subject_kinds", request.subject_kinds, ENTITY_KINDS, base.subject_kinds),
        object_kinds=_kinds("/object_kinds", request.object_kinds, (*ENTITY_KINDS, *VALUE_KINDS), base.object_kinds),
        relationship_kind=request.relationship_kind or base.relationship_kind,
        current_cardinality=request.current_cardinality or base.current_cardinality,
        lifecycle_state=request.lifecycle_state or base.lifecycle_state,
    )
    if old is not None and _fields(made) == _fields(old):
        raise invalid("/key", "expected a change; the predicate is defined so already")
    return made


def _aliases(request: DefinePredicateRequest, key: str, registered: Mapping[str, Predicate]) -> list[str]:
    aliases = []
    for place, wording in enumerate(request.add_aliases):
        alias = _read(f"/add_aliases/{place}", wording)
        owner = next((name for name, found in registered.items() if name != key and (alias == name or alias in found.aliases)), None)
        if owner is not None or alias == key:
            raise invalid(f"/add_aliases/{place}", "expected a wording that means no predicate yet")
        aliases.append(alias)
    return aliases


def _kinds(pointer: str, given: Sequence[str] | None, allowed: Sequence[str], before: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return before
    for place, kind in enumerate(given):
        if kind not in allowed:
            raise invalid(f"{pointer}/{place}", f"expected one of {', '.join(allowed)}")
    return tuple(dict.fromkeys(given))


def _read(pointer: str, wording: str) -> str:
    try:
        return predicate_key(wording)
    except ValueError as error:
        raise _wrong(pointer, error) from error


def _wrong(pointer: str, error: ValueError) -> Incorrect:
    return invalid(pointer, str(error))


def _fields(item: Predicate) -> tuple[object, ...]:
    return item.aliases, item.subject_kinds, item.object_kinds, item.relationship_kind, item.current_cardinality, item.lifecycle_state
