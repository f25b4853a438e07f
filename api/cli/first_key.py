"""The first team, member and key of an installation, and whether there is any."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from commonlore.db import tenancy
from commonlore.db.session import Pool, team_transaction
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import Scope
from commonlore.domain.tenancy.administration import IssuedKey
from commonlore.domain.time import system_clock

TIMEOUT_MS = 30_000
TEAM = "first team"
MEMBER = "owner"
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Installation:
    """What `up` must know of keys before it listens."""

    has_team: bool
    has_active_key: bool


async def look(pool: Pool) -> Installation:
    """Needs the owner's pool."""
    teams = await tenancy.list_teams(pool)
    now = system_clock()
    for team in teams:
        if team.retired_at is None:
            async with team_transaction(pool, team.team_id, timeout_ms=TIMEOUT_MS) as transaction:
                if any(key.state(now) == "active" for key in await tenancy.list_keys(transaction)):
                    return Installation(True, True)
    return Installation(bool(teams), False)


async def make_first_key(pool: Pool) -> IssuedKey:
    """A team, a member and a key. Its text is in the answer and nowhere else."""
    return await make_team(pool, TEAM, member=MEMBER, key="key of the first start", scopes=SCOPES)


async def make_team(pool: Pool, name: str, *, member: str, key: str, scopes: tuple[Scope, ...], expires_at: datetime | None = None) -> IssuedKey:
    """A team, a member and a key in one transaction."""
    async with team_transaction(pool, new_id(), timeout_ms=TIMEOUT_MS) as transaction:
        now = system_clock()
        await tenancy.create_team(transaction, name=name, now=now)
        profile = await tenancy.add_member(transaction, name=member, profile_kind="human", now=now)
        return await tenancy.mint_key(
            transaction, profile.profile_id, name=key, scopes=scopes, memory_binding="credential_private", expires_at=expires_at, now=now
        )
