"""Texts and all that hangs on them, out of sight in one transaction.

What the texts alone support is settled as after a retraction, so that documents, communities, hypotheses and cases follow;
then every row that nothing else holds is marked. A marked row is invisible to the next statement already, so each step asks
what is left without it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.session import TeamTransaction
from commonlore.db.settlement import settle
from commonlore.db.sql import statements
from commonlore.domain.ids import new_id

_SQL = statements("erasure")
_SETTLEMENT = statements("settlement")
_SAMPLED = 40
_WORDS = re.compile(r"[^\"\\\x00-\x1f]{24,}")
_FRAGMENT = 48


@dataclass(frozen=True, slots=True)
class Doomed:
    """What an erasure begins with in one space; `relationships` go whatever supports them."""

    evidence: Sequence[UUID] = ()
    occurrences: Sequence[UUID] = ()
    relationships: Sequence[UUID] = ()
    entities: Sequence[UUID] = ()

    def __bool__(self) -> bool:
        return bool(self.evidence or self.occurrences or self.relationships or self.entities)


@dataclass(slots=True)
class Hiding:
    """One erasure in one open space, under its ledger lock, which gave `now`. `counts` and `ids` say what was hidden, by table."""

    transaction: TeamTransaction
    erasure_id: UUID
    actor_profile_id: UUID
    now: datetime
    counts: Counter[str] = field(default_factory=Counter)
    ids: set[UUID] = field(default_factory=set)
    had_communities: bool = False

    async def hide(self, doomed: Doomed) -> None:
        """Everything, in the order in which one thing holds another."""
        evidence = list(doomed.evidence)
        touched = set(await self._ids("relationships_of", "relationship_id", evidence_ids=evidence, subject="settlement")) | set(doomed.relationships)
        submissions = await self._ids("submissions_of", "submission_id", evidence_ids=evidence, occurrence_ids=list(doomed.occurrences))
        sources = await self._ids("source_ids_of", "source_id", evidence_ids=evidence)
        await sample_texts(self.transaction, self.erasure_id, evidence)
        await self._note(evidence)
        supports, observations = await self._hide_supports(evidence, doomed.relationships)
        await settle(self.transaction, relationship_ids=touched, cause="evidence_erased", actor_profile_id=self.actor_profile_id, now=self.now)
        bare = await self._rows(
            "bare_observations",
            observation_ids=observations,
            relationship_ids=list(doomed.relationships),
            submission_ids=submissions,
            evidence_ids=evidence,
        )
        await self._mark("relationship_observation", "observation_id", [row["observation_id"] for row in bare])
        touched |= {row["relationship_id"] for row in bare if row["relationship_id"]}
        gone = await self._rows("bare_relationships", relationship_ids=sorted(touched))
        relationships = [row["relationship_id"] for row in gone]
        await self._hide_relationships(relationships, touched)
        await self._hide_conflicts(evidence, relationships)
        await self._strike({*submissions, *(row["submission_id"] for row in bare)})
        await self._mark("evidence_occurrence", "occurrence_id", list(doomed.occurrences))
        await self.transaction.execute(_SQL["free_texts"], evidence_ids=evidence)
        await self._mark("evidence", "evidence_id", evidence)
        await self._hide_sources(sources)
        entities = await self._hide_names(evidence, gone, submissions, doomed.entities)
        found = await self._ids("hypotheses_of", "hypothesis_id", relationship_ids=relationships, support_ids=supports, entity_ids=entities)
        await self._mark("hypothesis", "hypothesis_id", found)
        quoting = await self._ids("summaries_of", "community_id", evidence_ids=evidence)
        await self._mark("delegated_summary", "community_id", quoting, as_item=False)
        # Marked rows name the erasure: by its own id the worker finds every one of them.
        await self.transaction.execute(_SQL["add_items"], erasure_id=self.erasure_id, item_ids=[self.erasure_id], item_kind="erasure")

    async def _rows(self, statement: str, *, subject: str = "erasure", **parameters: object) -> list[dict[str, Any]]:
        text = (_SQL if subject == "erasure" else _SETTLEMENT)[statement]
        return await (await self.transaction.execute(text, **parameters)).fetchall()

    async def _ids(self, statement: str, column: str, *, subject: str = "erasure", **parameters: object) -> list[UUID]:
        return [row[column] for row in await self._rows(statement, subject=subject, **parameters)]

    async def _mark(self, table: str, column: str, keys: Sequence[UUID], *, as_item: bool = True) -> None:
        """Hide rows, and note the ids that the worker deletes by."""
        if not keys:
            return
        if as_item:
            await self._add_items(table, keys)
        parameters = {"table_name": table, "key_column": column, "erasure_id": self.erasure_id, "keys": list(keys)}
        row = await (await self.transaction.execute(_SQL["hide_rows"], **parameters)).fetchone()
        assert row is not None
        self.counts[table] += row["row_count"]

    async def _add_items(self, kind: str, keys: Iterable[UUID]) -> None:
        ids = sorted(set(keys))
        self.ids.update(ids)
        await self.transaction.execute(_SQL["add_items"], erasure_id=self.erasure_id, item_ids=ids, item_kind=kind)

    async def _note(self, evidence: Sequence[UUID]) -> None:
        await self.transaction.execute(
            _SQL["note_erased"],
            event_ids=[new_id() for _ in evidence],
            evidence_ids=list(evidence),
            actor_profile_id=self.actor_profile_id,
            now=self.now,
        )
        await self.transaction.execute(_SQL["exclude_erased"], evidence_ids=list(evidence), now=self.now)

    async def _hide_supports(self, evidence: Sequence[UUID], relationships: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
        """The supports and the proposals that they came from."""
        rows = await self._rows("supports_of", evidence_ids=list(evidence), relationship_ids=list(relationships))
        supports = [row["support_id"] for row in rows]
        await self._mark("relationship_support", "support_id", supports)
        return supports, sorted({row["observation_id"] for row in rows})

    async def _hide_relationships(self, relationships: Sequence[UUID], touched: Collection[UUID]) -> None:
        """With what refers to them. A published snapshot that knows one of those touched is taken back."""
        row = await (await self.transaction.execute(_SQL["unpublish_communities"], relationship_ids=sorted(touched))).fetchone()
        self.had_communities = row is not None
        if not relationships:
            return
        references = await self._ids("references_of", "reference_id", relationship_ids=list(relationships))
        await self._mark("relationship_cross_reference", "reference_id", references)
        corrections = await self._ids("corrections_of", "submission_id", relationship_ids=list(relationships))
        await self.transaction.execute(_SQL["strike_answers"], submission_ids=corrections)
        await self._mark("relationship_correction", "submission_id", corrections, as_item=False)
        await self.transaction.execute(_SQL["free_identities"], relationship_ids=list(relationships))
        await self._mark("relationship", "relationship_id", relationships)

    async def _hide_conflicts(self, evidence: Sequence[UUID], relationships: Sequence[UUID]) -> None:
        """Members and quotes; sides that none is left of; cases that fewer than two sides are left of."""
        about: dict[str, Any] = {"evidence_ids": list(evidence), "relationship_ids": list(relationships)}
        cases = await self._ids("cases_of", "conflict_id", **about)
        if not cases:
            return
        members = await self._ids("members_of", "support_id", **about)
        quotes = await self._ids("quotes_of", "position_id", evidence_ids=list(evidence))
        await self._mark("conflict_member", "support_id", members)
        await self._mark("conflict_quote", "position_id", quotes)
        positions = await self._ids("bare_positions", "position_id", conflict_ids=cases)
        await self._mark("conflict_position", "position_id", positions)
        for column, keys in (("support_id", members), ("evidence_id", evidence), ("position_id", [*quotes, *positions])):
            await self._mark("conflict_event", column, keys, as_item=False)
        over = await self._ids("bare_cases", "conflict_id", conflict_ids=cases)
        await self.transaction.execute(_SQL["free_cases"], conflict_ids=over)
        for table in ("conflict_position", "conflict_member", "conflict_quote", "conflict_event"):
            await self._mark(table, "conflict_id", over, as_item=False)
        await self._mark("conflict_case", "conflict_id", over)

    async def _strike(self, submissions: Collection[UUID]) -> None:
        keys = await self._rows("predicates_of", submission_ids=sorted(submissions))
        words = [row["predicate_key"] for row in keys]
        await self.transaction.execute(_SQL["add_samples"], erasure_id=self.erasure_id, sample_kind="predicate", samples=words)
        await self.transaction.execute(_SQL["strike_answers"], submission_ids=sorted(submissions))
        self.counts["submission"] += len(submissions)

    async def _hide_sources(self, sources: Sequence[UUID]) -> None:
        """Noted only: a source that gets texts again before the worker comes stays."""
        found = await self._ids("sources_of", "source_id", source_ids=list(sources))
        if found:
            await self._add_items("evidence_source", found)
            self.counts["evidence_source"] += len(found)

    async def _hide_names(
        self, evidence: Sequence[UUID], gone: Sequence[dict[str, Any]], submissions: Sequence[UUID], wanted: Sequence[UUID]
    ) -> list[UUID]:
        """Entities, names and values that nothing is left of; the entities. Those wanted go in any case."""
        resolved = await self._rows("resolved_by", submission_ids=list(submissions))
        await self._add_items("entity_resolution_event", [row["event_id"] for row in resolved])
        ends = {row["subject_entity_id"] for row in gone} | {row["object_entity_id"] for row in gone} | {row["entity_id"] for row in resolved}
        entities = sorted({*await self._ids("bare_entities", "entity_id", entity_ids=sorted(ends - {None})), *wanted})
        values = await self._ids("bare_values", "value_id", value_ids=sorted({row["object_value_id"] for row in gone} - {None}))
        names = await self._ids("names_of", "entity_name_id", entity_ids=entities)
        learned = await self._ids("learned_names", "entity_name_id", evidence_ids=list(evidence))
        await self._mark("entity_name", "entity_name_id", sorted({*names, *learned}))
        await self.transaction.execute(_SQL["forget_places"], evidence_ids=list(evidence))
        await self._mark("entity", "entity_id", entities)
        await self.transaction.execute(_SQL["free_values"], value_ids=values)
        await self._mark("value_record", "value_id", values)
        return entities


async def sample_texts(transaction: TeamTransaction, erasure_id: UUID, evidence: Sequence[UUID] | None = None) -> None:
    """Words of the first texts by id, from their beginning and their middle, and the hashes of their content; for the search at the end.

    Of the given texts, or of all in the open epoch.
    """
    cursor = await transaction.execute(_SQL["read_texts"], evidence_ids=None if evidence is None else list(evidence), limit=_SAMPLED)
    rows = await cursor.fetchall()
    fragments = sorted({fragment for row in rows for fragment in fragments_of(row["content"])})
    for kind, samples in (("fragment", fragments), ("digest", sorted({row["digest"] for row in rows}))):
        await transaction.execute(_SQL["add_samples"], erasure_id=erasure_id, sample_kind=kind, samples=samples)


def fragments_of(text: str) -> list[str]:
    """At most two pieces of 24 to 48 characters that stand the same in every form in which a text is stored; a short text itself.

    Pieces hold no quotation mark, backslash or control character, which JSON writes otherwise.
    """
    runs = [match.group() for match in _WORDS.finditer(text)]
    if not runs:
        short = text.strip()
        return [short] if len(short) >= 8 and not re.search(r"[\"\\\x00-\x1f]", short) else []
    longest = max(runs, key=len)
    middle = max(0, len(longest) // 2 - _FRAGMENT // 2)
    return list(dict.fromkeys((runs[0][:_FRAGMENT].strip(), longest[middle : middle + _FRAGMENT].strip())))
