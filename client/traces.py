"""How a recall came to its answer: `trace` of its result.

Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class TracePolicy(TypedDict):
    version: str
    evidence_contract: str
    space_fusion: str
    depth_rows: int
    depth_cap_rows: int
    postings_budget: int


class TraceTerms(TypedDict):
    """`searched` are the terms of the query; `function_words` stand in it and were left out."""

    searched: list[str]
    function_words: list[str]


class TraceAnchor(TypedDict):
    """Something that the query means letter by letter; `kind` is quote, id or identifier."""

    kind: str
    text: str


class TracePeriod(TypedDict):
    """A time that the query names: from `start`, `end` not included, or `yearly`, from day to day of any year.

    `text` is empty where `time_cue` states it.
    """

    text: str
    start: NotRequired[str]
    end: NotRequired[str]
    yearly: NotRequired[list[str]]


class TraceHints(TypedDict):
    """What the query says beside its words. `order` is the state it asks for, latest or earliest, where it says so.

    Its times count from `asked_at`, in days of `time_zone`.
    """

    names: list[str]
    aliases: list[str]
    anchors: list[TraceAnchor]
    predicates: list[str]
    periods: list[TracePeriod]
    first_person: bool
    time_zone: str
    asked_at: NotRequired[str]
    order: NotRequired[str]


class TraceDepth(TypedDict):
    """How deep the last fetch of a lane went, and how many followed the first."""

    rows: int
    refills: int


class TraceSpace(TypedDict):
    """Candidates of each branch that the caller may see, and terms that went over the budget of postings here."""

    space_kind: str
    evidence_lexical: int
    evidence_vector: int
    relationship_lexical: int
    relationship_vector: int
    evidence_terms_over_budget: list[str]
    relationship_terms_over_budget: list[str]
    space: NotRequired[str]


class TraceMove(TypedDict):
    """A factor of the rerank that put a result before others, with its ranks before and after."""

    factor: str
    before: int
    after: int


class TraceEvidence(TypedDict):
    """One candidate. A rank counts the candidates of its branch and space that the caller may see; none: not found there.

    `factors` are what it gained or lost by in the fusion, `moves` what the rerank did with it after that. `ranked` is false
    where the search itself left the candidate out, so that it took no place.
    """

    evidence_id: str
    outcome: Literal[
        "already_known",
        "beyond_limit",
        "equal_text",
        "returned",
        "erased",
        "not_yet_known",
        "owner_inactive",
        "quarantined",
        "retracted",
        "source_revised",
        "superseded",
        "unclaimed",
        "unsupported",
    ]
    space_kind: str
    ranked: bool
    rank: NotRequired[int]
    lexical_rank: NotRequired[int]
    vector_rank: NotRequired[int]
    space: NotRequired[str]
    factors: NotRequired[list[str]]
    moves: NotRequired[list[TraceMove]]


class TraceGroup(TypedDict):
    """One semantic group: who speaks for it, the other members, and the best place of a member in each branch of its space.

    A group without a place matches and does not count; its outcome is the reason.
    """

    relationship_id: str
    equivalent_relationship_ids: list[str]
    outcome: Literal[
        "beyond_limit",
        "covered_by_known_evidence",
        "covered_by_known_relationship",
        "covered_by_result",
        "returned",
        "shown_in_community",
        "corrected",
        "disputed",
        "merged",
        "needs_review",
        "no_longer_valid",
        "not_yet_known",
        "not_yet_valid",
        "owner_inactive",
        "pending_evidence",
        "quarantined",
        "rejected",
        "retracted",
        "superseded",
        "suppressed",
        "unsupported",
    ]
    space_kind: str
    rank: NotRequired[int]
    lexical_rank: NotRequired[int]
    vector_rank: NotRequired[int]
    space: NotRequired[str]


class TraceLimit(TypedDict):
    """A limit that cut something; `cut` counts what, where it is known."""

    name: str
    value: int
    cut: NotRequired[int]


class RecallTrace(TypedDict):
    """`evidence` and `relationships` are in the order of the lanes. `truncated`: more candidates than a trace names."""

    policy: TracePolicy
    terms: TraceTerms
    hints: TraceHints
    depth: dict[str, TraceDepth]
    spaces: list[TraceSpace]
    evidence: list[TraceEvidence]
    relationships: list[TraceGroup]
    limits: list[TraceLimit]
    truncated: bool
    timings_ms: dict[str, float]
