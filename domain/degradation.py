"""What an answer may lack and still be an answer, as one closed list of values.

A degradation is stated in `degradations[]`; it is never an exception and never silent.
`docs/reference/degradations.md` is tested against `MESSAGES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

SearchState = Literal["current", "not_required", "pending", "failed"]

MESSAGES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("evidence", "provider_unavailable"): "The query could not be embedded; evidence was found by its words alone.",
        ("evidence", "provider_malformed"): "The embedder returned an unusable vector; evidence was found by its words alone.",
        (
            "evidence",
            "embedding_contract_mismatch",
        ): "The stored vectors belong to another embedding contract; evidence was found by its words alone.",
        ("evidence", "evidence_vector_failed"): "The vector branch failed; evidence was found by its words alone.",
        (
            "evidence",
            "evidence_vector_approximate",
        ): "The vector index of a large space finds fewer of the nearest texts than it should; some may be missing.",
        ("evidence", "evidence_bound_reached"): "More evidence may match than one recall looks at; narrow the query to see it.",
        ("evidence", "space_branch_unavailable"): "One space could not be read; the results of the others are complete.",
        ("relationships", "relationship_vector_warming"): "The vector projection of relationships is warming; they were found by their words alone.",
        ("relationships", "relationship_vector_failed"): "The vector projection of relationships failed; they were found by their words alone.",
        (
            "relationships",
            "relationship_vector_approximate",
        ): "The vector index of a large space finds fewer of the nearest relationships than it should; some may be missing.",
        ("relationships", "relationship_discovery_unavailable"): "Relationships could not be searched; evidence is complete.",
        ("relationships", "relationship_bound_reached"): "More relationships may match than one recall looks at; narrow the query to see them.",
        ("communities", "community_temporal_not_supported"): "Communities are known as of now only; none are shown for another time.",
        ("communities", "community_snapshot_unavailable"): "Communities have not been detected here yet; relationships are complete.",
        (
            "communities",
            "community_snapshot_stale",
        ): "Some members of the communities no longer count and were left out; the next run describes them anew.",
        (
            "communities",
            "community_detection_failed",
        ): "The last detection of communities failed; those of the run before are shown, if there were any.",
        (
            "communities",
            "community_graph_too_large",
        ): "There are more relationships than communities are detected in; those of the last run that could are shown, if there were any.",
        ("communities", "community_discovery_unavailable"): "Communities could not be read; evidence and relationships are complete.",
        ("hypotheses", "hypothesis_temporal_not_supported"): "Hypotheses are known as of now only; none are shown for another time.",
        ("hypotheses", "related_hypotheses_unavailable"): "Hypotheses could not be read; everything else is complete.",
        ("feedback", "recall_feedback_snapshot_unavailable"): "The answer could not be kept for feedback; the answer itself is complete.",
        ("conflicts", "conflict_bound_reached"): "More conflicts may touch the results than one recall shows; narrow the query to see them.",
    }
)

# failed > pending > current > not_required (dense-mem 3, "Combination rule").
_PRECEDENCE: tuple[SearchState, ...] = ("failed", "pending", "current", "not_required")


@dataclass(frozen=True, slots=True, order=True)
class Degradation:
    """One optional part that is missing. Order: frontier, then code.

    Raises:
        KeyError: the pair of frontier and code is not on the closed list.
    """

    frontier: str
    code: str

    def __post_init__(self) -> None:
        MESSAGES[(self.frontier, self.code)]

    @property
    def message(self) -> str:
        return MESSAGES[(self.frontier, self.code)]


def combine(states: tuple[SearchState, ...]) -> SearchState:
    """The state of a lane over its branches: failed, else pending, else current, else not_required.

    Source: dense-mem 3 and the worked numbers of dense-mem 30.
    """
    return next((state for state in _PRECEDENCE if state in states), "not_required")
