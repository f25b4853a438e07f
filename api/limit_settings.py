"""Operations on limits inside an administrator's transaction: describe and set."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec

from commonlore.api.limits_table import ClassLimitEntry, LimitsDescription, StorageLimitEntry
from commonlore.db import limits
from commonlore.db.limits import Whose
from commonlore.db.session import TeamTransaction
from commonlore.domain.limits.policy import CLASSES, LimitSetting, SubjectKind, limits_of
from commonlore.domain.limits.request import DescribeLimitsRequest, UpdateLimitsRequest


async def describe_limits(transaction: TeamTransaction, request: DescribeLimitsRequest | UpdateLimitsRequest, *, now: datetime) -> LimitsDescription:
    """
    Raises:
        NotVisible: no such key of the team.
    """
    team, ceiling = await limits.read_limits(transaction)
    key = LimitSetting() if request.credential_id is None else await limits.read_key_limits(transaction, request.credential_id)
    return await _description(transaction, request.credential_id, key, team, ceiling, now)


async def update_limits(transaction: TeamTransaction, request: UpdateLimitsRequest, *, now: datetime, whose: Whose = "team") -> LimitsDescription:
    """`whose`: the team's own numbers or its ceiling, where no key is named.

    Raises:
        NotVisible: no such key of the team.
        Incorrect: nothing is to be changed.
    """
    request.validate()
    await limits.lock_limits(transaction)
    if request.credential_id is None:
        team, ceiling = await limits.read_limits(transaction)
        await limits.set_limits(transaction, request.applied_to(ceiling if whose == "ceiling" else team), whose=whose)
    else:
        setting = await limits.read_key_limits(transaction, request.credential_id)
        await limits.set_key_limits(transaction, request.credential_id, request.applied_to(setting))
    return await describe_limits(transaction, request, now=now)


async def _description(
    transaction: TeamTransaction, credential_id: UUID | None, key: LimitSetting, team: LimitSetting, ceiling: LimitSetting, now: datetime
) -> LimitsDescription:
    texts = [msgspec.json.encode(setting).decode("utf-8") for setting in (key, team, ceiling)]
    found = limits_of(*texts)
    used = await limits.read_use(transaction, credential_id or transaction.team_id, now=now)
    kind: SubjectKind = "team" if credential_id is None else "key"
    classes: dict[str, ClassLimitEntry] = {}
    for name in CLASSES:
        bounds = found.bounds(kind, name)
        today, month = used.get(name, (0, 0))
        classes[name] = {
            "per_minute": bounds.rate.per_minute if bounds.rate else None,
            "burst": bounds.rate.burst if bounds.rate else None,
            "per_day": bounds.per_day,
            "per_month": bounds.per_month,
            "calls_today": today,
            "calls_this_month": month,
        }
    storage = cast(StorageLimitEntry, asdict(found.storage)) if credential_id is None else None
    own = msgspec.to_builtins(team if credential_id is None else key)
    return cast(
        LimitsDescription, {"credential_id": None if credential_id is None else str(credential_id), **classes, "storage": storage, "own": own}
    )
