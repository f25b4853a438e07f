"""How a hypothesis is said: by the names that its entities have now, never by a text of its own."""

from __future__ import annotations

from dataclasses import dataclass

from commonlore.domain.hypothesis.rules import PathKind


@dataclass(frozen=True, slots=True)
class Said:
    """A statement in names."""

    subject: str
    predicate_key: str
    object: str
    scope: str | None = None

    @property
    def sentence(self) -> str:
        scope = f" ({self.scope})" if self.scope else ""
        return f"{self.subject} {wording(self.predicate_key)} {self.object}{scope}"


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a likelihood was made of, in thousandths, and the rule."""

    kind: PathKind
    first_key: str
    second_key: str
    conclusion_key: str
    likelihood: int
    record: int
    strength: int
    tested: int
    closed: int


def wording(predicate_key: str) -> str:
    return predicate_key.replace("_", " ")


def rationale(grounds: Grounds, premises: tuple[Said, Said]) -> str:
    """Why, in one paragraph: the premises, the rule, the numbers of the formula."""
    told = f"{premises[0].sentence}. {premises[1].sentence}. {_rule(grounds)}"
    if grounds.tested:
        tried = f"the rule reached {grounds.tested} pairs here that could be looked at, {grounds.closed} of which are stated"
    else:
        tried = "the rule has not been tried here"
    numbers = f"{_number(grounds.likelihood)} = {_number(grounds.record)} for the rule x {_number(grounds.strength)} for the weaker premise"
    return f"{told} Likelihood {numbers}; {tried}."


def _rule(grounds: Grounds) -> str:
    first, second, conclusion = wording(grounds.first_key), wording(grounds.second_key), wording(grounds.conclusion_key)
    if grounds.kind == "transitive":
        return f'"{first}" reaches through what is itself "{first}" something.'
    if grounds.kind == "shared_neighbour":
        return f'Two that "{first}" the same are taken to be "{conclusion}".'
    return f'"{first}" something that "{second}" something is taken as "{conclusion}".'


def _number(thousandths: int) -> str:
    return f"{thousandths / 1000:.3f}"
