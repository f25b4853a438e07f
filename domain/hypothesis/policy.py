"""Every number that decides a hypothesis, and the formula of its likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from commonlore.domain.hypothesis.rules import PathKind

VERSION = "two-premises-1"


class Likelihood(NamedTuple):
    """In thousandths, with what it was made of."""

    likelihood: int
    confidence: int
    record: int
    strength: int


@dataclass(frozen=True, slots=True)
class HypothesisPolicy:
    """
    A likelihood is the record of the rule times the strength of the weaker premise:

        record   = (prior * weight + closed) / (weight + tested)
        strength = 1 - 0.4 / source groups

    `tested` counts the pairs that the rule reaches and whose subject has an object of the conclusion besides the middle;
    `closed`, those of them that are stated. A rule that was never tested has its prior. The confidence says how much of the
    record comes from the space: tested / (weight + tested).

    `most_neighbours` bounds each side of a middle, `most_paths` all of a run, `most_relationships` what is read, `most_live`
    what is proposed at one time. What is less likely than `least_likelihood` thousandths is not proposed.
    """

    priors: dict[PathKind, Fraction] = field(
        default_factory=lambda: {"transitive": Fraction(7, 10), "composition": Fraction(6, 10), "shared_neighbour": Fraction(4, 10)}
    )
    weight: int = 4
    doubt: Fraction = Fraction(4, 10)
    least_likelihood: int = 100
    most_neighbours: int = 32
    most_paths: int = 200_000
    most_relationships: int = 200_000
    most_live: int = 500

    def likelihood(self, kind: PathKind, *, tested: int, closed: int, source_groups: tuple[int, int]) -> Likelihood:
        record = (self.priors[kind] * self.weight + closed) / (self.weight + tested)
        strength = 1 - self.doubt / min(source_groups)
        return Likelihood(
            min(max(_thousandths(record * strength), 1), 999),
            _thousandths(Fraction(tested, self.weight + tested)),
            _thousandths(record),
            _thousandths(strength),
        )


def _thousandths(number: Fraction) -> int:
    return round(number * 1000)
