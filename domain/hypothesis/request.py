"""What may be asked of hypotheses: to see them, to say what became of one, and how a space has them."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.hypothesis.rules import Rule, RuleKind
from commonlore.domain.ledger.predicate import predicate_key
from commonlore.domain.remember.request import EvidenceProposal, RelationshipProposal
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import InSpace

HypothesisStatus = Literal["proposed", "reinforced", "stale", "rejected", "submitted"]
Decision = Literal["reinforce", "stale", "reject", "confirm_true", "confirm_false"]
Wording = Annotated[str, Meta(min_length=1, max_length=128)]


class ListDreamsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hypotheses of every space that the key reads, the newest first. `cursor` is the `next_cursor` of the page before, with the same `status`."""

    status: HypothesisStatus | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: Annotated[str, Meta(min_length=1, max_length=512)] | None = None


class GetDreamRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hypothesis with its premises, why it was proposed, and what became of it."""

    hypothesis_id: UUID


class ResolveDreamRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a hypothesis.

    `confirm_true` and `confirm_false` bring the texts that say so: they are remembered like any others, with what the
    hypothesis says, or denies, read in all of them unless `relationships` are given.
    """

    hypothesis_id: UUID
    decision: Decision
    reason: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    evidence: Annotated[list[EvidenceProposal], Meta(max_length=20)] = []
    relationships: Annotated[list[RelationshipProposal], Meta(max_length=200)] = []
    idempotency_key: IdempotencyKey | None = None

    @property
    def confirms(self) -> bool:
        return self.decision in ("confirm_true", "confirm_false")

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        if self.reason is not None:
            require_visible("/reason", self.reason)
        require_key(self.idempotency_key)
        if self.confirms and not self.evidence:
            raise invalid("/evidence", "expected at least one text that says so")
        if not self.confirms:
            for name in ("evidence", "relationships"):
                if getattr(self, name):
                    raise invalid(f"/{name}", "expected only with confirm_true and confirm_false")


class HypothesisRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule by its kind: `transitive` has `first` alone, `composition` all three, `shared_neighbour` `first` and `conclusion`, `inverse` `first` and `second`."""

    kind: RuleKind
    first: Wording
    second: Wording | None = None
    conclusion: Wording | None = None

    def rule(self, pointer: str) -> Rule:
        """
        Raises:
            Incorrect: another field than those of its kind, or no wording of a predicate.
        """
        wanted = {"transitive": (), "composition": ("second", "conclusion"), "shared_neighbour": ("conclusion",), "inverse": ("second",)}[self.kind]
        for name in ("second", "conclusion"):
            if (getattr(self, name) is not None) != (name in wanted):
                raise invalid(f"{pointer}/{name}", f"expected {'with' if name in wanted else 'not with'} the kind {self.kind}")
        first = _key(f"{pointer}/first", self.first)
        second = _key(f"{pointer}/second", self.second) if self.second is not None else first
        conclusion = _key(f"{pointer}/conclusion", self.conclusion) if self.conclusion is not None else second
        return Rule(self.kind, first, second, conclusion)


class DescribeHypothesesRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How hypotheses of a space stand: the key's private one or the team's shared one."""


class RunHypothesesRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Look for hypotheses of a space as soon as a worker is free."""


class UpdateHypothesesRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one space. `outputs`: how many a run proposes at most. What is left out stays; a rule that comes with the service can be removed as well."""

    enabled: bool | None = None
    outputs: Annotated[int, Meta(ge=1, le=50)] | None = None
    add_rules: Annotated[list[HypothesisRule], Meta(max_length=50)] = []
    remove_rules: Annotated[list[HypothesisRule], Meta(max_length=50)] = []

    def rules(self) -> dict[Rule, bool]:
        """Whether each named rule is to count.

        Raises:
            Incorrect: a rule is none, one is named twice, or nothing is to be changed.
        """
        if self.enabled is None and self.outputs is None and not self.add_rules and not self.remove_rules:
            raise invalid("", "expected at least one of enabled, outputs, add_rules and remove_rules")
        found: dict[Rule, bool] = {}
        for name, given, counts in (("add_rules", self.add_rules, True), ("remove_rules", self.remove_rules, False)):
            for place, item in enumerate(given):
                rule = item.rule(f"/{name}/{place}")
                if rule in found:
                    raise invalid(f"/{name}/{place}", "expected a rule that is named once")
                found[rule] = counts
        return found


def _key(pointer: str, wording: str) -> str:
    try:
        return predicate_key(wording)
    except ValueError as error:
        raise invalid(pointer, str(error)) from error
