"""What may be done with hypotheses: the tools that `commonlore.api.operations` adds, the rows of `commonlore.api.admin`, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.hypothesis.request import (
    DescribeHypothesesRequest,
    GetDreamRequest,
    ListDreamsRequest,
    ResolveDreamRequest,
    RunHypothesesRequest,
    UpdateHypothesesRequest,
)
from commonlore.domain.hypothesis.rules import RuleKind
from commonlore.domain.tenancy.actor import PublicSpaceKind, Scope

Count = Annotated[int, Meta(ge=0)]


class DreamList(TypedDict):
    """One page of hypotheses, the newest first."""

    dreams: list[dict[str, Any]]
    next_cursor: Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


class Dream(TypedDict):
    """One hypothesis with its premises, why it was proposed, and what became of it."""

    hypothesis: dict[str, Any]
    version: int
    rationale: str
    updated_at: str
    derivations: list[dict[str, Any]]
    events: list[dict[str, Any]]
    invalidated_reason: NotRequired[Literal["source_changed", "already_known", "feedback"]]
    submission_id: NotRequired[str]


class DreamResolution(TypedDict):
    """What came of a decision. `submission` is the receipt of `remember` where it was confirmed; `not_stored`: the texts did not carry it."""

    disposition: Literal["changed", "unchanged", "not_stored"]
    hypothesis: dict[str, Any]
    submission: NotRequired[dict[str, Any]]


class RuleEntry(TypedDict):
    """A rule that counts in the space, where its predicates are registered there. `own`: it does not come with the service."""

    kind: RuleKind
    first: str
    second: str
    conclusion: str
    own: bool


class HypothesisRunEntry(TypedDict):
    """One run. Counts are null where it ended before it knew them; `known` and `assessed` are targets that were left out."""

    run_id: str
    reason: Literal["scheduled", "requested"]
    status: Literal["running", "completed", "failed", "cancelled", "too_large"]
    error_code: str | None
    relationships: Count | None
    paths: Count | None
    known: Count | None
    assessed: Count | None
    candidates: Count | None
    proposed: Count | None
    started_at: str
    ended_at: str | None


class HypothesesDescription(TypedDict):
    """How hypotheses of a space stand, and the latest ten runs, the newest first."""

    target_space: PublicSpaceKind
    space: str | None
    enabled: bool
    outputs: Count
    counts: dict[str, Count]
    rules: list[RuleEntry]
    time_zone: str
    start: str
    next_run_at: Annotated[str | None, Meta(description="Null where hypotheses are off.")]
    runs: list[HypothesisRunEntry]


class RequestedProposals(TypedDict):
    """The job that was asked for; null where one waits already and will do."""

    job_id: str | None


_ID = "01982f00-0000-7000-8000-000000000001"

# Name, title, description, request, result, scope, (read-only, destructive, idempotent), example.
DreamRequest = type[ListDreamsRequest] | type[GetDreamRequest] | type[ResolveDreamRequest]
DREAMS: tuple[tuple[str, str, str, DreamRequest, type[Any], Scope, tuple[bool, bool, bool], Mapping[str, object]], ...] = (
    (
        "list_dreams",
        "List hypotheses",
        "Statements that nobody made and that two stored relationships suggest, the newest first. None of them is known to be true.",
        ListDreamsRequest,
        DreamList,
        "read",
        (True, False, True),
        {"status": "proposed", "limit": 20},
    ),
    (
        "get_dream",
        "Show a hypothesis",
        "One hypothesis with the two relationships it follows from, their quotes, how likely it is and why, and what was decided of it.",
        GetDreamRequest,
        Dream,
        "read",
        (True, False, True),
        {"hypothesis_id": _ID},
    ),
    (
        "resolve_dream_feedback",
        "Decide a hypothesis",
        (
            "Say what became of a hypothesis. confirm_true and confirm_false bring the texts that say so, and store them as remember does; reject ends "
            "it for good; reinforce and stale say that it is likely or needless. Only where a person or a text said so, never because it is likely."
        ),
        ResolveDreamRequest,
        DreamResolution,
        "write",
        (False, False, False),
        {"hypothesis_id": _ID, "decision": "confirm_true", "evidence": [{"content": "Ada uses PostgreSQL."}]},
    ),
)

HYPOTHESES: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_hypotheses",
        "Describe hypotheses",
        "Whether a space has hypotheses, how many stand how, the rules that count, and the latest runs.",
        DescribeHypothesesRequest,
        HypothesesDescription,
        {"target_space": "team_shared"},
    ),
    (
        "update_hypotheses",
        "Switch hypotheses and set their rules",
        (
            "Off by default. The first run comes within minutes after a space is switched on; from then on one a day, at the team's time for "
            "communities. `outputs`: how many a run proposes at most. Rules of a space add to those that come with the service, or take them away."
        ),
        UpdateHypothesesRequest,
        HypothesesDescription,
        {"enabled": True, "outputs": 20, "add_rules": [{"kind": "transitive", "first": "reports_to"}]},
    ),
    (
        "run_hypotheses",
        "Look for hypotheses now",
        "Asks for a run without waiting for its time.",
        RunHypothesesRequest,
        RequestedProposals,
        {"target_space": "team_shared"},
    ),
)
