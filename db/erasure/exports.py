"""Files that were made from a team's rows: the list, and the search in them for what was erased.

Whoever makes a file calls `register_export` in the transaction that reads the rows, before the file can leave the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
from uuid import UUID

from commonlore.db import tenancy
from commonlore.db.archive import ArchiveReader
from commonlore.db.session import TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import NotVisible, OperatorError
from commonlore.domain.ids import new_id
from commonlore.domain.time import system_clock

_SQL = statements("erasure_scope")
_CHUNK = 1 << 20
_TIMEOUT_MS = 60_000
Carries = Literal["found", "possible", "missing"]


@dataclass(frozen=True, slots=True)
class Export:
    """`space_ids` None: the whole team."""

    export_id: UUID
    export_kind: str
    space_ids: Sequence[UUID] | None
    file_path: str
    byte_count: int | None
    known_from: datetime
    destroyed_at: datetime | None


async def register_export(
    transaction: TeamTransaction,
    *,
    kind: str,
    path: Path,
    now: datetime,
    space_ids: Sequence[UUID] | None = None,
    byte_count: int | None = None,
    sha256: bytes | None = None,
) -> UUID:
    """Note a file that holds rows of the transaction's team; its id. `kind`: a word in lower case such as `backup`. `space_ids` None: every space."""
    export_id = new_id()
    await transaction.execute(
        _SQL["add_export"],
        export_id=export_id,
        export_kind=kind,
        space_ids=list(space_ids) if space_ids is not None else None,
        file_path=str(path),
        byte_count=byte_count,
        file_sha256=sha256,
        now=now,
    )
    return export_id


@contextmanager
def registered_backup(owner_conninfo: str, path: Path, *, team_id: UUID | None = None) -> Iterator[Callable[[Iterable[UUID]], None]]:
    """Every team, or one, knows of a backup before its first row is read, so that the archive holds that line too.

    Gives a function that tells it to those of the teams that came since; to be called before the file has its name. Where the block raises
    the teams know that there is no file. By the owner, in transactions of each team's own.

    Raises:
        CommonloreError: the database does not answer, or refuses.
    """
    made: dict[UUID, UUID] = {}
    place = path.absolute()

    async def register(teams: Iterable[UUID] | None) -> None:
        async with tenancy.owner_pool(owner_conninfo) as pool:
            for team in [team.team_id for team in await tenancy.list_teams(pool)] if teams is None else teams:
                if team not in made:
                    async with team_transaction(pool, team, timeout_ms=_TIMEOUT_MS) as transaction:
                        made[team] = await register_export(transaction, kind="backup", path=place, now=system_clock())

    async def destroy() -> None:
        async with tenancy.owner_pool(owner_conninfo) as pool:
            for team, export_id in made.items():
                async with team_transaction(pool, team, timeout_ms=_TIMEOUT_MS) as transaction:
                    await destroy_export(transaction, export_id, now=system_clock())

    is_whole = False
    try:
        asyncio.run(register(None if team_id is None else [team_id]))
        yield lambda teams: asyncio.run(register(teams))
        is_whole = True
    finally:
        if not is_whole:
            asyncio.run(destroy())


async def list_exports(transaction: TeamTransaction, *, limit: int) -> list[Export]:
    """The newest first."""
    return [Export(**row) for row in await (await transaction.execute(_SQL["list_exports"], limit=limit)).fetchall()]


async def standing_exports(transaction: TeamTransaction, space_ids: Sequence[UUID], *, before: UUID | None, limit: int) -> list[Export]:
    """A page of those that are not destroyed and were made from any of the spaces, the newest first; `before`: the last id of the page in front."""
    cursor = await transaction.execute(_SQL["standing_exports"], space_ids=list(space_ids), before=before, limit=limit)
    return [Export(**row) for row in await cursor.fetchall()]


async def destroy_export(transaction: TeamTransaction, export_id: UUID, *, now: datetime) -> Export:
    """Note that somebody has destroyed the file.

    Raises:
        NotVisible: no such file of the team, or destroyed already.
    """
    row = await (await transaction.execute(_SQL["destroy_export"], export_id=export_id, now=now)).fetchone()
    if row is None:
        raise NotVisible("not_found", "this team has no export of this id that is still kept")
    return Export(**row)


async def search_file(path: Path, wanted: Sequence[str]) -> Carries:
    """Whether the file holds one of the words, byte by byte; an archive of ours row by row, as it was before it was packed.

    `possible`: none was found, which proves nothing of a file that is packed otherwise or encrypted, and of words that were no sample.
    `missing`: it is not there to be read.
    """
    return await asyncio.to_thread(_search, path, [word.encode() for word in wanted])


def _search(path: Path, wanted: Sequence[bytes]) -> Carries:
    try:
        with path.open("rb") as file:
            found = _holds(iter(lambda: file.read(_CHUNK), b""), wanted) or _archive_holds(path, wanted)
    except OSError:
        return "missing"
    return "found" if found else "possible"


def _archive_holds(path: Path, wanted: Sequence[bytes]) -> bool:
    """Of a file that is no archive, or is damaged, whatever could be read of it."""
    try:
        with ArchiveReader(path) as archive:
            return any(_holds(archive.pieces(entry), wanted) for entry in archive.manifest.tables)
    except OperatorError:
        return False


def _holds(pieces: Iterable[bytes], wanted: Sequence[bytes]) -> bool:
    """Whether one of the words is in the pieces, across their borders too."""
    overlap = max((len(word) for word in wanted), default=1)
    before = b""
    for piece in pieces:
        window = before + piece
        if any(word in window for word in wanted):
            return True
        before = window[-overlap:]
    return False
