"""Files that were made from a team's rows: the list, and the search in them for what was erased.

Whoever makes a file calls `register_export` in the transaction that reads the rows, before the file can leave the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
from uuid import UUID

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.errors import NotVisible
from commonlore.domain.ids import new_id

_SQL = statements("erasure_scope")
_CHUNK = 1 << 20
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


async def list_exports(transaction: TeamTransaction, *, limit: int) -> list[Export]:
    """The newest first."""
    return [Export(**row) for row in await (await transaction.execute(_SQL["list_exports"], limit=limit)).fetchall()]


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
    """Whether the file holds one of the words, byte by byte.

    `possible`: none was found, which proves nothing of a packed or encrypted file. `missing`: it is not there to be read.
    """
    return await asyncio.to_thread(_search, path, [word.encode() for word in wanted])


def _search(path: Path, wanted: Sequence[bytes]) -> Carries:
    overlap = max((len(word) for word in wanted), default=1)
    try:
        with path.open("rb") as file:
            before = b""
            while chunk := file.read(_CHUNK):
                window = before + chunk
                if any(word in window for word in wanted):
                    return "found"
                before = window[-overlap:]
    except OSError:
        return "missing"
    return "possible"
