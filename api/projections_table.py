"""What an administrator may do to projection generations: the rows that `commonlore.api.admin` adds to its table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.projection.generation import State
from commonlore.domain.projection.request import (
    ActivateProjectionRequest,
    DescribeProjectionRequest,
    GenerationRequest,
    ListFailedVectorsRequest,
    StartProjectionRequest,
)

Count = Annotated[int, Meta(ge=0)]


class GenerationCounts(TypedDict):
    """Documents over all spaces, counted from their rows. `expected`: those of the generation that serves."""

    expected: Count
    documents: Count
    current: Count
    pending: Count
    failed: Count


class GenerationEntry(TypedDict):
    """One generation of the team's relationship documents. `is_read`: recalls read it. `counts`: null for a retired one."""

    generation: Annotated[int, Meta(ge=1)]
    state: State
    is_read: bool
    contract_key: str
    format_version: int
    activates_itself: bool
    counts: GenerationCounts | None
    error_code: Annotated[str | None, Meta(description="`documents_failed`: some have no vector for good.")]
    started_at: str
    projected_at: str | None
    ready_at: str | None
    activated_at: str | None
    paused_at: str | None
    retired_at: str | None


class ProjectionDescription(TypedDict):
    """Every generation of the team, the newest first, and the embedding contract whose vectors are searched."""

    contract_key: str | None
    generations: list[GenerationEntry]


class FailedVector(TypedDict):
    """A text, with how many of its parts failed, or a relationship, that is found by its words alone. Nothing of what it says."""

    id: str
    kind: Literal["text", "relationship"]
    space_id: str
    parts: Count
    attempts: Count
    error_code: Annotated[
        str | None, Meta(description="Of the last failure. `embedding_malformed`: the model's answer was no vector, or it refuses the text.")
    ]
    failed_at: Annotated[str | None, Meta(description="When it failed last.")]


class FailedVectorList(TypedDict):
    """What has no vector for good, by id."""

    failed: list[FailedVector]
    next_cursor: Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


PROJECTIONS: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_projection",
        "Describe projection generations",
        "How the documents stand that relationships are searched by: what serves, what is built beside it, counted from rows.",
        DescribeProjectionRequest,
        ProjectionDescription,
        {},
    ),
    (
        "list_failed_vectors",
        "List failed vectors",
        "Texts and relationships that have no vector after all tries, in every space and under every contract that is kept, with the reason; ids only.",
        ListFailedVectorsRequest,
        FailedVectorList,
        {"limit": 50},
    ),
    (
        "start_projection",
        "Start a generation",
        "Writes every document anew beside the generation that serves. Recalls go on reading that one until the new one is activated.",
        StartProjectionRequest,
        GenerationEntry,
        {"activate": True},
    ),
    (
        "pause_projection",
        "Pause a generation",
        "Stops building within seconds; writes go on into both generations.",
        GenerationRequest,
        GenerationEntry,
        {"generation": 2},
    ),
    ("resume_projection", "Resume a generation", "Goes on where it was paused.", GenerationRequest, GenerationEntry, {"generation": 2}),
    (
        "retry_projection",
        "Retry failed documents",
        "Gives the documents of a generation that failed all their tries again.",
        GenerationRequest,
        GenerationEntry,
        {"generation": 2},
    ),
    (
        "activate_projection",
        "Activate a generation",
        "Recalls read it from now on; what served stands by, kept up to date, for the way back.",
        ActivateProjectionRequest,
        GenerationEntry,
        {"generation": 2},
    ),
    (
        "roll_back_projection",
        "Roll back a generation",
        "Recalls read again what served before; the present one stands by.",
        DescribeProjectionRequest,
        GenerationEntry,
        {},
    ),
    (
        "retire_projection",
        "Retire a generation",
        "Gives up one that does not serve. A job clears its documents away.",
        GenerationRequest,
        GenerationEntry,
        {"generation": 1},
    ),
)
