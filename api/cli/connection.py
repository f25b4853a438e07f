"""How a command reaches the database: as the owner, bound by the policies, for the length of one command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from commonlore.db.locate import Database, open_database, require_migrated
from commonlore.db.session import Pool
from commonlore.db.settings import Settings, read_settings
from commonlore.db.tenancy import owner_pool

_Result = TypeVar("_Result")


@contextmanager
def open_owner(settings: Settings) -> Iterator[Database]:
    """A migrated database whose `owner_conninfo` is known. An embedded one is prepared; an external one must be.

    Raises:
        OperatorError: `migration_needed`, `settings_invalid`, or the embedded server cannot start.
        Unavailable: the database does not answer.
    """
    with open_database(settings, prepare=settings.embedded) as database:
        require_migrated(database.owner_conninfo)
        yield database


def as_owner(work: Callable[[Pool], Awaitable[_Result]]) -> _Result:
    """Run `work` with the owner's pool on the database that the environment names.

    Raises:
        CommonloreError: as `open_owner`, and what `work` raises.
    """

    async def run(conninfo: str) -> _Result:
        async with owner_pool(conninfo) as pool:
            return await work(pool)

    with open_owner(read_settings(os.environ)) as database:
        return asyncio.run(run(database.owner_conninfo))
