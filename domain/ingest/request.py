"""What may be taken in with one call (dense-mem 6.2; the published client's SessionRequest), with every bound."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import SpaceName

Name = Annotated[str, Meta(min_length=1, max_length=256)]
MOST_EVENTS = 20
# Over all events of a call. It is above the 65,536 tokens that the published service takes.
MOST_TEXT_BYTES = 1024 * 1024


class SessionEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said; it never changes under its `event_id`."""

    event_id: Name
    text: Annotated[str, Meta(min_length=1)]
    occurred_at: str | None = None
    speaker: Name | None = None


class SessionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events of one session in their order. The four names say where they come from; they open nothing."""

    framework: Name
    app_name: Name
    user_id: Name
    session_id: Name
    events: Annotated[list[SessionEvent], Meta(min_length=1, max_length=MOST_EVENTS)]
    target_space: Literal["private", "team_shared"] = "private"
    space: SpaceName | None = None
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """What a schema cannot say.

        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        for name in ("framework", "app_name", "user_id", "session_id"):
            require_visible(f"/{name}", getattr(self, name))
        total = 0
        for index, event in enumerate(self.events):
            pointer = f"/events/{index}"
            for name in ("event_id", "text", "speaker"):
                if (text := getattr(event, name)) is not None:
                    require_visible(f"{pointer}/{name}", text)
            read_instant(f"{pointer}/occurred_at", event.occurred_at)
            total += len(event.text.encode("utf-8"))
            if total > MOST_TEXT_BYTES:
                raise invalid(
                    f"{pointer}/text", f"expected at most {MOST_TEXT_BYTES} bytes of UTF-8 over all events; send the rest with another call"
                )
        require_key(self.idempotency_key)
