"""Which two statements suggest a third: the rules that come with the service, those of a space, and both read through its registry.

A rule names predicates. It counts in a space where all of them are registered and in use there, under the keys that the
registry gives them, so that no rule can bring a predicate that the team does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from commonlore.domain.ledger.predicate import Predicate, resolve

PathKind = Literal["transitive", "composition", "shared_neighbour"]
RuleKind = Literal["transitive", "composition", "shared_neighbour", "inverse"]


class Rule(NamedTuple):
    """
    transitive:        first(a, b) and first(b, c) suggest first(a, c); the three keys are one.
    composition:       first(a, b) and second(b, c) suggest conclusion(a, c).
    shared_neighbour:  first(a, b) and first(c, b) suggest conclusion(a, c), which says the same from both ends.
    inverse:           second(b, a) says what first(a, b) says; it suggests nothing by itself. Conclusion and second are one.
    """

    kind: RuleKind
    first: str
    second: str
    conclusion: str


def transitive(key: str) -> Rule:
    return Rule("transitive", key, key, key)


def composition(first: str, second: str, conclusion: str) -> Rule:
    return Rule("composition", first, second, conclusion)


def shared_neighbour(key: str, conclusion: str) -> Rule:
    return Rule("shared_neighbour", key, key, conclusion)


def inverse(key: str, other: str) -> Rule:
    return Rule("inverse", key, other, other)


SEED_RULES: tuple[Rule, ...] = (
    transitive("part_of"),
    transitive("located_in"),
    transitive("subclass_of"),
    transitive("ancestor_of"),
    composition("works_on", "uses", "uses"),
    composition("works_on", "primary_database", "uses"),
    composition("works_on", "part_of", "works_on"),
    composition("works_at", "part_of", "works_at"),
    composition("member_of", "part_of", "member_of"),
    composition("works_at", "located_in", "works_in"),
    composition("lives_in", "located_in", "lives_in"),
    composition("part_of", "located_in", "located_in"),
    composition("manages", "works_on", "responsible_for"),
    shared_neighbour("works_on", "works_with"),
    shared_neighbour("member_of", "works_with"),
    shared_neighbour("child_of", "sibling_of"),
    inverse("part_of", "contains"),
    inverse("located_in", "location_of"),
    inverse("member_of", "has_member"),
    inverse("works_at", "employs"),
    inverse("manages", "managed_by"),
    inverse("owns", "owned_by"),
    inverse("parent_of", "child_of"),
    inverse("ancestor_of", "descendant_of"),
    inverse("works_with", "works_with"),
    inverse("sibling_of", "sibling_of"),
    inverse("married_to", "married_to"),
)


def rules_of(own: Mapping[Rule, bool]) -> frozenset[Rule]:
    """The rules of a space: those that come with the service, with its own added or taken away."""
    return frozenset(rule for rule in {*SEED_RULES, *own} if own.get(rule, True))


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules that count in one space, by the keys of its registry. `paths` are sorted; `inverses` hold both directions."""

    paths: tuple[Rule, ...]
    inverses: Mapping[str, str]
    predicates: Mapping[str, Predicate]

    @staticmethod
    def of(rules: Collection[Rule], registered: Mapping[str, Predicate]) -> RuleBook:
        """A rule with a predicate that is not registered, or out of use, counts nowhere; nor does one that would conclude an event."""
        known = sorted(read for rule in rules if (read := _read(rule, registered)) is not None)
        inverses: dict[str, str] = {}
        for rule in known:
            if rule.kind == "inverse" and not {rule.first, rule.second} & inverses.keys():
                inverses[rule.first], inverses[rule.second] = rule.second, rule.first
            elif rule.kind == "shared_neighbour":
                inverses.setdefault(rule.conclusion, rule.conclusion)
        paths = dict.fromkeys(rule for rule in known if _concludes(rule, registered, inverses))
        return RuleBook(tuple(paths), inverses, {key: registered[key] for rule in known for key in rule[1:]})

    @property
    def keys(self) -> frozenset[str]:
        """Every predicate that a premise, a conclusion or what says the same is stated by."""
        named = {key for rule in self.paths for key in rule[1:]}
        return frozenset(named | {self.inverses[key] for key in named if key in self.inverses})

    def is_symmetric(self, key: str) -> bool:
        return self.inverses.get(key) == key


def _read(rule: Rule, registered: Mapping[str, Predicate]) -> Rule | None:
    keys = _keys(rule[1:], registered)
    return None if keys is None else Rule(rule.kind, *keys)


def _keys(wordings: Iterable[str], registered: Mapping[str, Predicate]) -> list[str] | None:
    found = []
    for wording in wordings:
        predicate, policy = resolve(wording, registered)
        if policy != "known" or predicate.lifecycle_state != "active":
            return None
        found.append(predicate.key)
    return found


def _concludes(rule: Rule, registered: Mapping[str, Predicate], inverses: Mapping[str, str]) -> bool:
    if rule.kind == "inverse" or registered[rule.conclusion].relationship_kind != "state":
        return False
    return rule.kind != "shared_neighbour" or inverses[rule.conclusion] == rule.conclusion
