"""Who holds a brief, for how long, and who may answer it. Pure; the row is locked by whoever asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.domain.errors import Conflict, NotVisible

Action = Literal["claimed", "extended", "expired", "released", "decided", "applied"]


@dataclass(frozen=True, slots=True)
class Held:
    """The row of a brief that was claimed before."""

    state: str
    claim_id: UUID
    credential_id: UUID
    profile_id: UUID
    expires_at: datetime
    last_ordinal: int


def take(held: Held, credential_id: UUID, now: datetime, *, claim_id: UUID | None) -> tuple[Action, ...]:
    """What happens to a brief that is claimed again: its claim is extended, or passes on once it was given back or has run out.

    Raises:
        NotVisible: `claim_id` is no claim of this credential.
        Conflict: `stale_input`, it was decided, or the claim to extend has run out; `brief_claimed`, somebody holds it.
    """
    if claim_id is not None:
        require_claim(held, claim_id, credential_id, now)
        return ("extended",)
    if held.state == "decided":
        raise _decided()
    if held.state == "claimed" and held.expires_at > now:
        seconds = max(1, round((held.expires_at - now).total_seconds()))
        raise Conflict("brief_claimed", "somebody holds the brief for some time", retry_after_s=seconds)
    return ("expired", "claimed") if held.state == "claimed" else ("claimed",)


def require_claim(held: Held | None, claim_id: UUID, credential_id: UUID, now: datetime) -> Held:
    """The brief, if this claim of this credential holds it now.

    Raises:
        NotVisible: no such claim of this credential; another's is as absent as one that never was.
        Conflict: `stale_input`, the brief was decided, or the claim was given back or has run out.
    """
    if held is None or held.claim_id != claim_id or held.credential_id != credential_id:
        raise NotVisible("not_found", "no claim of this id on this brief is yours")
    if held.state == "decided":
        raise _decided()
    if held.state != "claimed" or held.expires_at <= now:
        raise Conflict("stale_input", "the claim was given back or has run out; claim the brief again")
    return held


def _decided() -> Conflict:
    return Conflict("stale_input", "the brief was decided")
