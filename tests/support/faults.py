"""Tables that cannot be read, and tables that are slow to read, from now on."""

from __future__ import annotations

from tests.support.memory import Memory


def break_space(memory: Memory, table: str, kind: str, action: str = "raise 'broken by a test'") -> None:
    """From now on, reading a row of the table in a space of that kind does what `action` says."""
    memory.sql(
        "create or replace function commonlore.broken(epoch bigint) returns boolean language plpgsql stable as $body$ begin "
        f"if exists (select from commonlore.space s where s.space_epoch = epoch and s.space_kind = '{kind}') then {action}; end if; "
        "return true; end $body$"
    )
    for broken in _with_differences(table):
        memory.sql(f"create policy broken on commonlore.{broken} as restrictive for select using (commonlore.broken(space_epoch))")


def mend(memory: Memory, table: str) -> None:
    """As before."""
    for broken in _with_differences(table):
        memory.sql(f"drop policy broken on commonlore.{broken}")


def _with_differences(table: str) -> list[str]:
    """A posting is in a block, or in a difference that was not folded yet: who cannot read the one cannot read the other."""
    return [table, f"{table}_difference"] if table.endswith("_posting") else [table]
