"""The words of a community: exact quotes that may be shown now, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from commonlore.domain.community.policy import CommunityPolicy


def compose(quotes: Sequence[str], entities: Sequence[str], predicates: Sequence[str], policy: CommunityPolicy) -> str:
    """At most `shown_quotes` of the quotes, whole and unchanged, each once, within `summary_chars`.

    Where none may be shown, or all are too long: the names and predicates that the community is about.
    """
    shown: list[str] = []
    length = 0
    for quote in dict.fromkeys(quotes):
        if len(shown) == policy.shown_quotes:
            break
        if length + len(quote) + 1 <= policy.summary_chars:
            shown.append(quote)
            length += len(quote) + 1
    if shown:
        return "\n".join(shown)
    names, words = ", ".join(entities), ", ".join(key.replace("_", " ") for key in predicates)
    return ": ".join(part for part in (names, words) if part)[: policy.summary_chars]
