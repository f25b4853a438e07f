"""The text that a relationship is searched by: projection format 2."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from commonlore.domain.time import render_instant

FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class RelationshipWording:
    """The words of one relationship. Ids, owner, counts, status and evidence have no place here."""

    subject: str
    predicate: str
    object: str
    polarity: str
    scope: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


def render(wording: RelationshipWording) -> str:
    """One line a fact in a fixed order, absent ones left out, joined by newlines.

    Source: ranking page, "Semantic search document"; dense-mem 5.
    """
    lines = [
        "relationship",
        f"subject: {wording.subject}",
        f"predicate: {wording.predicate}",
        f"object: {wording.object}",
        f"polarity: {'positive' if wording.polarity == '+' else 'negative'}",
    ]
    if wording.scope:
        lines.append(f"scope: {wording.scope}")
    if wording.valid_from:
        lines.append(f"valid_from: {render_instant(wording.valid_from)}")
    if wording.valid_to:
        lines.append(f"valid_to: {render_instant(wording.valid_to)}")
    return "\n".join(lines)
