"""How the texts of one call to ingest_session are laid out to be read: in windows, so that a long one is read whole."""

from __future__ import annotations

from collections.abc import Iterable

from commonlore.domain.delegation.brief import SHOWN_CHARS

# Neighbouring windows share so much, so that what stands at a border is whole in one of them.
SHARED_CHARS = 200
STEP_CHARS = SHOWN_CHARS - SHARED_CHARS


def windows_of(lengths: Iterable[int]) -> int:
    """How many windows show every character of texts of these lengths; each window shows its piece of all of them. None for no text."""
    longest = max(lengths, default=0)
    return 0 if longest == 0 else 1 + max(0, -(-(longest - SHOWN_CHARS) // STEP_CHARS))
