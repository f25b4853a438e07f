"""What briefs are about, read where it stands: one `BriefSource` a kind, each with its pages and its single subject.

A kind is added by a source here and its verdicts in `delegation_verdicts`; `SOURCES` has one for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol
from uuid import UUID

import msgspec

from commonlore.db.conflict_views import read_cases
from commonlore.db.delegation import DelegationSession
from commonlore.db.delegation_sessions import IngestedSessions
from commonlore.db.hypothesis_views import read_detail
from commonlore.db.identity import current_names
from commonlore.db.sql import statements
from commonlore.domain.conflict.view import CaseRow, show_whole
from commonlore.domain.correct.amend import Source
from commonlore.domain.correct.candidates import Candidate, CurrentName, merge_candidates
from commonlore.domain.delegation.brief import MOST_TEXTS, SHOWN_CHARS, BriefKey, BriefText, Listed, Subject, statement_line
from commonlore.domain.delegation.kind import Kind
from commonlore.domain.errors import NotVisible
from commonlore.domain.hypothesis.feedback import LIVE
from commonlore.domain.text.analyse import terms
from commonlore.domain.time import TemporalView

_SQL = statements("delegation_subject")
_CORRECT = statements("correct")
_FIRST = UUID(int=0)
_PRESENT = TemporalView()
# Texts beyond those that were cited, and texts of each of two entities.
_MOST_FOUND = 10
_MOST_OF_ENTITY = 5
_MOST_STATEMENTS = 20
_MOST_NAMES = 200_000


class BriefSource(Protocol):
    """The subjects of one kind in the open space."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        """At most `most` after a place in the list, in the kind's own order; also those that were decided."""
        ...

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        """The subject, if it stands at the version of the key and still asks the question."""
        ...


class PendingRelationships:
    """`verify_relationship`: what waits for evidence, with the texts that were cited for it and others that name both ends."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        rows = await (await session.transaction.execute(_SQL["pending_page"], after=_id(after), most=most)).fetchall()
        return [
            Listed(
                BriefKey("verify_relationship", (row["relationship_id"],), row["version"]),
                statement_line(row["subject_name"], row["predicate_key"], row["object_name"], row["polarity"]),
                str(row["relationship_id"]),
            )
            for row in rows
        ]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        [relationship_id] = key.ids
        if await (await session.transaction.execute(_CORRECT["has_relationship"], relationship_id=relationship_id)).fetchone() is None:
            return None
        source = await session.read_source(relationship_id)
        item = source.relationship
        if item.status != "pending_evidence" or item.version != key.version:
            return None
        names = await names_of(session, source)
        wanted = {row["evidence_id"]: 0 for row in await self._cited(session, relationship_id)}
        for row in await naming_texts(session, list(names.values())):
            wanted.setdefault(row["evidence_id"], row["start"])
        target = source.target.canonical_name if source.target else source.value.display if source.value else ""
        title = statement_line(source.subject.canonical_name, item.statement.predicate_key, target, item.statement.polarity)
        texts, omitted = await _texts(session, wanted)
        return Subject(key, title, _facts(source, names, session.actor.profile_id), texts, omitted)

    async def _cited(self, session: DelegationSession, relationship_id: UUID) -> list[dict[str, Any]]:
        cursor = await session.transaction.execute(_SQL["cited_texts"], relationship_id=relationship_id, most=MOST_TEXTS + 1)
        return await cursor.fetchall()


class OpenConflicts:
    """`assess_conflict`: cases that nobody decided, with the texts of their positions."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        rows = await (await session.transaction.execute(_SQL["open_cases"], after=_id(after), most=most)).fetchall()
        return [Listed(BriefKey("assess_conflict", (row["conflict_id"],), row["version"]), row["question"], str(row["conflict_id"])) for row in rows]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        found = await read_cases(session.transaction, _PRESENT, {session.space: list(key.ids)})
        if not found:
            return None
        row = found[0][1]
        shown = show_whole(row, session.space)
        if shown.status not in ("open", "overdue") or shown.version != key.version:
            return None
        texts, omitted = await _texts(session, _places_of_case(row))
        return Subject(key, row.question, msgspec.to_builtins(shown), texts, omitted)


class MergeCandidates:
    """`merge_entities`: pairs of entities whose names say that they may be one, with texts about each."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        place = _pair(after)
        found = [item for item in await self._candidates(session, None) if item.place > place]
        return [
            Listed(BriefKey("merge_entities", item.place, 0), f"{item.first.name} and {item.second.name}", "+".join(map(str, item.place)))
            for item in found[:most]
        ]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        found = next((item for item in await self._candidates(session, key.ids) if item.place == key.ids), None)
        if found is None:
            return None
        wanted: dict[UUID, int] = {}
        for entity_id in key.ids:
            rows = await (await session.transaction.execute(_SQL["entity_texts"], entity_id=entity_id, most=_MOST_OF_ENTITY)).fetchall()
            for row in rows:
                wanted.setdefault(row["evidence_id"], row["start"])
        texts, omitted = await _texts(session, wanted)
        ends = [{"entity_id": str(end.entity_id), "name": end.name, "entity_kind": end.entity_kind} for end in (found.first, found.second)]
        return Subject(key, f"{found.first.name} and {found.second.name}", {"rule": found.rule, "entities": ends}, texts, omitted)

    async def _candidates(self, session: DelegationSession, ids: Sequence[UUID] | None) -> list[Candidate]:
        if ids is None:
            rows = await current_names(session.transaction, None, most=_MOST_NAMES)
        else:
            rows = [row for key in ids for row in await current_names(session.transaction, key)]
        names = [CurrentName(row["entity_id"], row["entity_kind"], row["name"], row["name_key"], row["name_kind"] == "canonical") for row in rows]
        return merge_candidates(names)


class PublishedCommunities:
    """`summarise_community`: communities of the published snapshot, with their most central statements and a text of each."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        return [self._listed(row) for row in await self._rows(session, int(after or 0), None, most)]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        rows = await self._rows(session, 0, key.ids[0], 1)
        if not rows or key.version != 0:
            return None
        cursor = await session.transaction.execute(_SQL["community_statements"], community_id=key.ids[0], most=_MOST_STATEMENTS)
        statements_ = await cursor.fetchall()
        wanted: dict[UUID, int] = {}
        for row in statements_:
            wanted.setdefault(row["evidence_id"], row["start"])
        texts, omitted = await _texts(session, wanted)
        lines = [statement_line(row["subject_name"], row["predicate_key"], row["object_name"], row["polarity"]) for row in statements_]
        facts = {"community_id": str(key.ids[0]), "predicates": rows[0]["top_predicates"], "statements": lines}
        return Subject(key, self._listed(rows[0]).title, facts, texts, omitted)

    async def _rows(self, session: DelegationSession, after: int, community_id: UUID | None, most: int) -> list[dict[str, Any]]:
        cursor = await session.transaction.execute(_SQL["community_page"], after=after, community_id=community_id, most=most)
        return await cursor.fetchall()

    def _listed(self, row: Mapping[str, Any]) -> Listed:
        key = BriefKey("summarise_community", (row["community_id"],), 0)
        return Listed(key, row["entities"] or ", ".join(row["top_predicates"]), str(row["community_no"]))


class LiveHypotheses:
    """`judge_hypothesis`: what two premises suggest, with their texts and others that name both ends."""

    async def page(self, session: DelegationSession, after: str | None, most: int) -> list[Listed]:
        rows = await (await session.transaction.execute(_SQL["hypothesis_page"], after=_id(after), most=most)).fetchall()
        return [
            Listed(
                BriefKey("judge_hypothesis", (row["hypothesis_id"],), row["version"]),
                statement_line(row["subject_name"], row["predicate_key"], row["object_name"], "+"),
                str(row["hypothesis_id"]),
            )
            for row in rows
        ]

    async def read(self, session: DelegationSession, key: BriefKey) -> Subject | None:
        try:
            found = await read_detail(session.transaction, [session.space], key.ids[0])
        except NotVisible:
            return None
        item = found.hypothesis
        if found.version != key.version or item.status not in LIVE:
            return None
        wanted = {premise.evidence_id: 0 for premise in found.derivations}
        state = await session.look_up(name_keys=(), entity_ids=[item.subject_entity_id, item.object_entity_id], predicate_keys=(), values=())
        for row in await naming_texts(session, [known.names for known in state.by_id.values()]):
            wanted.setdefault(row["evidence_id"], row["start"])
        texts, omitted = await _texts(session, wanted)
        shown = msgspec.to_builtins(found)
        facts = {name: shown[name] for name in ("hypothesis", "rationale", "derivations")}
        return Subject(key, item.statement, facts, texts, omitted)


SOURCES: Mapping[Kind, BriefSource] = MappingProxyType(
    {
        "verify_relationship": PendingRelationships(),
        "assess_conflict": OpenConflicts(),
        "merge_entities": MergeCandidates(),
        "summarise_community": PublishedCommunities(),
        "judge_hypothesis": LiveHypotheses(),
        "read_session": IngestedSessions(),
    }
)


async def names_of(session: DelegationSession, source: Source) -> dict[str, tuple[str, ...]]:
    """The names by which a text is found to speak of each end, canonical first."""
    ids = [end.entity_id for end in (source.subject, source.target) if end is not None]
    state = await session.look_up(name_keys=(), entity_ids=ids, predicate_keys=(), values=())
    known = {key: item.names for key, item in state.by_id.items()}
    target = known.get(source.target.entity_id, ()) if source.target else ()
    if source.value is not None:
        target = tuple(dict.fromkeys((source.value.display, source.value.canonical)))
    return {"subject": known.get(source.subject.entity_id, (source.subject.canonical_name,)), "object": target}


async def naming_texts(session: DelegationSession, names: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Texts that carry every word of the first name of each end."""
    wanted = sorted({term for side in names if side for term in terms(side[0])})
    if not wanted:
        return []
    return await (await session.transaction.execute(_SQL["naming_texts"], terms=wanted, most=_MOST_FOUND)).fetchall()


def _facts(source: Source, names: Mapping[str, Sequence[str]], profile_id: UUID) -> dict[str, Any]:
    item, statement = source.relationship, source.relationship.statement
    target: dict[str, Any] = {"names": list(names["object"])}
    if source.target is not None:
        target |= {"entity_id": source.target.entity_id, "entity_kind": source.target.entity_kind}
    elif source.value is not None:
        target |= {"type": source.value.value_type, "value": source.value.canonical, "unit": source.value.unit}
    facts = {
        "relationship_id": item.relationship_id,
        "relationship_version": item.version,
        "subject": {"entity_id": source.subject.entity_id, "entity_kind": source.subject.entity_kind, "names": list(names["subject"])},
        "predicate_key": statement.predicate_key,
        "object": target,
        "polarity": statement.polarity,
        "scope": statement.scope_key,
        "valid_from": statement.valid_from,
        "valid_to": item.valid_to,
        "owner_profile_id": source.owner_profile_id,
        "is_own": source.owner_profile_id == profile_id,
    }
    shown: dict[str, Any] = msgspec.to_builtins(facts)
    return shown


def _places_of_case(row: CaseRow) -> dict[UUID, int]:
    places: dict[UUID, int] = {item.evidence_id: max(0, item.span_start - SHOWN_CHARS // 4) for item in row.quotes or ()}
    for support in row.supports or ():
        places.setdefault(support.evidence_id, 0)
    return places


async def _texts(session: DelegationSession, wanted: Mapping[UUID, int]) -> tuple[list[BriefText], bool]:
    """The texts that may be cited now, each from its place on, and whether there were more than are shown."""
    first = list(wanted.items())[:MOST_TEXTS]
    cursor = await session.transaction.execute(
        _SQL["texts"], evidence_ids=[key for key, _ in first], starts=[start for _, start in first], chars=SHOWN_CHARS
    )
    return [BriefText(**row) for row in await cursor.fetchall()], len(wanted) > MOST_TEXTS


def _id(after: str | None) -> UUID:
    return UUID(after) if after else _FIRST


def _pair(after: str | None) -> tuple[UUID, UUID]:
    if not after:
        return _FIRST, _FIRST
    first, _, second = after.partition("+")
    return UUID(first), UUID(second)
