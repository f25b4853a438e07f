"""What `trace: true` adds to the answer of a recall: places and reasons, never a score and never the id of a space."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.recall.reasons import Exclusion, RelationshipExclusion

EvidenceOutcome = Literal["returned", "equal_text", "already_known", "beyond_limit"] | Exclusion
GroupOutcome = (
    Literal["returned", "covered_by_result", "covered_by_known_evidence", "covered_by_known_relationship", "shown_in_community", "beyond_limit"]
    | RelationshipExclusion
)


class TracePolicy(Struct, frozen=True, kw_only=True):
    version: str
    evidence_contract: str
    space_fusion: str
    depth_rows: int
    depth_cap_rows: int
    postings_budget: int


class TraceTerms(Struct, frozen=True, kw_only=True):
    """`searched` are the terms of the query; `function_words` stand in it and were left out."""

    searched: list[str]
    function_words: list[str]


class TraceAnchor(Struct, frozen=True, kw_only=True):
    """Something that the query means letter by letter; `kind` is quote, id or identifier."""

    kind: str
    text: str


class TracePeriod(Struct, frozen=True, kw_only=True):
    """A time that the query names: from `start`, `end` not included, or `yearly`, from day to day of any year.

    `text` is empty where `time_cue` states it.
    """

    text: str
    start: datetime | UnsetType = UNSET
    end: datetime | UnsetType = UNSET
    yearly: list[str] | UnsetType = UNSET


class TraceHints(Struct, frozen=True, kw_only=True):
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
    asked_at: datetime | UnsetType = UNSET
    order: str | UnsetType = UNSET


class TraceMove(Struct, frozen=True, kw_only=True):
    """A factor of the rerank that put a result before others, with its ranks before and after."""

    factor: str
    before: int
    after: int


class TraceDepth(Struct, frozen=True, kw_only=True):
    """How deep the last fetch of a lane went, and how many followed the first."""

    rows: int
    refills: int


class TraceSpace(Struct, frozen=True, kw_only=True):
    """Candidates of each branch that the caller may see, and terms that went over the budget of postings here."""

    space_kind: str
    evidence_lexical: int
    evidence_vector: int
    relationship_lexical: int
    relationship_vector: int
    evidence_terms_over_budget: list[str]
    relationship_terms_over_budget: list[str]
    space: str | UnsetType = UNSET


class TraceEvidence(Struct, frozen=True, kw_only=True):
    """One candidate. A rank counts the candidates of its branch and space that the caller may see; none: not found there.

    `factors` are what it gained or lost by in the fusion, `moves` what the rerank did with it after that. `ranked` is false
    where the search itself left the candidate out, so that it took no place.
    """

    evidence_id: str
    outcome: EvidenceOutcome
    space_kind: str
    ranked: bool
    rank: int | UnsetType = UNSET
    lexical_rank: int | UnsetType = UNSET
    vector_rank: int | UnsetType = UNSET
    space: str | UnsetType = UNSET
    factors: list[str] | UnsetType = UNSET
    moves: list[TraceMove] | UnsetType = UNSET


class TraceGroup(Struct, frozen=True, kw_only=True):
    """One semantic group: who speaks for it, the other members, and the best place of a member in each branch of its space.

    A group without a place matches and does not count; its outcome is the reason.
    """

    relationship_id: str
    equivalent_relationship_ids: list[str]
    outcome: GroupOutcome
    space_kind: str
    rank: int | UnsetType = UNSET
    lexical_rank: int | UnsetType = UNSET
    vector_rank: int | UnsetType = UNSET
    space: str | UnsetType = UNSET


class TraceLimit(Struct, frozen=True, kw_only=True):
    """A limit that cut something; `cut` counts what, where it is known."""

    name: str
    value: int
    cut: int | UnsetType = UNSET


class RecallTrace(Struct, frozen=True, kw_only=True):
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
