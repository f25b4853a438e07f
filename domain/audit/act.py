"""An act: one thing that somebody does, as the audit log names it. No text, no name, no key and no vector is part of one.

Who serves a request says which act it is, once, and the transaction helper writes the entry: no operation does it itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from commonlore.domain.errors import CommonloreError, Conflict, Forbidden, Incorrect, NotVisible
from commonlore.domain.tenancy.actor import Scope

if TYPE_CHECKING:
    from msgspec import Struct

ActorKind = Literal["credential", "operator", "worker"]
AuditOutcome = Literal["done", "denied", "refused"]
AUDIT_OUTCOMES: tuple[AuditOutcome, ...] = get_args(AuditOutcome)
LONGEST_REASON = 500
# What a field of a request names, where it names the subject of an act.
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "profile_id": "profile",
        "credential_id": "credential",
        "space_id": "space",
        "evidence_id": "evidence",
        "evidence_ids": "evidence",
        "relationship_id": "relationship",
        "entity_id": "entity",
        "from_entity_id": "entity",
        "to_entity_id": "entity",
        "correction_id": "correction",
        "conflict_id": "conflict",
        "hypothesis_id": "hypothesis",
        "brief_id": "brief",
        "job_id": "job",
        "generation": "projection_generation",
    }
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an act was done to: the kind of thing, and its id as text."""

    kind: str
    subject: str


@dataclass(frozen=True, slots=True)
class Act:
    """`name`: that of the tool, the administrator's operation, the command or the kind of job.

    `is_administrative`: who is refused is logged as well. `reason`: what an administrator gave as one; that of an agent stays with the
    rows that it wrote, because it may quote a text.
    """

    name: str
    correlation: str
    actor_kind: ActorKind = "credential"
    is_administrative: bool = False
    reason: str | None = None
    subjects: tuple[Subject, ...] = ()


def act_of(name: str, request: Struct, correlation: str, scope: Scope) -> Act:
    """The act that a decoded request asks for. It is an administrator's where it needs the scope `admin` or `destroy`."""
    is_administrative = scope in ("admin", "destroy")
    reason = getattr(request, "reason", None) if is_administrative else None
    shown = reason[:LONGEST_REASON] if isinstance(reason, str) else None
    return Act(name, correlation, "credential", is_administrative, shown, tuple(_subjects(request)))


def _subjects(request: Struct) -> Iterator[Subject]:
    for name in request.__struct_fields__:
        kind, value = _FIELDS.get(name), getattr(request, name)
        if kind is None or value is None:
            continue
        for item in value if isinstance(value, list) else (value,):
            yield Subject(kind, str(item))


@dataclass(slots=True)
class Noted:
    """What a transaction adds to the act that it carries out."""

    subjects: list[Subject] = field(default_factory=list)
    is_logged: bool = False  # also where nothing is written: a look that is an act

    def add(self, kind: str, subject: object) -> None:
        """Name what the act was done to, where the request does not: what it made, or what a worker found due."""
        self.subjects.append(Subject(kind, str(subject)))

    def with_those_of(self, act: Act) -> list[Subject]:
        """Every subject once, those of the request first."""
        return list(dict.fromkeys((*act.subjects, *self.subjects)))


def refusal_of(error: CommonloreError) -> AuditOutcome | None:
    """`denied`: the key may not. `refused`: it may, and the act could not be done. None: nothing that is said of the one who asked."""
    if isinstance(error, Forbidden):
        return "denied"
    if isinstance(error, NotVisible | Incorrect) or (isinstance(error, Conflict) and error.code != "commit_conflict"):
        return "refused"
    return None
