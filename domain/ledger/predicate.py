"""Predicates: an open vocabulary with a few seeds, registered in each space on first use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from commonlore.domain.text.characters import IGNORABLE

ENTITY_KINDS = ("person", "organization", "project", "product", "place", "document", "concept", "other")
VALUE_KINDS = ("string", "number", "boolean", "date", "date_time")
_SEPARATORS = re.compile(r"_+")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A definition. Empty kinds allow every kind; object kinds may name entity kinds and value types."""

    key: str
    version: int = 1
    aliases: tuple[str, ...] = ()
    subject_kinds: tuple[str, ...] = ()
    object_kinds: tuple[str, ...] = ()
    relationship_kind: Literal["state", "event"] = "state"
    current_cardinality: Literal["one", "many"] = "many"
    lifecycle_state: Literal["active", "deprecated", "retired"] = "active"

    @property
    def wording(self) -> str:
        """How a document says it: the key with blanks."""
        return self.key.replace("_", " ")


# Source: dense-mem 2.5, the seeds of the registry.
SEEDS: Mapping[str, Predicate] = MappingProxyType(
    {
        predicate.key: predicate
        for predicate in (
            Predicate("works_on", aliases=("is_working_on",)),
            Predicate("uses", aliases=("depends_on", "uses_runtime")),
            Predicate("primary_database", aliases=("main_database",), current_cardinality="one"),
            Predicate("released", aliases=("shipped",), object_kinds=("date", "date_time", "string"), relationship_kind="event"),
        )
    }
)


def predicate_key(wording: str) -> str:
    """A wording as a key: NFKC, case folded; runs of anything but letters, their marks and digits, of any script, become one `_`.

    Raises:
        ValueError: no letter comes first, or more than 128 characters remain.
    """
    visible = "".join(char for char in wording if ord(char) not in IGNORABLE)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    marked = [char if char.isalnum() or (_is_mark(char) and _in_word(folded, at)) else "_" for at, char in enumerate(folded)]
    key = _SEPARATORS.sub("_", "".join(marked)).strip("_")
    if not key or not key[0].isalpha() or len(key) > 128:
        raise ValueError("expected a wording of letters, digits and underscores that begins with a letter, such as works_on")
    return key


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _in_word(text: str, at: int) -> bool:
    """Whether the marks that end at `at` stand on a letter or digit: vowel signs do, the mark of an emoji does not."""
    while at >= 0 and _is_mark(text[at]):
        at -= 1
    return at >= 0 and text[at].isalnum()


def resolve(key: str, registered: Mapping[str, Predicate]) -> tuple[Predicate, Literal["known", "seed_v1", "open_vocabulary_v1"]]:
    """The definition that a key or an alias means, and whether it must be registered first.

    Registered keys come before registered aliases, these before the seeds, these before a new open definition.
    Aliases are compared in the order of the keys that carry them.
    """
    for pool, policy in ((registered, "known"), (SEEDS, "seed_v1")):
        if key in pool:
            return pool[key], policy  # type: ignore[return-value]
        for name in sorted(pool):
            if key in pool[name].aliases:
                return pool[name], policy  # type: ignore[return-value]
    return Predicate(key), "open_vocabulary_v1"
