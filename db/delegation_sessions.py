"""`read_session`: the events of one call to ingest_session, in windows, to be read for the relationships that they state."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from commonlore.db.delegation import DelegationSession
from commonlore.db.sql import statements
from commonlore.domain.delegation.brief import SHOWN_CHARS, BriefKey, BriefText, Listed, Subject
from commonlore.domain.delegation.session import STEP_CHARS, windows_of

_SQL = statements("delegation_session")
_FIRST = UUID(int=0)


class IngestedSessions:
    """A brief a window: its number stands in the place of the version."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        submission_id, window = _place(after)
        cursor = await session.transaction.execute(
            _SQL["session_page"], after=submission_id, after_window=window, shown=SHOWN_CHARS, step=STEP_CHARS, most=most
        )
        return [_listed(row) for row in await cursor.fetchall()]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        [submission_id] = key.ids
        cursor = await session.transaction.execute(
            _SQL["session_texts"], submission_id=submission_id, start=key.version * STEP_CHARS, chars=SHOWN_CHARS
        )
        rows = await cursor.fetchall()
        windows = windows_of(row["length"] for row in rows)
        shown = [BriefText(**{name: row[name] for name in BriefText.__struct_fields__}) for row in rows if row["content"]]
        if not shown or key.version >= windows:
            return None
        facts = {"submission_id": str(submission_id), "session": rows[0]["session"], "window": key.version, "windows": windows}
        return Subject(key, _title(rows[0]["session"], rows[0]["sequence"], rows[-1]["sequence"], key.version, windows), facts, shown)


def _listed(row: dict[str, Any]) -> Listed:
    key = BriefKey("read_session", (row["submission_id"],), row["window_no"])
    title = _title(row["session"], row["first_sequence"], row["last_sequence"], row["window_no"], row["windows"])
    return Listed(key, title, f"{row['submission_id']}+{row['window_no']}")


def _title(session: str, first: int, last: int, window: int, windows: int) -> str:
    events = f"event {first}" if first == last else f"events {first} to {last}"
    return f"{session}, {events}" + (f", piece {window + 1} of {windows}" if windows > 1 else "")


def _place(after: str | None) -> tuple[UUID, int]:
    if not after:
        return _FIRST, -1
    submission_id, _, window = after.partition("+")
    return UUID(submission_id), int(window)
