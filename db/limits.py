"""Limits in PostgreSQL: what teams and keys have of their own, and the store where processes tell each other what was used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Literal
from uuid import UUID

import msgspec

from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import CommonloreError, NotVisible, Unavailable
from commonlore.domain.limits.meter import LimitStoreUnavailable, Spent, Standing, UseKey
from commonlore.domain.limits.policy import LimitSetting
from commonlore.domain.time import Clock

_SQL = statements("limits")
_CEILING = statements("limit_ceiling")
_TIMEOUT_MS = 5_000
_MICROSECOND = timedelta(microseconds=1)
Whose = Literal["team", "ceiling"]


@dataclass(frozen=True, slots=True)
class PostgresLimitStore:
    """`LimitStore` in the database that is there anyway: one small transaction a team and telling.

    What is sent is added exactly once where the answer comes back. Where it is lost on the way the sum is told again, so that
    the calls of one telling may count twice.
    """

    pool: Pool
    clock: Clock

    async def tell(self, spent: list[Spent]) -> tuple[datetime, list[Standing]]:
        """As `LimitStore`. A team that fails holds up no other; a database that does not answer is not asked for the rest."""
        now: datetime | None = None
        standings: list[Standing] = []
        failure: CommonloreError | None = None
        by_team = {team_id: list(items) for team_id, items in groupby(spent, key=lambda item: item.key.team_id)}
        for team_id, told in (by_team or {UUID(int=0): []}).items():  # nothing is told: only whether it answers
            try:
                for row in await self._tell_team(team_id, told):
                    now = now or row["store_now"]
                    # Debts are counted from the first of the transactions, whose time this is.
                    later_us = (row["store_now"] - now) // _MICROSECOND if row["debt_us"] else 0
                    key = UseKey(team_id, row["subject_id"], row["operation_class"])
                    standings.append(Standing(key, row["debt_us"] + later_us, row["day_calls"], row["month_calls"]))
            except CommonloreError as error:
                failure = error
                if isinstance(error, Unavailable):
                    break
        if failure is not None:
            raise LimitStoreUnavailable(now, standings) from failure
        return now or self.clock(), standings

    async def _tell_team(self, team_id: UUID, told: list[Spent]) -> list[dict[str, Any]]:
        async with team_transaction(self.pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not told:
                return []
            subjects = {
                "team_id": team_id,
                "subject_ids": [item.key.subject_id for item in told],
                "classes": [item.key.operation_class for item in told],
            }
            await transaction.connection.execute(_SQL["make_uses"], subjects)
            cursor = await transaction.connection.execute(_SQL["tell_use"], {**subjects, **_columns(told)})
            return await cursor.fetchall()


def _columns(told: list[Spent]) -> dict[str, list[int]]:
    return {
        "calls": [item.calls for item in told],
        "intervals_us": [item.interval_us for item in told],
        "ages_us": [item.age_us for item in told],
        "debts_us": [item.debt_us for item in told],
    }


async def read_limits(transaction: TeamTransaction) -> tuple[LimitSetting, LimitSetting]:
    """The team's own numbers and its ceiling.

    Raises:
        NotVisible: the team is retired or does not exist.
    """
    row = await (await transaction.connection.execute(_SQL["read_limits"], {"team_id": transaction.team_id})).fetchone()
    if row is None:
        raise NotVisible("not_found", "no active team has this id")
    return _setting(row["limits"]), _setting(row["ceiling"])


async def lock_limits(transaction: TeamTransaction) -> None:
    """Before numbers of the team or of one of its keys are read to be changed."""
    await transaction.connection.execute(_SQL["lock_limits"], {"team_id": transaction.team_id})


async def read_key_limits(transaction: TeamTransaction, credential_id: UUID) -> LimitSetting:
    """A key's own numbers.

    Raises:
        NotVisible: no key of this team, or revoked.
    """
    parameters = {"team_id": transaction.team_id, "credential_id": credential_id}
    row = await (await transaction.connection.execute(_SQL["read_key_limits"], parameters)).fetchone()
    if row is None:
        raise NotVisible("not_found", "no active key of the team has this id")
    return _setting(row["limits"])


async def set_limits(transaction: TeamTransaction, setting: LimitSetting, *, whose: Whose = "team") -> None:
    """The numbers of the team, or its ceiling, which only the owner may set."""
    statement = _SQL["set_limits"] if whose == "team" else _CEILING["set_ceiling"]
    await transaction.connection.execute(statement, {"team_id": transaction.team_id, "limits": _text(setting)})


async def set_key_limits(transaction: TeamTransaction, credential_id: UUID, setting: LimitSetting) -> None:
    """The numbers of one key."""
    parameters = {"team_id": transaction.team_id, "credential_id": credential_id, "limits": _text(setting)}
    await transaction.connection.execute(_SQL["set_key_limits"], parameters)


async def read_use(transaction: TeamTransaction, subject_id: UUID, *, now: datetime) -> dict[str, tuple[int, int]]:
    """Calls of this day and month by class, as far as processes told the database."""
    cursor = await transaction.connection.execute(_SQL["read_use"], {"team_id": transaction.team_id, "subject_id": subject_id})
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        row["operation_class"]: (
            row["day_calls"] if row["day"] == today else 0,
            row["month_calls"] if row["month"] == today.replace(day=1) else 0,
        )
        for row in await cursor.fetchall()
    }


def _setting(text: str) -> LimitSetting:
    return msgspec.json.decode(text, type=LimitSetting)


def _text(setting: LimitSetting) -> str:
    return msgspec.json.encode(setting).decode("utf-8")
