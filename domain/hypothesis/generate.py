"""From two statements to a third that nobody made: walk the rules, leave out what is known or was assessed, choose by coverage.

The same rows give the same hypotheses, in whatever order they come. Nothing here reads a text or asks a model.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from commonlore.domain.hypothesis.policy import VERSION, HypothesisPolicy, Likelihood
from commonlore.domain.hypothesis.rules import Rule, RuleBook
from commonlore.domain.hypothesis.source import HypothesisSource, Premise

Triple = tuple[UUID, str, UUID]


class Target(NamedTuple):
    """What a hypothesis says."""

    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID
    scope_key: str | None

    def sha256(self, book: RuleBook) -> bytes:
        """Equal for what says the same, from whichever end."""
        said = (str(self.subject_entity_id), self.predicate_key, str(self.object_entity_id))
        other = book.inverses.get(self.predicate_key)
        turned = said if other is None else (str(self.object_entity_id), other, str(self.subject_entity_id))
        return _sha256("target", *min(said, turned), self.scope_key or "")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A hypothesis before it has an id: what it says, by which rule, and its two premises in the order of the rule."""

    rule: Rule
    target: Target
    premises: tuple[Premise, Premise]
    middle: UUID
    likelihood: Likelihood
    tested: int
    closed: int
    target_sha256: bytes
    inverse_key: str | None
    is_single: bool
    predicate_version: int

    @property
    def content_sha256(self) -> bytes:
        """Equal for the same target from the same versions of the same premises."""
        return content_sha256(self.target_sha256, self.premises)

    @property
    def order(self) -> tuple[int, bytes]:
        """The most likely first: total, for a target has one proposal."""
        return -self.likelihood.likelihood, self.target_sha256


@dataclass(frozen=True, slots=True)
class Generated:
    """What a run found. Counts are of paths, and of the targets that they reach."""

    proposals: tuple[Proposal, ...]
    paths: int
    known: int
    assessed: int
    candidates: int


@dataclass(frozen=True, slots=True)
class _Edge:
    """first(start, end), by the premise that says so from either end."""

    start: UUID
    end: UUID
    premise: Premise


@dataclass(slots=True)
class _Walked:
    """The paths of one rule, by target the best pair of premises; and how the rule did where it could be tested."""

    best: dict[Target, tuple[Premise, Premise, UUID]] = field(default_factory=dict)
    tested: set[tuple[UUID, UUID]] = field(default_factory=set)
    closed: set[tuple[UUID, UUID]] = field(default_factory=set)


def content_sha256(target_sha256: bytes, premises: Iterable[Premise]) -> bytes:
    return _sha256("content", VERSION, target_sha256.hex(), *sorted(f"{item.relationship_id}:{item.version}" for item in premises))


def generate(source: HypothesisSource, book: RuleBook, policy: HypothesisPolicy, *, outputs: int) -> Generated:
    """At most `outputs` proposals. None says what a relationship of the space says or denies, in any scope, or what was assessed before."""
    facts = _Facts.of(source, book)
    counts = {"paths": 0, "known": 0, "assessed": 0}
    found: dict[bytes, Proposal] = {}
    for rule in book.paths:
        walked = _walk(rule, facts, source, book, policy, policy.most_paths - counts["paths"], counts)
        for target, (first, second, middle) in walked.best.items():
            if facts.is_known(target, book):
                counts["known"] += 1
                continue
            made = _proposal(rule, target, (first, second), middle, walked, book, policy)
            if {made.target_sha256, made.content_sha256} & source.assessed:
                counts["assessed"] += 1
            elif made.likelihood.likelihood >= policy.least_likelihood:
                before = found.get(made.target_sha256)
                if before is None or (made.order, made.rule) < (before.order, before.rule):
                    found[made.target_sha256] = made
    chosen = _choose(sorted(found.values(), key=lambda item: item.order), source.covered, outputs)
    return Generated(tuple(chosen), candidates=len(found), **counts)


def _proposal(
    rule: Rule, target: Target, premises: tuple[Premise, Premise], middle: UUID, walked: _Walked, book: RuleBook, policy: HypothesisPolicy
) -> Proposal:
    predicate, tested, closed = book.predicates[target.predicate_key], len(walked.tested), len(walked.closed)
    assert rule.kind != "inverse"
    groups = (premises[0].source_groups, premises[1].source_groups)
    return Proposal(
        rule=rule,
        target=target,
        premises=premises,
        middle=middle,
        likelihood=policy.likelihood(rule.kind, tested=tested, closed=closed, source_groups=groups),
        tested=tested,
        closed=closed,
        target_sha256=target.sha256(book),
        inverse_key=book.inverses.get(target.predicate_key),
        is_single=predicate.current_cardinality == "one",
        predicate_version=predicate.version,
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """`stated`: whatever is said, by either polarity and from either end. `held`: of whom a predicate is stated at all.

    `affirmed`: what is said to be so, `objects`: with how many objects, values included. `edges`: what lasts of it between
    entities, each once, by its best premise; by predicate, then by scope.
    """

    stated: frozenset[Triple]
    held: frozenset[tuple[UUID, str]]
    affirmed: frozenset[Triple]
    objects: Mapping[tuple[UUID, str], int]
    edges: Mapping[str, Mapping[str | None, Sequence[_Edge]]]

    @staticmethod
    def of(source: HypothesisSource, book: RuleBook) -> _Facts:
        stated: set[Triple] = set()
        held: set[tuple[UUID, str]] = set()
        affirmed: set[Triple] = set()
        values: set[Triple] = set()
        best: dict[tuple[str, UUID, UUID, str | None], Premise] = {}
        for premise in source.premises:
            held.add((premise.subject_entity_id, premise.predicate_key))
            if premise.object_entity_id is None and premise.polarity == "+":
                values.add((premise.subject_entity_id, premise.predicate_key, premise.relationship_id))
            for start, key, end in _said(premise, book):
                stated.add((start, key, end))
                held.add((start, key))
                if premise.polarity == "+":
                    affirmed.add((start, key, end))
                place = (key, start, end, premise.scope_key)
                if premise.polarity == "+" and premise.is_lasting and (place not in best or _strength(premise) < _strength(best[place])):
                    best[place] = premise
        edges: dict[str, dict[str | None, list[_Edge]]] = defaultdict(lambda: defaultdict(list))
        for key, start, end, scope in sorted(best, key=lambda place: (place[0], place[1], place[2], place[3] or "")):
            edges[key][scope].append(_Edge(start, end, best[key, start, end, scope]))
        objects = Counter((start, key) for start, key, _ in affirmed | values)
        return _Facts(frozenset(stated), frozenset(held), frozenset(affirmed), objects, edges)

    def is_known(self, target: Target, book: RuleBook) -> bool:
        """Said or denied already, or impossible beside what is said: the subject has its one object."""
        start, key, end, _ = target
        return (start, key, end) in self.stated or (book.predicates[key].current_cardinality == "one" and (start, key) in self.held)


def _said(premise: Premise, book: RuleBook) -> Iterator[Triple]:
    """A statement between entities, and the same from the other end where the registry has a word for it."""
    start, key, end = premise.subject_entity_id, premise.predicate_key, premise.object_entity_id
    if end is not None and end != start:
        yield start, key, end
        if key in book.inverses:
            yield end, book.inverses[key], start


def _strength(premise: Premise) -> tuple[int, UUID]:
    return -premise.source_groups, premise.relationship_id


def _walk(
    rule: Rule, facts: _Facts, source: HypothesisSource, book: RuleBook, policy: HypothesisPolicy, most: int, counts: dict[str, int]
) -> _Walked:
    walked = _Walked()
    left = most
    for scope in sorted(facts.edges.get(rule.first, {}), key=lambda name: name or ""):
        for first, second, start, middle, end in _paths(rule, facts, scope, source, policy):
            if left == 0:
                return walked
            left, counts["paths"] = left - 1, counts["paths"] + 1
            if book.is_symmetric(rule.conclusion) and end < start:
                start, end, first, second = end, start, second, first
            _note_test(walked, rule, facts, start, middle, end)
            target = Target(start, rule.conclusion, end, scope)
            if _suits(target, source, book):
                before = walked.best.get(target)
                if before is None or _weakest(first, second) < _weakest(before[0], before[1]):
                    walked.best[target] = first, second, middle
    return walked


def _note_test(walked: _Walked, rule: Rule, facts: _Facts, start: UUID, middle: UUID, end: UUID) -> None:
    """The pair can be looked at where the start has an object of the conclusion besides the middle, which the path itself may give it."""
    others = facts.objects.get((start, rule.conclusion), 0) - ((start, rule.conclusion, middle) in facts.affirmed)
    if others > 0:
        walked.tested.add((start, end))
        if (start, rule.conclusion, end) in facts.affirmed:
            walked.closed.add((start, end))


def _weakest(first: Premise, second: Premise) -> tuple[int, UUID, UUID]:
    """Less is better: the more sources the weaker premise has."""
    return -min(first.source_groups, second.source_groups), first.relationship_id, second.relationship_id


def _paths(
    rule: Rule, facts: _Facts, scope: str | None, source: HypothesisSource, policy: HypothesisPolicy
) -> Iterator[tuple[Premise, Premise, UUID, UUID, UUID]]:
    """Two premises in one scope with start, middle and end, three entities. Middles that few hypotheses name come first."""
    ending = _by(facts.edges[rule.first][scope], lambda edge: edge.end)
    if rule.kind == "shared_neighbour":
        leaving = {middle: [_Edge(edge.end, edge.start, edge.premise) for edge in edges] for middle, edges in ending.items()}
    else:
        leaving = _by(facts.edges.get(rule.second, {}).get(scope, ()), lambda edge: edge.start)

    def nearest(edges: Sequence[_Edge], of: Callable[[_Edge], UUID]) -> list[_Edge]:
        return sorted(edges, key=lambda edge: (source.covered.get(of(edge), 0), *_strength(edge.premise), of(edge)))[: policy.most_neighbours]

    for middle in sorted(ending.keys() & leaving.keys(), key=lambda entity: (source.covered.get(entity, 0), entity)):
        ends = nearest(leaving[middle], lambda edge: edge.end)
        for first in nearest(ending[middle], lambda edge: edge.start):
            for second in ends:
                if first.start == second.end or first.premise.relationship_id == second.premise.relationship_id:
                    continue
                if rule.kind == "shared_neighbour" and second.end < first.start:
                    continue  # the same two, met from the other side
                yield first.premise, second.premise, first.start, middle, second.end


def _by(edges: Iterable[_Edge], of: Callable[[_Edge], UUID]) -> dict[UUID, list[_Edge]]:
    found: dict[UUID, list[_Edge]] = defaultdict(list)
    for edge in edges:
        found[of(edge)].append(edge)
    return found


def _suits(target: Target, source: HypothesisSource, book: RuleBook) -> bool:
    """Whether the predicate takes entities of these kinds."""
    predicate = book.predicates[target.predicate_key]
    ends = ((predicate.subject_kinds, target.subject_entity_id), (predicate.object_kinds, target.object_entity_id))
    return all(not kinds or source.kinds.get(entity) in kinds for kinds, entity in ends)


def _choose(candidates: Sequence[Proposal], covered: Mapping[UUID, int], outputs: int) -> list[Proposal]:
    """In rounds: each takes, the most likely first, what names no entity that was named more often than the round allows.

    So what few hypotheses name comes before another one of what many name, in this run and over runs.
    """
    named, chosen, waiting = dict(covered), list[Proposal](), list(candidates)

    def often(item: Proposal) -> int:
        return max(named.get(entity, 0) for entity in (item.target.subject_entity_id, item.middle, item.target.object_entity_id))

    while waiting and len(chosen) < outputs:
        allowed, others = min(map(often, waiting)), []
        for item in waiting:
            if len(chosen) < outputs and often(item) <= allowed:
                chosen.append(item)
                for entity in (item.target.subject_entity_id, item.middle, item.target.object_entity_id):
                    named[entity] = named.get(entity, 0) + 1
            else:
                others.append(item)
        waiting = others
    return chosen


def _sha256(*slots: str) -> bytes:
    return hashlib.sha256("\0".join(slots).encode("utf-8")).digest()
