"""Feedback on recalls: what an answer showed, by id, what was said of it, and what that comes to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import NotVisible
from commonlore.domain.feedback.judge import FeedbackResult, ShownResult, marks_of, problem_of
from commonlore.domain.feedback.request import DescribeFeedbackRequest, RecallFeedback
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.tenancy.actor import Actor

_SQL = statements("feedback")
_REMOVAL = statements("feedback_removal")
# An answer waits no longer than this for its snapshot.
_KEEP_MS = 1_000


def ranking_of(policy: RankingPolicy) -> str:
    """The ranking that an answer came by, as the report groups by it."""
    return f"{policy.version} {policy.evidence_contract} {policy.space_fusion}"


async def keep_recall(pool: Pool, actor: Actor, recall_id: UUID, shown: Sequence[ShownResult], *, ranking: str, now: datetime) -> None:
    """Keep what an answer showed, in a transaction of its own.

    Raises:
        CommonloreError: it could not be kept.
    """
    async with team_transaction(pool, actor.team_id, timeout_ms=_KEEP_MS) as transaction:
        await transaction.execute(
            _SQL["add_recall"],
            recall_id=recall_id,
            profile_id=actor.profile_id,
            credential_id=actor.credential_id,
            ranking=ranking,
            now=now,
            kinds=[item.kind for item in shown],
            result_ids=[item.result_id for item in shown],
            ranks=[item.rank for item in shown],
            nested=[item.nested for item in shown],
        )


async def submit_feedback(transaction: TeamTransaction, actor: Actor, recalls: Sequence[RecallFeedback], *, now: datetime) -> FeedbackResult:
    """Take feedback in order up to the first that does not fit. What was said of a recall first stays; said again it counts as taken."""
    for index, feedback in enumerate(recalls):
        recall_id = feedback.recall_id
        shown = await _shown(transaction, actor, recall_id) if recall_id is not None else None
        problem = problem_of(feedback, shown)
        if problem is not None:
            return FeedbackResult(
                recorded=index, failed_index=index, error_code="invalid_input", reason_code=problem, next_action="correct_and_resubmit"
            )
        marks = marks_of(feedback)
        cursor = await transaction.execute(
            _SQL["add_feedback"],
            recall_id=recall_id,
            used=feedback.used,
            answer_supported=feedback.answer_supported,
            quality=feedback.quality,
            missing_context=feedback.missing_context,
            irrelevant=feedback.irrelevant,
            has_comment=feedback.has_comment,
            now=now,
            kinds=[mark.kind for mark in marks],
            result_ids=[mark.result_id for mark in marks],
            marked_irrelevant=[mark.irrelevant for mark in marks],
            marked_used=[mark.used for mark in marks],
            qualities=[mark.quality for mark in marks],
            contradicted=[mark.contradicted for mark in marks],
        )
        if await cursor.fetchone() is not None:
            transaction.noted.add("recall", recall_id)
    return FeedbackResult(recorded=len(recalls))


async def _shown(transaction: TeamTransaction, actor: Actor, recall_id: UUID) -> set[Any] | None:
    cursor = await transaction.execute(_SQL["find_recall"], recall_id=recall_id, credential_id=actor.credential_id)
    if await cursor.fetchone() is None:
        return None
    rows = await (await transaction.execute(_SQL["read_results"], recall_id=recall_id)).fetchall()
    return {(row["kind"], row["result_id"]) for row in rows}


async def is_enabled(transaction: TeamTransaction) -> bool:
    """Whether recalls of the team are kept for feedback."""
    return _switch(await (await transaction.execute(_SQL["read_enabled"])).fetchone())


async def set_enabled(transaction: TeamTransaction, *, enabled: bool) -> bool:
    """Counts from the next recall on.

    Raises:
        NotVisible: the team is retired.
    """
    return _switch(await (await transaction.execute(_SQL["set_enabled"], enabled=enabled)).fetchone())


def _switch(row: dict[str, Any] | None) -> bool:
    if row is None:
        raise NotVisible("not_found", "no active team has this id")
    return bool(row["recall_feedback"])


async def report(transaction: TeamTransaction, request: DescribeFeedbackRequest) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Counts by ranking, and by ranking and lane; each by name.

    Raises:
        Incorrect: a wrong period.
    """
    since, until = request.period()
    recalls = await (await transaction.execute(_SQL["report_recalls"], since=since, until=until)).fetchall()
    return recalls, await (await transaction.execute(_SQL["report_lanes"], since=since, until=until)).fetchall()


async def remove_recalls(transaction: TeamTransaction, recall_ids: Collection[UUID]) -> int:
    """Kept recalls with all that was said of them; how many. With the worker's role."""
    ids = list(recall_ids)
    for name in ("remove_marks", "remove_results", "remove_feedback"):
        await transaction.execute(_REMOVAL[name], recall_ids=ids)
    return (await transaction.execute(_REMOVAL["remove_recalls"], recall_ids=ids)).rowcount


async def remove_old_recalls(transaction: TeamTransaction, before: datetime, *, batch: int) -> int:
    """The oldest kept recalls of before an instant, at most `batch`; how many. With the worker's role."""
    rows = await (await transaction.execute(_REMOVAL["old_recalls"], before=before, batch=batch)).fetchall()
    return await remove_recalls(transaction, [row["recall_id"] for row in rows]) if rows else 0


async def remove_recalls_of(
    transaction: TeamTransaction, *, profile_ids: Collection[UUID] = (), credential_ids: Collection[UUID] = (), batch: int = 1000
) -> int:
    """Kept recalls of members or credentials that are erased, at most `batch`; how many. With the worker's role."""
    parameters = {"profile_ids": list(profile_ids), "credential_ids": list(credential_ids), "batch": batch}
    rows = await (await transaction.execute(_REMOVAL["recalls_of"], **parameters)).fetchall()
    return await remove_recalls(transaction, [row["recall_id"] for row in rows]) if rows else 0
