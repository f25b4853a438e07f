"""A small plain model of a team's shared space: what is stored, what counts, and what a recall may show.

It knows no tables and no SQL. Each method does in memory what the service does in a transaction; the test compares both.
Another part of the ledger adds methods here and rules to `tests/property/test_ledger_machine.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

ONE = "primary_database"
MANY = "works_on"


@dataclass(frozen=True)
class Claim:
    """A statement of one author: who, which predicate, which object. The subject is always the same."""

    owner: int
    predicate: str
    target: str

    @property
    def place(self) -> tuple[int, str] | None:
        """What only one claim can hold at a time."""
        return (self.owner, self.predicate) if self.predicate == ONE else None


@dataclass
class Text:
    owner: int
    content: str
    revision: int | None
    held: bool
    number: int
    ended: str | None = None
    replaced_by: str | None = None
    claims: set[Claim] = field(default_factory=set)


@dataclass
class Model:
    texts: dict[str, Text] = field(default_factory=dict)
    status: dict[Claim, str] = field(default_factory=dict)
    revision: dict[int, int] = field(default_factory=dict)
    stated: dict[tuple[Claim, str], int] = field(default_factory=dict)
    steps: int = 0

    # -- what is

    def counts(self, key: str) -> bool:
        text = self.texts[key]
        return text.ended is None and not text.held and text.revision in (None, self.revision.get(text.owner))

    def supports(self, claim: Claim) -> set[str]:
        """The texts by which the claim counts."""
        return {key for key, text in self.texts.items() if claim in text.claims and self.counts(key)}

    def find(self, owner: int, content: str, revision: int | None) -> str | None:
        """Where the same words would go: to evidence that did not end."""
        return next(
            (key for key, text in self.texts.items() if (text.owner, text.content, text.revision, text.ended) == (owner, content, revision, None)),
            None,
        )

    def exclusions(self) -> set[tuple[str, str]]:
        return {(key, reason) for key in self.texts for reason in self._reasons(key)}

    def _reasons(self, key: str) -> Iterator[str]:
        text = self.texts[key]
        if text.ended is not None:
            yield text.ended
        if text.held:
            yield "quarantined"
        if text.revision not in (None, self.revision.get(text.owner)):
            yield "source_revised"
        if text.claims and not any(self.status[claim] == "active" and self.supports(claim) for claim in text.claims):
            yield "unsupported"

    def shown(self) -> set[str]:
        """The ids that a recall of the present may return."""
        excluded = {key for key, _ in self.exclusions()}
        return self.texts.keys() - excluded

    # -- what happens

    def store(self, key: str, owner: int, content: str, revision: int | None, *, held: bool) -> None:
        self.steps += 1
        if revision is not None:
            self.revision[owner] = revision
        self.texts.setdefault(key, Text(owner, content, revision, held, self.steps))

    def claim(self, key: str, claim: Claim) -> None:
        """A text that carries a claim. What it carries already is nothing new; a held text waits."""
        text = self.texts[key]
        if claim in text.claims:
            return
        text.claims.add(claim)
        self.stated[claim, key] = self.steps
        if text.held:
            self.status.setdefault(claim, "pending_evidence")
            return
        if self.status.get(claim) != "active":
            self._replace(claim)
        self.status[claim] = "active"

    def _replace(self, claim: Claim) -> None:
        for other, status in self.status.items():
            if other != claim and claim.place is not None and other.place == claim.place and status == "active":
                self.status[other] = "superseded"

    def supersede(self, key: str, by: str) -> None:
        if self.texts[key].ended is None:
            self.texts[key].ended, self.texts[key].replaced_by = "superseded", by

    def retract(self, keys: Iterable[str]) -> None:
        for key in keys:
            if self.texts[key].ended is None:
                self.texts[key].ended = "retracted"

    def hold(self, keys: Iterable[str], *, held: bool) -> None:
        for key in keys:
            self.texts[key].held = held

    def settle(self, *, retracting: int | None = None) -> None:
        """What lost its last text ends; what has one again counts again, the last stated first, unless its place is taken."""
        for claim, status in self.status.items():
            if status == "active" and not self.supports(claim):
                self.status[claim] = "retracted" if retracting == claim.owner else "pending_evidence"
        waiting = [claim for claim, status in self.status.items() if status in ("pending_evidence", "retracted") and self.supports(claim)]
        for claim in sorted(waiting, key=lambda claim: -max(self.stated[claim, key] for key in self.supports(claim))):
            taken = claim.place is not None and any(
                other.place == claim.place and status == "active" for other, status in self.status.items() if other != claim
            )
            self.status[claim] = "superseded" if taken else "active"
