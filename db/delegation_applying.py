"""What applying a verdict begins and ends with, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from commonlore.db.delegation import DelegationSession
from commonlore.db.delegation_subjects import SOURCES
from commonlore.domain.delegation.brief import BriefKey
from commonlore.domain.delegation.quotes import Quoted
from commonlore.domain.delegation.request import SubmitVerdictRequest
from commonlore.domain.delegation.verify import Verified
from commonlore.domain.errors import Conflict
from commonlore.domain.submission import Claim

Applied = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Decided:
    """A verdict on its way: the call that states it, the brief, and the quotes at their places."""

    session: DelegationSession
    key: BriefKey
    request: SubmitVerdictRequest
    claim: Claim
    correlation_id: str
    quotes: list[Quoted]

    @property
    def now(self) -> datetime:
        return self.claim.now


async def require_current(decided: Decided) -> None:
    """A verdict that changes nothing is about what stands, too.

    Raises:
        Conflict: `stale_input`.
    """
    if await SOURCES[decided.key.kind].read(decided.session, decided.key) is None:
        raise Conflict("stale_input", "what the brief is about has moved on")


async def write_verified(decided: Decided, verified: Verified, operation: str) -> Applied:
    """Write the rows; documents that have no vector yet wait for a job."""
    if await decided.session.write_correction(decided.claim, verified.changes, {}):
        await decided.session.enqueue_embedding()
    return {
        "operation": operation,
        "relationship_id": str(verified.relationship_id),
        "relationship_version": verified.version,
        "status": verified.status,
    }
