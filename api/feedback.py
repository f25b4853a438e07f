"""Feedback over the assembled adapters: keeping a recall for it, and taking it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import msgspec

from commonlore.api.feedback_table import FeedbackReport, LaneFeedback, RankingFeedback
from commonlore.db import feedback
from commonlore.db.assemble import Adapters
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.errors import CommonloreError
from commonlore.domain.feedback.judge import shown_results, with_suggestion, without_snapshot
from commonlore.domain.feedback.request import DescribeFeedbackRequest, SubmitFeedbackRequest
from commonlore.domain.recall.result import RecallResult
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey


@dataclass(frozen=True, slots=True)
class Feedback:
    """`note` hears of every key that was used."""

    adapters: Adapters
    note: Callable[[Actor], None]

    async def keep(self, actor: Actor, result: RecallResult) -> RecallResult:
        """The answer as it is, with the offer to take feedback on it; or, where it cannot be kept, with the degradation that says so."""
        adapters = self.adapters
        recall_id = UUID(result.recall_id.removeprefix("rec_"))
        try:
            await feedback.keep_recall(
                adapters.pool, actor, recall_id, shown_results(result), ranking=feedback.ranking_of(adapters.policy), now=adapters.clock()
            )
        except CommonloreError:
            return without_snapshot(result)
        return with_suggestion(result)

    async def submit(self, key: PresentedKey, request: SubmitFeedbackRequest) -> dict[str, Any]:
        adapters = self.adapters
        now = adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            self.note(actor)
            actor.require("read")
            receipt: dict[str, Any] = msgspec.to_builtins(await feedback.submit_feedback(transaction, actor, request.recalls, now=now))
            return receipt


async def describe_feedback(transaction: TeamTransaction, request: DescribeFeedbackRequest) -> FeedbackReport:
    """
    Raises:
        Incorrect: a wrong period.
    """
    recalls, lanes = await feedback.report(transaction, request)
    return {"enabled": await feedback.is_enabled(transaction), "rankings": [_ranking(row, lanes) for row in recalls]}


def _ranking(row: dict[str, Any], lanes: list[dict[str, Any]]) -> RankingFeedback:
    own = [lane for lane in lanes if lane["ranking"] == row["ranking"]]
    lanes_shown = [cast(LaneFeedback, {name: value for name, value in lane.items() if name != "ranking"}) for lane in own]
    return cast(RankingFeedback, {**row, "lanes": lanes_shown})
