"""The passage that is shown: whole parts, in the order of the text, within the budget."""

from __future__ import annotations

from commonlore.domain.recall.context import GAP, assemble, part_numbers
from commonlore.domain.recall.result import PartText


def parts(*numbers: int, size: int = 10) -> list[PartText]:
    return [PartText(number, f"<{number:0{size - 2}d}>") for number in numbers]


def test_the_hits_come_first_then_the_nearest_neighbours() -> None:
    assert [5, 9, 4, 6, 8, 10, 3, 7, 11] == part_numbers([5, 9, 5], 100)


def test_neighbours_stay_inside_the_text() -> None:
    assert [0, 1, 2] == part_numbers([0], 3)
    assert [0] == part_numbers([0], 1)
    assert [3, 2, 4, 1] == part_numbers([3], 5)


def test_neighbouring_parts_join_verbatim() -> None:
    """No mark and no blank of ours between parts that follow one another; nothing is truncated when all are there."""
    shown = assemble([PartText(0, "A "), PartText(1, "B"), PartText(2, " C")], [1, 0, 2], part_count=3, budget_chars=100)

    assert ("A B C", False) == (shown.text, shown.truncated)


def test_a_gap_is_marked_where_parts_lie_between() -> None:
    shown = assemble(parts(0, 1, 7), [7, 0, 1], part_count=9, budget_chars=100)

    assert (f"<00000000><00000001>{GAP}<00000007>", True) == (shown.text, shown.truncated)


def test_the_order_of_preference_decides_what_fits_and_the_text_decides_the_order() -> None:
    shown = assemble(parts(0, 1, 2, 3), [3, 1, 0, 2], part_count=4, budget_chars=2 * (10 + len(GAP)))

    assert (f"<00000001>{GAP}<00000003>", True) == (shown.text, shown.truncated)


def test_the_budget_holds_with_the_marks() -> None:
    for budget in range(20, 200):
        shown = assemble(parts(*range(0, 20, 2)), list(range(0, 20, 2)), part_count=20, budget_chars=budget)

        assert len(shown.text) <= budget


def test_a_long_first_part_is_shown_whole() -> None:
    """No character is split, whatever the budget; what follows is left out."""
    shown = assemble([PartText(0, "é" * 50), PartText(1, "b")], [0, 1], part_count=2, budget_chars=10)

    assert ("é" * 50, True) == (shown.text, shown.truncated)


def test_a_small_part_may_still_fit_behind_one_that_does_not() -> None:
    shown = assemble([PartText(0, "a" * 10), PartText(1, "b" * 90), PartText(2, "c" * 5)], [0, 1, 2], part_count=3, budget_chars=40)

    assert f"{'a' * 10}{GAP}{'c' * 5}" == shown.text


def test_a_part_that_was_not_read_is_passed_over() -> None:
    """A preferred number beyond the rows is no error."""
    assert "<00000001>" == assemble(parts(1), [4, 1], part_count=2, budget_chars=100).text


def test_a_text_without_rows_has_an_empty_context() -> None:
    shown = assemble([], [0], part_count=3, budget_chars=100)

    assert ("", True) == (shown.text, shown.truncated)
