"""Which entity a name means: the whole table."""

from __future__ import annotations

from uuid import UUID

import pytest

from commonlore.domain.ledger.entity import NamedEntity, resolve

PERSON, PERSON_2 = NamedEntity(UUID(int=1), "person", "Apple"), NamedEntity(UUID(int=2), "person", "apple")
COMPANY, OTHER, OTHER_2 = (NamedEntity(UUID(int=3 + place), kind, "Apple") for place, kind in enumerate(("organization", "other", "other")))


@pytest.mark.parametrize(
    ("kind", "candidates", "action", "entity"),
    [
        ("person", [], "create", None),
        ("other", [], "create", None),
        ("person", [PERSON], "reuse", PERSON),
        ("person", [COMPANY], "create", None),
        ("person", [PERSON, COMPANY], "reuse", PERSON),
        ("person", [PERSON, PERSON_2], "ambiguous", None),
        ("person", [OTHER], "reuse", OTHER),
        ("person", [OTHER, OTHER_2], "ambiguous", None),
        ("person", [PERSON, OTHER], "reuse", PERSON),
        ("person", [COMPANY, OTHER], "reuse", OTHER),
        ("other", [PERSON], "reuse", PERSON),
        ("other", [OTHER], "reuse", OTHER),
        ("other", [PERSON, COMPANY], "ambiguous", None),
        ("other", [PERSON, OTHER], "ambiguous", None),
        ("person", [PERSON, PERSON], "reuse", PERSON),
    ],
)
def test_a_name_resolves_by_kind(kind: str, candidates: list[NamedEntity], action: str, entity: NamedEntity | None) -> None:
    """`other` matches any kind on both sides; one entity under two names is one candidate."""
    for order in (candidates, candidates[::-1]):
        found = resolve(kind, order)

        assert (action, entity) == (found.action, found.entity)
