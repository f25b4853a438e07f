"""Who says a turn: a person by name, or only the role that a program gives."""

from __future__ import annotations

from functools import lru_cache

# A speaker that only names a role says nothing worth searching for.
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai"))
# The roles of the one who asks: "I" in a query means their turns.
ASKING_ROLES = frozenset(("user", "human"))


@lru_cache(maxsize=4096)
def role_of(speaker: str | None) -> str | None:
    """The role that a speaker names, in lower case; None for a person, and where nobody is named."""
    if not speaker:
        return None
    word = speaker.strip().casefold()
    return word if word in ROLES else None


def is_person(speaker: str | None) -> bool:
    """Whether a speaker is named, and by more than a role."""
    return bool(speaker) and role_of(speaker) is None
