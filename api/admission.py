"""The seat of one HTTP call: asked for before the body is read, taken when the body is there, left when the answer is.

A body that comes slowly holds no seat, so that slow clients cannot take them all. Health, numbers and the document need none.
"""

from __future__ import annotations

from itertools import cycle

from commonlore.api.exchange import Message, Receive
from commonlore.domain.errors import Unavailable
from commonlore.domain.limits.admission import Admission, Entered

OPEN = frozenset(("/v1/health/live", "/v1/health/ready", "/schema/openapi.json", "/metrics"))
# Clients that were refused together do not come back together.
_RETRY_AFTER_S = cycle((1, 2, 3))
# Bodies that were read while the seats filled: so many more calls than seats run at most.
_MOST_OVER = 2


class Seat:
    """Used as the exchange's `receive`.

    Raises:
        Unavailable: `overloaded`, at once.
    """

    def __init__(self, admission: Admission, receive: Receive) -> None:
        if not admission.admits():
            raise overloaded()
        self._admission, self._receive = admission, receive
        self._entered: Entered | None = None

    async def __call__(self) -> Message:
        """
        Raises:
            Unavailable: `overloaded`, the body was read and twice as many calls as there are seats run already.
        """
        message: Message = await self._receive()
        if self._entered is None and message["type"] == "http.request" and not message.get("more_body", False):
            if self._admission.running >= _MOST_OVER * self._admission.policy.seats:
                raise overloaded()
            self._entered = self._admission.enter()
        return message

    def leave(self, operation: str, *, served: bool) -> None:
        """Give it back, if it was taken."""
        if self._entered is not None:
            self._admission.leave(self._entered, operation, served=served)


def overloaded() -> Unavailable:
    return Unavailable("overloaded", "more calls come than this process serves", retry_after_s=next(_RETRY_AFTER_S))
