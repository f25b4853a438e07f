"""The passage that an evidence result shows: the whole text when it is short, else its best parts in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commonlore.domain.recall.result import PartText

GAP = " … "
# How many parts on each side of a hit may be read for its context.
REACH = 2


@dataclass(frozen=True, slots=True)
class Context:
    text: str
    truncated: bool


def part_numbers(hits: Iterable[int], part_count: int) -> list[int]:
    """The parts to read for a context: the hits, then their neighbours, nearest first; each once, all inside the text."""
    wanted = list(dict.fromkeys(hits))
    around = [hit + side * step for step in range(1, REACH + 1) for hit in wanted for side in (-1, 1)]
    return [number for number in dict.fromkeys([*wanted, *around]) if 0 <= number < part_count]


def assemble(parts: Sequence[PartText], preferred: Sequence[int], *, part_count: int, budget_chars: int) -> Context:
    """Whole parts only, so that no character is split: by preference while they fit, then in the order of the text.

    Neighbouring parts join verbatim; ` … ` marks what lies between others and at a cut end. The first preferred part is
    shown even when it alone exceeds the budget.
    """
    texts = {part.part_no: part.text for part in parts}
    chosen: set[int] = set()
    used = 0
    for number in preferred:
        text = texts.get(number)
        if text is not None and (not chosen or used + len(text) + len(GAP) <= budget_chars):
            chosen.add(number)
            used += len(text) + len(GAP)
    pieces: list[str] = []
    for number in sorted(chosen):
        pieces.append(texts[number] if number - 1 in chosen or not pieces else GAP + texts[number])
    return Context("".join(pieces).strip(), len(chosen) < part_count)
