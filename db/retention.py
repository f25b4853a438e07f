"""What a team's rule of retention would remove, and its removal by a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.db.erasure.holds import lock_holds, reaches_space, standing_targets
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
    """What `rule` would remove now; removes nothing. Leaves the last space of the team open. What a legal hold keeps is not counted."""
    audit_before, answers_before = cutoff(rule.audit_days, now), cutoff(rule.answer_days, now)
    audit = recalls = answers = 0
    is_held = bool(await standing_targets(transaction))
    if audit_before is not None and not is_held:
        audit = await _count(transaction, "count_audit", removed_to=removed_to, before=audit_before)
    if not is_held:
        recalls = await _count(transaction, "count_recalls", before=cutoff(rule.feedback_days, now))
    jobs = await _count(transaction, "count_jobs", days=rule.job_days)
    if answers_before is not None:
        async for _ in _free_spaces(transaction):
            answers += await _count(transaction, "count_answers", before=answers_before)
    return RetentionCounts(audit, recalls, answers, jobs)


async def _count(transaction: TeamTransaction, name: str, **parameters: object) -> int:
    row = await (await transaction.execute(_SQL[name], **parameters)).fetchone()
    return int(row["rows"]) if row else 0


async def _spaces(transaction: TeamTransaction) -> list[UUID]:
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return list(transaction.epochs)


async def _free_spaces(transaction: TeamTransaction) -> AsyncIterator[UUID]:
    """The spaces of the team that no legal hold reaches into, each of them open while it is looked at."""
    targets = await standing_targets(transaction)
    for space_id in await _spaces(transaction):
        await transaction.enter(space_id)
        if not targets or not await reaches_space(transaction, space_id, targets):
            yield space_id


async def is_retention_due(transaction: TeamTransaction, now: datetime) -> bool:
    """Whether a day has passed since the last run and anything may have to go."""
    row = await (await transaction.execute(_RUN["is_due"], now=now)).fetchone()
    return row is not None and bool(row["is_due"])


async def remove_batch(pool: Pool, team_id: UUID, kind: Kept, *, now: datetime) -> int:
    """The next rows of one kind that the team's rule lets go, in a transaction of their own; how many. Logged with their number.

    While any legal hold of the team stands, entries of the log and kept recalls stay; answers stay in the spaces that a hold reaches into.
    With the worker's role. 0: none is left.
    """
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        await lock_holds(transaction)
        rule = (await read_retention(transaction)).rule
        removed = 0
        if kind != "answers" and await standing_targets(transaction):
            return 0
        if kind == "audit":
            row = await (await transaction.execute(_RUN["remove_audit"], most_seals=_SEALS)).fetchone()
            removed = int(row["removed"]) if row else 0
        elif kind == "feedback":
            before = cutoff(rule.feedback_days, now)
            removed = await remove_old_recalls(transaction, before, batch=_BATCH) if before is not None else 0
        elif (before := cutoff(rule.answer_days, now)) is not None:
            async for _ in _free_spaces(transaction):
                removed += (await transaction.execute(_RUN["forget_answers"], before=before, batch=_BATCH)).rowcount
        if removed:
            transaction.noted.add("retention", f"{kind}:{removed}")
        return removed


async def note_run(pool: Pool, team_id: UUID, *, now: datetime) -> None:
    """Everything that had to go is gone; the sweep asks again after a day."""
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        await transaction.execute(_RUN["note_run"], now=now)
