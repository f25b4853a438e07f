"""Quotes of a verdict, checked letter by letter against the texts that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from commonlore.domain.delegation.request import BriefQuote
from commonlore.domain.errors import Incorrect, invalid
from commonlore.domain.remember.standing import Cited
from commonlore.domain.text.parts import Span


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote that stands in its text, and where."""

    cited: Cited
    span: Span

    @property
    def place(self) -> dict[str, object]:
        """The place alone: events of a brief never keep the words of a text, which may have to go one day."""
        return {"evidence_id": str(self.cited.evidence_id), "start": self.span.start, "end": self.span.end}


def locate(quotes: Sequence[BriefQuote], texts: Mapping[UUID, Cited]) -> list[Quoted]:
    """Each quote at its place. `texts` are those that may be cited: withdrawn, foreign and unknown ones are absent alike.

    Raises:
        Incorrect: with the pointer of the first quote that does not stand so in its text.
    """
    found = []
    for index, item in enumerate(quotes):
        cited = texts.get(item.evidence_id)
        if cited is None:
            raise unknown_text(index)
        content = cited.text.content
        start = content.find(item.quote) if item.start is None else item.start
        if start < 0 or content[start : start + len(item.quote)] != item.quote:
            raise invalid(f"/quotes/{index}/quote", "expected words exactly as they stand in the text, at start if that is given")
        found.append(Quoted(cited, Span(start, start + len(item.quote))))
    return found


def unknown_text(index: int) -> Incorrect:
    return invalid(f"/quotes/{index}/evidence_id", "expected a text of this space that may be cited for this brief")
