"""Texts that say nearly the same, for a person to look at: how alike two texts are, and what may be asked. Nothing is merged by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.ledger.echo import runs_of

# Of each text the nearest others are compared; of each of them the beginning.
MOST_NEAREST = 20
COMPARED_CHARS = 8_000
SHOWN_CHARS = 160


class ListNearDuplicatesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pairs of texts of one space, by the id of the earlier one. `limit` is how many texts a page looks at, not how many pairs it has."""

    target_space: Literal["private", "team_shared"] = "team_shared"
    min_similarity_percent: Annotated[int, Meta(ge=50, le=100)] = 80
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[str, Meta(min_length=1, max_length=512)] | None = None


def similarity_percent(one: str, other: str) -> int:
    """The share of their runs of four words that two texts have in common, 0 to 100; 100 for equal texts.

    Shorter texts are alike where their words are the same.
    """
    return _similarity((one, frozenset(runs_of(one))), (other, frozenset(runs_of(other))))


def similarities(pairs: Sequence[tuple[UUID, UUID]], texts: Mapping[UUID, str]) -> list[int]:
    """`similarity_percent` of each pair of texts; the runs of each text are made once. Run it in a thread."""
    made = {key: (text, frozenset(runs_of(text))) for key, text in texts.items()}
    return [_similarity(made[one], made[other]) for one, other in pairs]


def _similarity(one: tuple[str, frozenset[int]], other: tuple[str, frozenset[int]]) -> int:
    (first, runs), (second, others) = one, other
    if first == second:
        return 100
    if not runs or not others:
        return 100 if first.casefold().split() == second.casefold().split() else 0
    common = len(runs & others)
    return 100 * common // (len(runs) + len(others) - common)
