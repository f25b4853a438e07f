"""The closed list of what a brief may ask, which verdicts it allows, and the scope that each needs.

A verdict is applied as the direct call of the same effect would be, with the scope that this call needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from commonlore.domain.tenancy.actor import Scope

Kind = Literal["verify_relationship", "assess_conflict", "merge_entities", "summarise_community", "judge_hypothesis", "read_session"]
Decision = Literal[
    "entailed",
    "contradicted",
    "insufficient",
    "resolve",
    "dismiss",
    "leave_open",
    "same",
    "different",
    "unsure",
    "summary",
    "no_summary",
    "confirm",
    "reinforce",
    "reject",
    "states",
    "states_nothing",
]
Field = Literal["quotes", "preferred_position_id", "effective_at", "keep_entity_id", "summary", "relationships"]
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one decision means, what it must carry and what it may carry. One that is not applied ends the brief and changes nothing else."""

    means: str
    needs: tuple[Field, ...] = ()
    allows: tuple[Field, ...] = ("quotes",)
    is_applied: bool = False

    def takes(self, field: Field) -> bool:
        return field in self.needs or field in self.allows


@dataclass(frozen=True, slots=True)
class BriefKind:
    """A kind of brief: what it asks, of whom, and the verdicts that it allows."""

    question: str
    scope: Scope
    verdicts: Mapping[Decision, Verdict]


def _applied(means: str, needs: tuple[Field, ...], allows: tuple[Field, ...] = ()) -> Verdict:
    return Verdict(means, needs, allows, is_applied=True)


KINDS: Mapping[Kind, BriefKind] = MappingProxyType(
    {
        "verify_relationship": BriefKind(
            "Does a text say the statement? Only what the texts say counts, not what is likely.",
            "write",
            {
                "entailed": _applied(
                    "The quotes say the statement and one names both of its ends. It is remembered as yours, with these quotes.", ("quotes",)
                ),
                "contradicted": _applied(
                    "The quotes name the subject and say that the statement is wrong. It is rejected; one of another member only with the scope admin.",
                    ("quotes",),
                ),
                "insufficient": Verdict("No text says it or denies it."),
            },
        ),
        "assess_conflict": BriefKind(
            "Which of the positions holds? Prefer one only where the texts decide it.",
            "admin",
            {
                "resolve": _applied(
                    "The quotes decide for preferred_position_id; the statements of the others end.",
                    ("preferred_position_id", "quotes"),
                    ("effective_at",),
                ),
                "dismiss": _applied("The positions do not exclude each other; all of them stand.", (), ("quotes",)),
                "leave_open": Verdict("The texts do not decide it."),
            },
        ),
        "merge_entities": BriefKind(
            "Are these two entities one and the same?",
            "admin",
            {
                "same": _applied("They are one; keep_entity_id lives on and the other becomes its alias.", ("keep_entity_id",), ("quotes",)),
                "different": Verdict("They are two. The pair is not asked about again."),
                "unsure": Verdict("It cannot be told."),
            },
        ),
        "summarise_community": BriefKind(
            "What do these statements say together, in a few sentences of plain words?",
            "write",
            {
                "summary": _applied("A summary of at most 600 characters, and the quotes that carry it.", ("summary", "quotes")),
                "no_summary": Verdict("They say nothing together that is worth a summary."),
            },
        ),
        "judge_hypothesis": BriefKind(
            "Does what the premises suggest hold? Confirm it only where a text says it.",
            "write",
            {
                "confirm": _applied("The quotes say it and one names both of its ends. It is remembered as yours, with these quotes.", ("quotes",)),
                "reinforce": _applied("It is likely, and no text says it. It stays a hypothesis.", (), ("quotes",)),
                "reject": _applied("It does not hold. It is not proposed again.", (), ("quotes",)),
                "unsure": Verdict("It cannot be told."),
            },
        ),
        "read_session": BriefKind(
            "Which relationships do these texts state? Only what they say, not what is likely.",
            "write",
            {
                "states": _applied(
                    "The quotes state the relationships, each with ref, subject, predicate, object and evidence_indices, the places in your list of quotes. "
                    "They are remembered as yours; one whose quotes do not name both ends waits for evidence.",
                    ("quotes", "relationships"),
                ),
                "states_nothing": Verdict("The texts state no relationship."),
            },
        ),
    }
)
