"""A memory of a few rows in Python that a recall can be made from: two spaces, planned orders, and every row known to the test."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any, Literal
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.lexical import LexicalStatistics
from commonlore.domain.recall.plan import QueryVector, RecallIntent, SpaceStatistics
from commonlore.domain.recall.record import Recorder
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import EntityRef, EvidenceRow, PartText, RecallResult, RelationshipRow, SupportPath
from commonlore.domain.recall.service import recall
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, KnownCoverage, RelationshipBranches
from commonlore.domain.tenancy.actor import Actor, Space
from tests.support.memory import START, an_evidence_row

SPACES = (Space(UUID(int=1), "credential_private"), Space(UUID(int=2), "team_shared"))


@dataclass(frozen=True)
class Text:
    """`content` numbers its words: equal numbers are equal texts. `paths` are places of relationships that it supports."""

    place: int
    space: int
    content: int
    withdrawn: bool
    paths: tuple[int, ...]

    @property
    def id(self) -> UUID:
        return UUID(int=1000 + self.place)


@dataclass(frozen=True)
class Claim:
    """One author's relationship. One that is not eligible is found by a search and counts nowhere."""

    place: int
    space: int
    meaning: int
    age: int
    eligible: bool

    @property
    def id(self) -> UUID:
        return UUID(int=2000 + self.place)

    @property
    def group(self) -> str:
        return f"sg:{self.space}:{self.meaning}"


@dataclass(frozen=True)
class World:
    """Rows, and in which order each branch finds them; the lexical branches find the first so many."""

    texts: tuple[Text, ...]
    claims: tuple[Claim, ...]
    orders: tuple[tuple[int, ...], ...]  # texts by words, texts by meaning, claims by words, claims by meaning
    found_by_words: int
    reverse: bool = False  # rows come from hydration in the other order

    def admissible(self) -> set[tuple[int, int]]:
        """(space, content) of every text that may be a result."""
        return {(text.space, text.content) for text in self.texts if self.is_admissible(text)}

    def is_admissible(self, text: Text) -> bool:
        return not text.withdrawn and (not text.paths or any(self.claims[place].eligible for place in text.paths))

    def groups_of(self, evidence_id: UUID) -> set[str]:
        """The groups that a text's active paths say."""
        return {self.claims[place].group for text in self.texts if text.id == evidence_id for place in text.paths if self.claims[place].eligible}

    def eligible_groups(self) -> set[str]:
        return {claim.group for claim in self.claims if claim.eligible}

    def group_of(self, relationship_id: UUID) -> str:
        return next(claim.group for claim in self.claims if claim.id == relationship_id)


@dataclass
class ModelSnapshot:
    """`RecallSnapshot` over a world."""

    world: World
    actor: Actor = field(
        default_factory=lambda: Actor(UUID(int=7), UUID(int=8), UUID(int=9), frozenset(["read"]), SPACES)  # type: ignore[list-item]
    )
    lost_spaces: set[UUID] = field(default_factory=set)

    async def read_statistics(self, intent: RecallIntent) -> list[tuple[Space, SpaceStatistics]]:
        counted = LexicalStatistics(100, 1000, dict.fromkeys(intent.terms, 3))
        return [(space, SpaceStatistics(counted, counted, "current", 1, "current", "model", texts=100)) for space in SPACES]

    async def read_histories(self, *_: object, **__: object) -> list[Any]:
        return []

    async def fetch(self, plan: Any, vector: Awaitable[QueryVector], *, depth: int, **_: object) -> dict[UUID, Fetched]:
        await vector
        return {space.space_id: self._fetched(number, plan.intent, depth) for number, space in enumerate(SPACES)}

    def _fetched(self, space: int, intent: RecallIntent, depth: int) -> Fetched:
        world = self.world
        texts = [
            [BranchHit(world.texts[place].id, 0, 1.0 / rank) for rank, place in enumerate(order, start=1) if world.texts[place].space == space]
            for order in (world.orders[0][: world.found_by_words], world.orders[1])
        ]
        known = [[hit for hit in branch if hit.evidence_id not in intent.known_evidence_ids] for branch in texts]
        claims = [
            [
                RelationshipHit(claim.id, claim.group, START + timedelta(days=claim.age))
                for claim in (world.claims[place] for place in order)
                if claim.space == space and claim.eligible
            ]
            for order in (world.orders[2][: world.found_by_words], world.orders[3])
        ]
        return Fetched(
            EvidenceBranches(known[0][:depth], known[1][:depth], full=max(map(len, known)) >= depth),
            RelationshipBranches(claims[0][:depth], claims[1][:depth], full=max(map(len, claims)) >= depth),
        )

    async def hydrate_evidence(
        self, intent: RecallIntent, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]], **_: object
    ) -> dict[UUID, EvidenceRow]:
        ids = {key for hits in wanted.values() for key in hits}
        rows = [(text.id, self._row(text)) for text in self.world.texts if text.id in ids]
        return dict(rows[::-1] if self.world.reverse else rows)

    def _row(self, text: Text) -> EvidenceRow:
        paths = [SupportPath(claim.id, claim.group, claim.eligible) for claim in (self.world.claims[place] for place in text.paths)]
        return an_evidence_row(
            evidence_id=text.id,
            content_sha256=text.content.to_bytes(32, "big"),
            parts=(PartText(0, f"text {text.content}"),),
            withdrawn="retracted" if text.withdrawn else None,
            paths=tuple(paths[::-1] if self.world.reverse else paths),
        )

    async def read_known(self, intent: RecallIntent, spaces: Sequence[Space]) -> KnownCoverage:
        by_text = {group for key in intent.known_evidence_ids for group in self.world.groups_of(key)}
        return KnownCoverage(frozenset(by_text | {claim.group for claim in self.world.claims if claim.id in intent.known_relationship_ids}))

    async def read_conflicts(self, *_: Any, **__: Any) -> list[Any]:
        return []

    async def hydrate_groups(self, intent: RecallIntent, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        groups: dict[str, list[RelationshipRow]] = {}
        names = {group for keys in wanted.values() for group in keys}
        for claim in sorted(self.world.claims, key=lambda claim: (claim.age, claim.place)):
            if claim.group in names and claim.eligible:
                groups.setdefault(claim.group, []).append(_claim_row(claim))
        return dict(list(groups.items())[::-1]) if self.world.reverse else groups


def _claim_row(claim: Claim) -> RelationshipRow:
    end = EntityRef(entity_id=UUID(int=3000 + claim.meaning), name="n")
    return RelationshipRow(
        relationship_id=claim.id,
        semantic_group_key=claim.group,
        known_from=START + timedelta(days=claim.age),
        subject=end,
        predicate="p",
        object=end,
        polarity="+",
        scope=None,
        valid_from=None,
        valid_to=None,
        evidence_ids=(),
        search_state="current",
    )


def ask(
    world: World, *, contract: Literal["rrf-1", "zscore-1", "zscore-2"] = "zscore-2", fusion: str = "spaces-rrf-1", depth: int = 2, **fields: Any
) -> RecallResult:
    """One recall of a world. The depth is small, so that lanes must look deeper."""

    request = msgspec.convert({"query": "words", **fields}, RecallRequest)
    policy = replace(RankingPolicy(), evidence_contract=contract, space_fusion=fusion, depth_rows=depth)
    work = recall(request, snapshot=ModelSnapshot(world), vector=_NoVector(), policy=policy, recall_id="rec_test", record=Recorder(time.perf_counter))
    try:
        work.send(None)  # nothing here waits for anything, so no loop is needed
    except StopIteration as ended:
        answer: RecallResult = ended.value
        return answer
    raise AssertionError("a recall of a world waits for something")


class _NoVector(Awaitable[QueryVector]):
    """A query vector that is there at once, and is none."""

    def __await__(self) -> Generator[None, None, QueryVector]:
        return QueryVector(None, "model")
        yield


def a_world(texts: int, claims: int, seed: int) -> World:
    """So many texts and claims; all else follows from the seed, since drawing each choice would take longer than the recalls."""
    chance = Random(seed)
    made = tuple(Claim(place, chance.randrange(2), chance.randrange(5), chance.randrange(4), chance.random() < 0.75) for place in range(claims))
    told = []
    for place in range(texts):
        space = chance.randrange(2)
        own = [claim.place for claim in made if claim.space == space]
        paths = chance.sample(own, min(len(own), chance.randrange(3)))
        told.append(Text(place, space, chance.randrange(10), chance.random() < 0.25, tuple(paths)))
    orders = tuple(tuple(chance.sample(range(size), size)) for size in (texts, texts, claims, claims))
    return World(tuple(told), made, orders, chance.randrange(13))


def worlds() -> st.SearchStrategy[World]:
    """Up to ten claims of five meanings and up to twelve texts, some withdrawn, some equal, some that claim nothing."""
    return st.builds(a_world, st.integers(0, 12), st.integers(0, 10), st.integers(0, 2**32))
