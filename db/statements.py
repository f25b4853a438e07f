"""The statements of a recall, whole: `queries/` with the conditions that several of them share put in place."""

from __future__ import annotations

import re
from typing import Any, LiteralString

from commonlore.db.sql import statements

_COMMENT = re.compile(r"[ \t]*--[^\n]*")


def complete(subject: str, *, past: bool = False, **fragments: str) -> dict[str, LiteralString]:
    """The statements of a subject with the condition of eligibility, now or in a view of another time, and other fragments, put in place."""
    history = statements("history")
    condition = history["relationship_past"] if past else statements("hydrate")["relationship_eligible"]
    frontier = statements("frontier")
    fragments = {"words": frontier["document_words"], "sample": frontier["evidence_sample"], **fragments}
    pieces = {"{eligible}": condition, "{past}": condition, **{"{" + name + "}": text for name, text in fragments.items()}}
    # A fragment stands before those that it is made of.
    pieces |= {
        "{effective}": history["support_effective"],
        "{granted}": history["support_granted"],
        "{gone}": history["evidence_gone"],
        "{end}": history["relationship_end"],
    }
    complete: dict[str, LiteralString] = {}
    for name, text in statements(subject).items():
        for place, piece in pieces.items():
            text = text.replace(place, piece)
        # Without comments and indents: psycopg parses a statement of more than 4,096 characters anew each time.
        complete[name] = " ".join(_COMMENT.sub("", text).split())
    return complete


_GATE = statements("frontier")["evidence_gate"]
_NARROW: dict[str, Any] = {"filter": statements("frontier")["evidence_filter"], "narrowing": statements("frontier")["relationship_narrowing"]}
_WIDE: dict[str, Any] = {"filter": "true", "narrowing": "true"}
FRONTIER = complete("frontier", gate=_GATE, **_WIDE)
# What is read of a space whose relationships cannot be searched by their words.
STATISTICS_WITHOUT_WORDS = complete("frontier", words="null::jsonb")["read_statistics"]
# The same without a gate that could refuse nothing: it would cost a tenth of the search.
OPEN_FRONTIER = complete("frontier", gate="true", **_WIDE)
# In a view of another time nothing is gated but what the caller has: exclusions say what counts now.
PAST_FRONTIER = complete("frontier", past=True, gate=_GATE, **_WIDE)
FILTERED_FRONTIER = complete("frontier", gate=_GATE, **_NARROW)
PAST_FILTERED_FRONTIER = complete("frontier", past=True, gate=_GATE, **_NARROW)
# Where a space's vectors have an index of their own; a filter is never searched by it.
NEAR = complete("near", gate=_GATE)
OPEN_NEAR = complete("near", gate="true")
# What a process keeps of a space.
RESIDENT = complete("resident")
HYDRATE = complete("hydrate")
HISTORY = complete("history", past=True)
