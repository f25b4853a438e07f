"""The best passages of a text within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from commonlore.domain.text.characters import cut_at_or_before, trim
from commonlore.domain.text.parts import Span

GAP = " … "


def best_passages(content: str, spans: Sequence[Span], *, budget_chars: int = 2000) -> str:
    """`content` itself when it fits into `budget_chars` code points, else its best passages, each a verbatim slice.

    `spans` come best first and are graphemes as a whole. Each that still fits is taken; touching or overlapping ones are joined, the rest
    stand in the order of the text with " … " between them. White space at the outer ends of a passage is left out. When not even the best
    one fits, its beginning is given, cut between graphemes; without spans, the beginning of the text.

    Raises:
        ValueError: the budget is below 1, or a span ends behind the text.
    """
    if budget_chars < 1:
        raise ValueError(f"expected a budget of at least 1 character, got {budget_chars}")
    if any(span.end > len(content) for span in spans):
        raise ValueError("a span ends behind the text")
    if len(content) <= budget_chars:
        return content
    chosen: list[Span] = []
    for span in spans:
        # A further passage needs at least one character and, unless it touches another, a gap.
        if chosen and _length(content, chosen) >= budget_chars:
            break
        widened = _joined([*chosen, span])
        if _length(content, widened) <= budget_chars:
            chosen = widened
    trimmed = [_trimmed(content, span) for span in chosen]
    if passages := [content[span.start : span.end] for span in trimmed if span.end > span.start]:
        return GAP.join(passages)
    first = _trimmed(content, spans[0] if spans else Span(0, len(content)))
    end = min(first.end, cut_at_or_before(content, first.start + budget_chars, first.start))
    return content[first.start : trim(content, first.start, end)[1]]


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def _length(content: str, spans: Sequence[Span]) -> int:
    lengths = [trimmed.end - trimmed.start for span in spans if (trimmed := _trimmed(content, span)).end > trimmed.start]
    return sum(lengths) + len(GAP) * max(0, len(lengths) - 1)


def _trimmed(content: str, span: Span) -> Span:
    return Span(*trim(content, span.start, span.end))
