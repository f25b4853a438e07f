"""Hypotheses as a write and a recall reach them: notes of what ended, and those that an answer touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.hypothesis.rules import Rule
from commonlore.domain.hypothesis.wording import Said
from commonlore.domain.recall.hypothesis import HypothesisRow, Touched
from commonlore.domain.tenancy.actor import Space

_SQL = statements("hypothesis")


async def note_changed(transaction: TeamTransaction, relationship_ids: Sequence[UUID], *, now: datetime) -> None:
    """End present hypotheses that a write of the relationships made untrue or needless. The caller holds the ledger lock of the space."""
    await transaction.execute(_SQL["note_changed"], relationship_ids=list(relationship_ids), now=now)


async def touched_hypotheses(transaction: TeamTransaction, space: Space, touched: Touched, *, most: int) -> list[HypothesisRow] | None:
    """Hypotheses of one space that the answer touches, the nearest first; None where they could not be read, with the transaction as it was."""
    connection = transaction.connection
    try:
        async with connection.pipeline():
            await connection.execute("savepoint hypotheses")
            await transaction.enter(space.space_id)
            cursor = await transaction.execute(
                _SQL["lane"],
                group_keys=list(touched.group_keys),
                relationship_ids=list(touched.relationship_ids),
                entity_ids=list(touched.entity_ids),
                terms=list(touched.terms),
                most=most,
            )
            return [_touched(row) for row in await cursor.fetchall()]
    except psycopg.Error as error:
        if connection.closed or error.sqlstate == "57014":
            raise
        await connection.execute("rollback to savepoint hypotheses")
        transaction.forget_space()
        return None


def _touched(row: Mapping[str, Any]) -> HypothesisRow:
    return hypothesis_row(row, nearness=(row["class"], row["place"]))


def hypothesis_row(row: Mapping[str, Any], *, nearness: tuple[int, int] = (0, 0), sources: Sequence[tuple[str, str]] | None = None) -> HypothesisRow:
    """A row of `lane` or `page`, or one of `detail` with its sources given: ids of relationships and of the texts that they were read in."""
    found = row["sources"] if sources is None else sources
    return HypothesisRow(
        nearness=nearness,
        hypothesis_id=row["hypothesis_id"],
        subject_entity_id=row["subject_entity_id"],
        predicate_key=row["predicate_key"],
        object_entity_id=row["object_entity_id"],
        said=Said(row["subject_name"], row["predicate_key"], row["object_name"], row["scope_key"]),
        status=row["status"],
        likelihood=row["likelihood"],
        confidence=row["confidence"],
        relationship_ids=tuple(UUID(key) for key, _ in found or ()),
        evidence_ids=tuple(dict.fromkeys(UUID(key) for _, key in found or ())),
        generator_version=row["generator_version"],
        known_from=row["known_from"],
        updated_at=row["updated_at"],
    )


def own_rules(rows: Sequence[Mapping[str, Any]]) -> dict[Rule, bool]:
    """What a space changes of the rules: whether each that it names is to count."""
    return {Rule(row["rule_kind"], row["first_key"], row["second_key"], row["conclusion_key"]): row["enabled"] for row in rows}
