"""Random relationships and texts with all their events, as values and as rows of the database that say the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

from commonlore.domain.recall.eligibility import Event, EvidenceHistory, RelationshipHistory, SupportHistory, Transition
from tests.support.memory import START, Holder, Memory

# Mostly what is hard to tell; a text that is withdrawn too often would hide everything else.
STATUSES = (*("active",) * 5, *("superseded",) * 5, "pending_evidence", "retracted", "rejected", "needs_review", "quarantined", "disputed")
REASONS = ("replaced", "corrected", "conflict_resolved", "identity_moved", "evidence_released")
DAYS = 6


def moment(day: int, microseconds: int = 0) -> datetime:
    return START + timedelta(days=day, microseconds=microseconds)


@dataclass
class Histories:
    """`evidence` and `relationships` by id; `texts` is the content of each piece of evidence."""

    random: Random
    evidence: dict[UUID, EvidenceHistory] = field(default_factory=dict)
    relationships: dict[UUID, RelationshipHistory] = field(default_factory=dict)
    texts: dict[UUID, str] = field(default_factory=dict)
    _ids: int = 0

    def __post_init__(self) -> None:
        self._space = self.random.getrandbits(60)

    def make(self, owner_profile_id: UUID, *, texts: int, relationships: int) -> Histories:
        for _ in range(texts):
            item = self._evidence()
            self.evidence[item.evidence_id] = item
            self.texts[item.evidence_id] = f"words {self.random.randrange(texts // 2)}"
        for _ in range(relationships):
            made = self._relationship(owner_profile_id, f"sg:{self.random.getrandbits(256):064x}")
            self.relationships[made.relationship_id] = made
        return self

    def new_id(self) -> UUID:
        """Later ids are higher, so that the order of events is that in which they are made."""
        self._ids += 1
        return UUID(int=self._space << 64 | self._ids)

    def _day(self, first: int = 0) -> datetime:
        return moment(self.random.randint(first, DAYS))

    def _days(self, most: int, first: datetime) -> list[datetime]:
        start = (first - START).days
        return sorted(self._day(start) for _ in range(self.random.randint(0, most)))

    def _evidence(self) -> EvidenceHistory:
        draw, known = self.random, self._day()
        return EvidenceHistory(
            evidence_id=self.new_id(),
            known_from=known,
            is_erased=draw.random() < 0.06,
            ended=tuple(Event(day, draw.choice(("supersede", "retract"))) for day in self._days(draw.choice((0, 0, 0, 2)), known)),
            security=tuple(Event(day, draw.choice(("quarantine", "released"))) for day in self._days(draw.choice((0, 0, 3)), known)),
            revised_from=draw.choice((None, None, None, None, self._day((known - START).days))),
        )

    def _support(self) -> SupportHistory:
        draw, known = self.random, self._day()
        decisions = [Event(known, "grant"), *(Event(day, draw.choice(("revoke", "reinstate"))) for day in self._days(draw.choice((0, 2)), known))]
        return SupportHistory(known, tuple(decisions), draw.choice(list(self.evidence.values())))

    def _relationship(self, owner_profile_id: UUID, group: str) -> RelationshipHistory:
        draw = self.random
        first = self._day()
        days = [first, *self._days(3, first)]
        bounds = [draw.choice((None, None, self._day())) for _ in range(2)]
        if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]
            bounds.reverse()
        transitions = [
            Transition(
                version, day, draw.choice(STATUSES), draw.choice(REASONS), bounds[1] if version == len(days) else draw.choice((None, bounds[1]))
            )
            for version, day in enumerate(days, start=1)
        ]
        supports = {id(item.evidence): item for item in (self._support() for _ in range(draw.choice((0, 1, 2, 3, 3))))}
        return RelationshipHistory(
            relationship_id=self.new_id(),
            semantic_group_key=group,
            owner_profile_id=owner_profile_id,
            owner_active=True,
            known_from=first,
            valid_from=bounds[0],
            valid_to=bounds[1],
            status=transitions[-1].to_status,
            support_count=draw.choice((0, 1, 2, 3)),
            transitions=tuple(transitions),
            supports=tuple(supports.values()),
            is_alias=draw.random() < 0.1,
            is_corrected=draw.random() < 0.2,
            suppressed_from=draw.choice((None, self._day())),
        )


def store(memory: Memory, holder: Holder, made: Histories) -> None:
    """The rows, cloned from one relationship that is there already; foreign keys and triggers are left aside."""
    with psycopg.connect(memory.database.admin_conninfo) as connection:
        connection.execute("set local session_replication_role = 'replica'")
        _Writer(connection, holder, made).write()


@dataclass(frozen=True)
class _Writer:
    connection: psycopg.Connection[Any]
    holder: Holder
    made: Histories

    def write(self) -> None:
        made = self.made
        self.clone("evidence", [self._evidence(number, item) for number, item in enumerate(made.evidence.values(), start=100)])
        self.clone(
            "evidence_source_revision",
            [
                {"revision_id": made.new_id(), "source_id": item.evidence_id, "revision_token": str(item.evidence_id),
                 "previous_revision_id": item.evidence_id, "known_from": item.revised_from}
                for item in made.evidence.values() if item.revised_from is not None
            ],
        )  # fmt: skip
        # Either of the two marks of an erasure, and both late.
        erased = [item.evidence_id for item in made.evidence.values() if item.is_erased]
        self.clone("evidence_exclusion", [{"evidence_id": key, "reason": "erased", "known_from": moment(DAYS)} for key in erased[::2]])
        self.events("evidence_lifecycle_event", "action", ((key, [Event(moment(DAYS), "erase")]) for key in erased[1::2]), "evidence_id")
        self.events("evidence_lifecycle_event", "action", ((item.evidence_id, item.ended) for item in made.evidence.values()), "evidence_id")
        self.events("evidence_security_event", "decision", ((item.evidence_id, item.security) for item in made.evidence.values()), "evidence_id")
        self.clone("relationship", [self._relationship(number, item) for number, item in enumerate(made.relationships.values())])
        changes = [(item.relationship_id, change) for item in made.relationships.values() for change in item.transitions]
        self.clone(
            "relationship_transition_event",
            [
                {"event_id": made.new_id(), "relationship_id": key, "version": change.version, "to_status": change.to_status,
                 "reason": change.reason, "valid_to": change.valid_to, "known_from": change.known_from}
                for key, change in changes
            ],
        )  # fmt: skip
        supports = [(made.new_id(), item.relationship_id, support) for item in made.relationships.values() for support in item.supports]
        self.clone(
            "relationship_support",
            [
                {"support_id": key, "relationship_id": relationship_id, "evidence_id": item.evidence.evidence_id, "known_from": item.known_from}
                for key, relationship_id, item in supports
            ],
        )  # fmt: skip
        self.events("support_decision_event", "decision", ((key, item.decisions) for key, _, item in supports), "support_id")

    def _evidence(self, number: int, item: EvidenceHistory) -> dict[str, Any]:
        content = self.made.texts[item.evidence_id]
        return {
            "evidence_id": item.evidence_id, "evidence_index": number, "content": content, "duplicate_sha256": None, "known_from": item.known_from,
            "content_sha256": "\\x" + hashlib.sha256(content.encode()).hexdigest(), "source_id": item.evidence_id, "revision_id": item.evidence_id,
        }  # fmt: skip

    def _relationship(self, number: int, item: RelationshipHistory) -> dict[str, Any]:
        other = self.made.new_id()
        return {
            "relationship_id": item.relationship_id, "semantic_group_key": item.semantic_group_key, "scope_key": f"{number}-{other}", "status": item.status,
            "support_count": item.support_count, "version": len(item.transitions), "valid_from": item.valid_from, "valid_to": item.valid_to,
            "known_from": item.known_from, "identity_alias_of": other if item.is_alias else None, "corrected_by": other if item.is_corrected else None,
            "suppressed_from": item.suppressed_from, "current_cardinality": "many",
        }  # fmt: skip

    def events(self, table: str, column: str, items: Iterable[tuple[UUID, Sequence[Event]]], key_column: str) -> None:
        rows = [
            {"event_id": self.made.new_id(), key_column: key, column: event.what, "known_from": event.known_from}
            for key, events in items
            for event in events
        ]
        if table in ("evidence_lifecycle_event", "evidence_security_event"):
            common = {"reason": "a test", "actor_profile_id": self.holder.profile_id, "event_kind": "reviewer_signal"}
            rows = [{**common, **row} for row in rows]
        self.clone(table, rows)

    def clone(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows like the first one of the team in the table, with the given columns."""
        if not rows:
            return
        place = self.connection.execute(
            "select team_id, space_epoch from commonlore.relationship where team_id = %s limit 1", [self.holder.team_id]
        ).fetchone()
        assert place is not None
        name = sql.Identifier("commonlore", table)
        base = self.connection.execute(
            sql.SQL("select to_jsonb(t) from {} t where t.team_id = %s limit 1").format(name), [self.holder.team_id]
        ).fetchone()
        given = {**(base[0] if base else {}), "team_id": place[0], "space_epoch": place[1]}
        text = msgspec.json.encode([{**given, **row} for row in rows]).decode()
        self.connection.execute(
            sql.SQL("insert into {} select * from jsonb_populate_recordset(null::{}, %s::text::jsonb)").format(name, name), [text]
        )
