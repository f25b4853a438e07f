"""The conflict lane: cases that touch the evidence of the answer, as they stood in its view.

Whether a statement counts is decided where eligibility is: a decision has ended the losing statements, so their paths are
not active. Here the cases are only said.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from commonlore.domain.conflict.view import ConflictItem, QuotePosition, show
from commonlore.domain.degradation import Degradation
from commonlore.domain.recall.result import EvidenceItem
from commonlore.domain.recall.state import RecallState

CONFLICTS_SHOWN = 20


async def fill_conflict_lane(state: RecallState, results: Sequence[EvidenceItem]) -> list[ConflictItem]:
    """At most `CONFLICTS_SHOWN`: of statements first, undecided first, then by the best result that a case touches, then by id.

    Asks nothing where no space has a case. More cases than are shown are stated.
    """
    spaces = [plan.space for plan in state.plan.spaces if plan.has_conflicts]
    if not spaces or not results:
        return []
    rank = {item.evidence_id: place for place, item in enumerate(results)}
    rows = await state.snapshot.read_conflicts(state.intent, spaces, list(rank), most=CONFLICTS_SHOWN + 1)
    shown = [item for space, row in rows if (item := show(row, state.intent.view, space, results=rank)) is not None]
    shown.sort(key=lambda item: _order(item, rank))
    if len(shown) > CONFLICTS_SHOWN or len(rows) > CONFLICTS_SHOWN:
        state.degradations.add(Degradation("conflicts", "conflict_bound_reached"))
    return shown[:CONFLICTS_SHOWN]


def _order(item: ConflictItem, rank: dict[UUID, int]) -> tuple[int, int, int, UUID]:
    touched: set[UUID] = set()
    for position in item.positions:
        touched.update([position.evidence_id] if isinstance(position, QuotePosition) else position.result_evidence_ids)
    best = min((rank[key] for key in touched if key in rank), default=len(rank))
    return item.kind != "cross_profile_current_state", item.status == "resolved", best, item.conflict_id
