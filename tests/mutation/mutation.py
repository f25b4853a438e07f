"""What a mutation is: one exact text of the product replaced by another, and the tests that must then be red."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Mutation:
    """`old` stands in `path` exactly once. `tests` are node ids without parameters; every one of them must fail."""

    name: str
    breaks: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


class Lost(Exception):
    """The text of a mutation is not where it should be, or is there more than once."""


def mutated(mutation: Mutation, root: Path = ROOT) -> str:
    """The whole file with the text replaced.

    Raises:
        Lost: the text does not stand in the file exactly once.
    """
    path = root / mutation.path
    text = path.read_text("utf-8") if path.is_file() else ""
    count = text.count(mutation.old)
    if count != 1:
        raise Lost(f"{mutation.name}: the text stands {count} times in {mutation.path}; anchor it anew")
    return text.replace(mutation.old, mutation.new)
