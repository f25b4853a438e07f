"""What each key read last, by which a recall begins before its key is checked."""

from __future__ import annotations

from commonlore.domain.tenancy.actor import Space
from commonlore.domain.tenancy.key import PresentedKey


class SpacesLastRead:
    """Which spaces the latest recalls of each key read, so that the next one can ask for their statistics while the key is checked.

    Nothing follows from it but a round trip saved: what was asked for other spaces than the key may read now is not looked at.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._found: dict[PresentedKey, tuple[tuple[Space, int | None], ...]] = {}

    def of(self, key: PresentedKey) -> tuple[tuple[Space, int | None], ...]:
        return self._found.get(key, ())

    def forget(self, key: PresentedKey) -> None:
        """Of a key whose recall failed."""
        self._found.pop(key, None)

    def note(self, key: PresentedKey, spaces: tuple[tuple[Space, int | None], ...]) -> None:
        """Of a key that was found valid."""
        self._found.pop(key, None)
        self._found[key] = spaces
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]
