"""Hypotheses in a memory under test: switched on, looked for as the worker role, listed and decided."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.hypothesis_views import switch
from commonlore.db.session import team_transaction
from commonlore.domain.hypothesis.policy import HypothesisPolicy
from commonlore.domain.hypothesis.request import GetDreamRequest, ListDreamsRequest, ResolveDreamRequest
from commonlore.domain.hypothesis.rules import RuleBook, RuleKind, rules_of
from commonlore.domain.hypothesis.source import HypothesisSource, Premise
from commonlore.domain.ledger.predicate import Predicate
from commonlore.workers.propose_hypotheses import run_proposal
from tests.support.communities import as_worker, space_of
from tests.support.memory import Holder, Memory

WORDS = ("works_on", "uses", "part_of", "contains", "works_with", "lives_in", "located_in", "primary_database")


def a_book(*words: str, single: tuple[str, ...] = (), **more: Predicate) -> RuleBook:
    """The rules that come with the service over predicates that are all registered."""
    registered = {word: Predicate(word, current_cardinality="one" if word in single else "many") for word in words or WORDS}
    return RuleBook.of(rules_of({}), {**registered, **more})


def entity(number: int) -> UUID:
    return UUID(int=1000 + number)


def a_premise(number: int, subject: int, predicate: str, target: int | None, polarity: str = "+", **fields: Any) -> Premise:
    return Premise(
        UUID(int=number), 1, f"sg:{number}", entity(subject), predicate, None if target is None else entity(target), polarity,
        fields.pop("scope", None), fields.pop("groups", 1), fields.pop("lasting", True),
    )  # fmt: skip


def a_source(*premises: Premise, **fields: Any) -> HypothesisSource:
    return HypothesisSource.of(premises, fields.pop("kinds", {}), **fields)


def a_rule(kind: RuleKind, **keys: str) -> dict[str, str]:
    return {"kind": kind, **keys}


async def dreaming(memory: Memory, holder: Holder, kind: str = "team_shared", *, enabled: bool | None = True, outputs: int | None = None) -> None:
    """Hypotheses of a space on or off."""
    space_id, epoch = space_of(memory, holder, kind)
    async with team_transaction(memory.adapters.pool, holder.team_id, timeout_ms=10_000) as transaction:
        transaction.epochs = {space_id: epoch}
        await transaction.enter(space_id)
        await switch(transaction, enabled=enabled, outputs=outputs, now=memory.clock())


async def dream(memory: Memory, holder: Holder, kind: str = "team_shared", *, policy: HypothesisPolicy | None = None) -> str | None:
    """One run; how it ended."""
    space_id, _ = space_of(memory, holder, kind)
    async with as_worker(memory) as adapters:
        return await run_proposal(adapters, team_id=holder.team_id, space_id=space_id, policy=policy)


async def dreams(memory: Memory, holder: Holder, **request: Any) -> list[dict[str, Any]]:
    """The first page of the list."""
    decoded = msgspec.convert(request, ListDreamsRequest)
    answer: Any = await memory.operations.list_dreams(holder.key, decoded, correlation_id="test")
    found: list[dict[str, Any]] = answer["dreams"]
    return found


async def detail(memory: Memory, holder: Holder, hypothesis_id: str) -> dict[str, Any]:
    decoded = msgspec.convert({"hypothesis_id": hypothesis_id}, GetDreamRequest)
    return await memory.operations.get_dream(holder.key, decoded, correlation_id="test")


async def resolve(memory: Memory, holder: Holder, hypothesis_id: str, decision: str, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert({"hypothesis_id": hypothesis_id, "decision": decision, **request}, ResolveDreamRequest)
    return await memory.operations.resolve_dream_feedback(holder.key, decoded, correlation_id="test")


def said(answer: dict[str, Any]) -> list[str]:
    """The statements of the hypotheses of a recall."""
    return [item["statement"] for item in answer["related_hypotheses"]]
