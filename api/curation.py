"""Entities and predicates as an administrator corrects them: the same work for a key over REST and for whoever holds the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db import identity, vocabulary
from commonlore.db.identity import Act
from commonlore.db.session import TeamTransaction
from commonlore.domain.correct.candidates import Candidate, CurrentName, merge_candidates
from commonlore.domain.correct.identity_request import (
    ListCandidatesRequest,
    MergeEntitiesRequest,
    NameEntityRequest,
    ReverseCorrectionRequest,
    SplitEntityRequest,
)
from commonlore.domain.correct.vocabulary import DefinePredicateRequest, ListPredicatesRequest
from commonlore.domain.errors import Incorrect, invalid
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.submission import Claim, answer_once, request_sha256

_MOST_NAMES = 200_000
IdentityWrite = MergeEntitiesRequest | SplitEntityRequest | ReverseCorrectionRequest | NameEntityRequest


async def merge(act: Act, request: MergeEntitiesRequest) -> dict[str, Any]:
    def work() -> Awaitable[dict[str, Any]]:
        return identity.merge(act, request.from_entity_id, request.to_entity_id, apply=request.apply)

    return await _once(act, "merge_entities", request, work) if request.apply else _built(await work())


async def split(act: Act, request: SplitEntityRequest) -> dict[str, Any]:
    ids = list(dict.fromkeys(request.relationship_ids))

    def work() -> Awaitable[dict[str, Any]]:
        return identity.split(act, request.entity_id, ids, name=request.name, entity_kind=request.entity_kind, apply=request.apply)

    return await _once(act, "split_entity", request, work) if request.apply else _built(await work())


async def reverse(act: Act, request: ReverseCorrectionRequest) -> dict[str, Any]:
    return await _once(act, "reverse_entity_correction", request, lambda: identity.reverse(act, request.correction_id))


async def rename(act: Act, request: NameEntityRequest) -> dict[str, Any]:
    return await _once(act, "rename_entity", request, lambda: identity.rename(act, request.entity_id, request.name))


async def add_alias(act: Act, request: NameEntityRequest) -> dict[str, Any]:
    return await _once(act, "add_entity_alias", request, lambda: identity.add_alias(act, request.entity_id, request.name))


async def _once(act: Act, kind: str, request: IdentityWrite, work: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    claim = Claim(new_id(), kind, request.idempotency_key, request_sha256(kind, request), act.now)
    answer = await answer_once(act.submissions, claim, work)
    replayed: dict[str, Any] = msgspec.json.decode(answer) if isinstance(answer, str) else _built(answer)
    return replayed


async def candidates(transaction: TeamTransaction, request: ListCandidatesRequest) -> dict[str, Any]:
    """One page of pairs. A cursor is the last pair shown, so what comes or goes meanwhile moves nothing else."""
    rows = await identity.current_names(transaction, None, most=_MOST_NAMES + 1)
    names = [
        CurrentName(row["entity_id"], row["entity_kind"], row["name"], row["name_key"], row["name_kind"] == "canonical") for row in rows[:_MOST_NAMES]
    ]
    after = _place(request.cursor) if request.cursor else None
    found = [candidate for candidate in merge_candidates(names) if after is None or candidate.place > after]
    page = found[: request.limit]
    cursor = f"{page[-1].first.entity_id.hex}{page[-1].second.entity_id.hex}" if len(found) > len(page) else None
    return _built({"candidates": [_candidate(item) for item in page], "next_cursor": cursor, "bounded": len(rows) > _MOST_NAMES})


async def list_predicates(transaction: TeamTransaction, request: ListPredicatesRequest) -> dict[str, Any]:
    found, after = await vocabulary.list_predicates(transaction, after_key=request.after_key, limit=request.limit)
    return {"predicates": [_predicate(item) for item in found], "next_after_key": after}


async def define_predicate(act: Act, request: DefinePredicateRequest) -> dict[str, Any]:
    made, several = await vocabulary.define_predicate(act.transaction, request, actor_profile_id=act.actor_profile_id, now=act.now)
    return _built({"predicate": _predicate(made), "several_current": several})


def _place(cursor: str) -> tuple[UUID, UUID]:
    try:
        return UUID(cursor[:32]), UUID(cursor[32:])
    except ValueError as error:
        raise _not_ours() from error


def _not_ours() -> Incorrect:
    return invalid("/cursor", "expected a next_cursor from an answer for the same list")


def _candidate(item: Candidate) -> dict[str, Any]:
    ends = [{"entity_id": end.entity_id, "entity_kind": end.entity_kind, "name": end.name} for end in (item.first, item.second)]
    return {"rule": item.rule, "entities": ends}


def _predicate(item: Predicate) -> dict[str, Any]:
    return {
        "key": item.key,
        "version": item.version,
        "aliases": list(item.aliases),
        "subject_kinds": list(item.subject_kinds),
        "object_kinds": list(item.object_kinds),
        "relationship_kind": item.relationship_kind,
        "current_cardinality": item.current_cardinality,
        "lifecycle_state": item.lifecycle_state,
    }


def _built(answer: dict[str, Any]) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(answer)
    return built
