"""What an administrator may do to entities and predicates: the rows that `commonlore.api.admin` adds to its table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from msgspec import Struct

from commonlore.domain.correct.identity_request import (
    ListCandidatesRequest,
    MergeEntitiesRequest,
    NameEntityRequest,
    ReverseCorrectionRequest,
    SplitEntityRequest,
)
from commonlore.domain.correct.vocabulary import DefinePredicateRequest, ListPredicatesRequest


class IdentityOutcome(TypedDict):
    """What a merge or split did, or would do. `correction_id` is null for a preview; lists show the first hundred."""

    correction_id: str | None
    from_entity_id: str
    from_name: str
    to_entity_id: str | None
    to_name: str
    kinds_differ: bool
    names_learned: list[str]
    repointed: dict[str, Any]
    joined: dict[str, Any]
    displaced: dict[str, Any]


class ReversalOutcome(TypedDict):
    """Which relationships stand again."""

    correction_id: str
    reverses_id: str
    restored_relationship_ids: list[str]


class RenameOutcome(TypedDict):
    """Documents are written anew at once up to 200; a job writes the rest. `namesake_entity_ids`: other entities that carry the name."""

    correction_id: str
    former_name: str
    namesake_entity_ids: list[str]
    documents_written: int
    documents_waiting: int


class AliasOutcome(TypedDict):
    """The name that was added. `namesake_entity_ids`: other entities that carry it, which makes it ambiguous."""

    correction_id: str
    name: str
    namesake_entity_ids: list[str]


class CandidateEnd(TypedDict):
    """One of two entities that may be the same."""

    entity_id: str
    entity_kind: str
    name: str


class CandidateEntry(TypedDict):
    """Two entities that may be one, and the rule that says so."""

    rule: Literal["same_name", "near_name"]
    entities: list[CandidateEnd]


class CandidateList(TypedDict):
    """`bounded`: the space has more names than were looked at."""

    candidates: list[CandidateEntry]
    next_cursor: str | None
    bounded: bool


class PredicateEntry(TypedDict):
    """The newest version of a definition. Empty kinds allow every kind."""

    key: str
    version: int
    aliases: list[str]
    subject_kinds: list[str]
    object_kinds: list[str]
    relationship_kind: Literal["state", "event"]
    current_cardinality: Literal["one", "many"]
    lifecycle_state: Literal["active", "deprecated", "retired"]


class PredicateList(TypedDict):
    """Send `next_after_key` as `after_key` to read on."""

    predicates: list[PredicateEntry]
    next_after_key: str | None


class PredicateOutcome(TypedDict):
    """`several_current`: where an author holds several current statements although the predicate holds one now; none was changed."""

    predicate: PredicateEntry
    several_current: list[dict[str, Any]]


_ID, _OTHER = "01982f00-0000-7000-8000-000000000001", "01982f00-0000-7000-8000-000000000002"
Row = tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]]

CURATION: tuple[Row, ...] = (
    (
        "list_entity_candidates",
        "List entities that may be one",
        "Pairs of active entities that carry one name under different kinds, or names that differ in accents, blanks and marks only.",
        ListCandidatesRequest,
        CandidateList,
        {"limit": 50},
    ),
    (
        "merge_entities",
        "Merge entities",
        "Lets everything of one entity be said of another, whose alias its names become. A preview with what would change and meet, unless `apply`.",
        MergeEntitiesRequest,
        IdentityOutcome,
        {"from_entity_id": _ID, "to_entity_id": _OTHER, "reason": "one project under two names", "apply": True},
    ),
    (
        "split_entity",
        "Split an entity",
        "Lets some relationships of an entity be said of a new one. A preview, unless `apply`.",
        SplitEntityRequest,
        IdentityOutcome,
        {"entity_id": _ID, "relationship_ids": [_OTHER], "name": "Apple Records", "entity_kind": "organization", "reason": "two companies"},
    ),
    (
        "reverse_entity_correction",
        "Take back a merge or split",
        "The relationships stand as before, at new versions. Refused where something was built on the correction since.",
        ReverseCorrectionRequest,
        ReversalOutcome,
        {"correction_id": _ID, "reason": "they are two after all"},
    ),
    (
        "rename_entity",
        "Rename an entity",
        "A new canonical name; the old one stays as a former name with its time.",
        NameEntityRequest,
        RenameOutcome,
        {"entity_id": _ID, "name": "Orion", "reason": "the project was renamed"},
    ),
    (
        "add_entity_alias",
        "Add a name to an entity",
        "Another name under which proposals find the entity and texts ground it.",
        NameEntityRequest,
        AliasOutcome,
        {"entity_id": _ID, "name": "the Orion project", "reason": "so called in minutes"},
    ),
    ("list_predicates", "List predicates", "Newest definitions by key.", ListPredicatesRequest, PredicateList, {"limit": 50}),
    (
        "define_predicate",
        "Define a predicate",
        "A new predicate, or the next version of one: aliases, kinds, cardinality, lifecycle. Stored relationships are never changed by it.",
        DefinePredicateRequest,
        PredicateOutcome,
        {"key": "located_in", "expected_version": 1, "current_cardinality": "one", "reason": "a place at a time"},
    ),
)
