"""What holds of every ledger, whatever was written; and whether two states of a database are one."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.support.memory import Memory

_MISMATCHES = """
select r.relationship_id, r.support_count, c.effective, r.status, t.to_status
from commonlore.relationship r
cross join lateral (
    select count(*) as effective from commonlore.relationship_support s
    where s.relationship_id = r.relationship_id
      and (select d.decision from commonlore.support_decision_event d where d.support_id = s.support_id
           order by d.known_from desc, d.event_id desc limit 1) <> 'revoke'
      and not exists (select from commonlore.evidence_exclusion x where x.evidence_id = s.evidence_id and x.reason <> 'unsupported')) c
cross join lateral (
    select t.to_status, t.version from commonlore.relationship_transition_event t
    where t.relationship_id = r.relationship_id order by t.version desc limit 1) t
where r.support_count <> c.effective or r.status <> t.to_status or r.version <> t.version
   or (r.status = 'active') <> (r.support_count > 0) and r.status <> 'superseded'
"""
# Texts whose exclusion says another thing than their paths: eligible are those with an active granted path, or without a granted one.
_ELIGIBILITY = """
select e.evidence_id from commonlore.evidence e
left join lateral (
    select bool_or(r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null and p.retired_at is null) as has_active
    from commonlore.relationship_support s
    join commonlore.relationship r using (team_id, space_epoch, relationship_id)
    join commonlore.profile p on p.profile_id = r.owner_profile_id
    where s.evidence_id = e.evidence_id
      and (select d.decision from commonlore.support_decision_event d where d.support_id = s.support_id
           order by d.known_from desc, d.event_id desc limit 1) <> 'revoke') c on true
where (c.has_active is not distinct from false)
    <> exists (select from commonlore.evidence_exclusion x where x.evidence_id = e.evidence_id and x.reason = 'unsupported')
"""
# Events of one thing whose known times do not grow with their order.
_ORDER = """
select relationship_id, version from (
    select relationship_id, version, known_from, lag(known_from) over (partition by relationship_id order by version) as before
    from commonlore.relationship_transition_event) t
where known_from < before
union all
select conflict_id, version from (
    select conflict_id, version, known_from, lag(known_from) over (partition by conflict_id order by ordinal) as before
    from commonlore.conflict_event) t
where known_from < before
"""
_UNFINISHED = "select submission_id from commonlore.submission where result is null"


def mismatches(memory: Memory) -> list[tuple[Any, ...]]:
    """Relationships whose counts differ from their events, and rows whose last transition says another state."""
    return memory.sql(_MISMATCHES)


def broken(memory: Memory) -> list[tuple[Any, ...]]:
    """Whatever does not hold of the ledger."""
    return [row for statement in (_MISMATCHES, _ELIGIBILITY, _ORDER, _UNFINISHED) for row in memory.sql(statement)]


# Each table with its number of rows and the newest transaction that wrote one of them.
State = list[tuple[str, int, int]]


class Fingerprint:
    """Which rows are there, by one short read of every table: a row that was written or removed gives another one.

    The instant of the ledger lock is left out: who only looked under the lock has taken it as well.
    """

    def __init__(self, conninfo: str) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)
        tables = self._connection.execute(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog', 'information_schema') and tablename <> 'ledger_instant' order by 1"
        ).fetchall()
        self._statement = " union all ".join(f"select '{name}', count(*), coalesce(max(xmin::text::bigint), 0) from {name}" for (name,) in tables)

    def __call__(self) -> State:
        return sorted(self._connection.execute(self._statement.encode()).fetchall())

    def close(self) -> None:
        self._connection.close()
