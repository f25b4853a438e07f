"""Which entities may be one."""

from __future__ import annotations

from uuid import UUID

import pytest

from commonlore.domain.correct.candidates import CurrentName, merge_candidates
from commonlore.domain.text.normalise import name_key


def named(number: int, name: str, kind: str = "project") -> CurrentName:
    return CurrentName(UUID(int=number), kind, name, name_key(name), is_canonical=True)


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        (("Apple", "person"), ("apple", "organization"), "same_name"),
        (("Dense-Mem", "project"), ("dense mem", "project"), "near_name"),
        (("Zoé", "person"), ("Zoe", "other"), "near_name"),
        (("Zoé", "person"), ("Zoe", "project"), None),
        (("Ada", "person"), ("Adam", "person"), None),
        (("!!!", "other"), ("???", "other"), None),
    ],
)
def test_two_names_are_a_pair_by_a_rule(first: tuple[str, str], second: tuple[str, str], rule: str | None) -> None:
    found = merge_candidates([named(2, *second), named(1, *first)])

    assert ([] if rule is None else [(UUID(int=1), UUID(int=2), rule)]) == [(*item.place, item.rule) for item in found]


def test_a_pair_is_listed_once_by_its_stronger_rule() -> None:
    """Also where further names of both are near to each other."""
    names = [named(1, "Apple", "person"), named(2, "apple", "other"), named(1, "Ap-ple", "person")]

    assert ["same_name"] == [item.rule for item in merge_candidates(names)]
