"""What a team's rule of retention would remove, and its removal by a worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.db.feedback import remove_old_recalls
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.retention.rule import RetentionCounts, RetentionRule, cutoff

_SQL = statements("retention")
_RUN = statements("retention_run")
_WORKER = statements("worker")
_TIMEOUT_MS = 60_000
_BATCH = 1000
_SEALS = 20
Kept = Literal["audit", "feedback", "answers"]
KEPT: tuple[Kept, ...] = ("audit", "feedback", "answers")


@dataclass(frozen=True, slots=True)
class TeamRetention:
    """The rule of a team, the last seal whose entries it removed, and when it ran last."""

    rule: RetentionRule = field(default_factory=RetentionRule)
    audit_removed_to: int = 0
    last_run_at: datetime | None = None


async def read_retention(transaction: TeamTransaction) -> TeamRetention:
    row = await (await transaction.execute(_SQL["read_rule"])).fetchone()
    if row is None:
        return TeamRetention()
    rule = RetentionRule(row["audit_days"], row["feedback_days"], row["answer_days"], row["job_days"])
    return TeamRetention(rule, row["audit_removed_to"], row["last_run_at"])


async def set_rule(transaction: TeamTransaction, rule: RetentionRule) -> None:
    await transaction.execute(_SQL["set_rule"], **asdict(rule))


async def preview(transaction: TeamTransaction, rule: RetentionRule, *, removed_to: int, now: datetime) -> RetentionCounts:
    """What `rule` would remove now; removes nothing. Leaves the last space of the team open."""
    audit_before, answers_before = cutoff(rule.audit_days, now), cutoff(rule.answer_days, now)
    audit = 0
    if audit_before is not None:
        audit = await _count(transaction, "count_audit", removed_to=removed_to, before=audit_before)
    recalls = await _count(transaction, "count_recalls", before=cutoff(rule.feedback_days, now))
    jobs = await _count(transaction, "count_jobs", days=rule.job_days)
    answers = 0
    if answers_before is not None:
        for space_id in await _spaces(transaction):
            await transaction.enter(space_id)
            answers += await _count(transaction, "count_answers", before=answers_before)
    return RetentionCounts(audit, recalls, answers, jobs)


async def _count(transaction: TeamTransaction, name: str, **parameters: object) -> int:
    row = await (await transaction.execute(_SQL[name], **parameters)).fetchone()
    return int(row["rows"]) if row else 0


async def _spaces(transaction: TeamTransaction) -> list[UUID]:
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return list(transaction.epochs)


async def is_retention_due(transaction: TeamTransaction, now: datetime) -> bool:
    """Whether a day has passed since the last run and anything may have to go."""
    row = await (await transaction.execute(_RUN["is_due"], now=now)).fetchone()
    return row is not None and bool(row["is_due"])


async def remove_batch(pool: Pool, team_id: UUID, kind: Kept, *, now: datetime) -> int:
    """The next rows of one kind that the team's rule lets go, in a transaction of their own; how many. Logged with their number.

    With the worker's role. 0: none is left.
    """
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        rule = (await read_retention(transaction)).rule
        removed = 0
        if kind == "audit":
            row = await (await transaction.execute(_RUN["remove_audit"], most_seals=_SEALS)).fetchone()
            removed = int(row["removed"]) if row else 0
        elif kind == "feedback":
            before = cutoff(rule.feedback_days, now)
            removed = await remove_old_recalls(transaction, before, batch=_BATCH) if before is not None else 0
        elif (before := cutoff(rule.answer_days, now)) is not None:
            for space_id in await _spaces(transaction):
                await transaction.enter(space_id)
                removed += (await transaction.execute(_RUN["forget_answers"], before=before, batch=_BATCH)).rowcount
        if removed:
            transaction.noted.add("retention", f"{kind}:{removed}")
        return removed


async def note_run(pool: Pool, team_id: UUID, *, now: datetime) -> None:
    """Everything that had to go is gone; the sweep asks again after a day."""
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        await transaction.execute(_RUN["note_run"], now=now)
