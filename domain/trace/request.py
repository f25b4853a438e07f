"""What a trace may ask (dense-mem 6.6; the published client's TraceRequest)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct


class TraceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One relationship with its evidence and history.

    `page_size` bounds each list of events; `cursor` continues the lists that were cut. Graph context reaches
    `max_depth` steps and `max_edges` relationships; 0 switches it off.
    """

    relationship_id: UUID
    include_evidence_content: bool = True
    include_verification: bool = True
    include_transitions: bool = True
    max_depth: Annotated[int, Meta(ge=0, le=4)] = 1
    max_edges: Annotated[int, Meta(ge=0, le=100)] = 24
    predicate_keys: Annotated[list[Annotated[str, Meta(min_length=1, max_length=128)]], Meta(max_length=30)] = []
    topic: Annotated[str, Meta(max_length=256)] | None = None
    min_relevance: Annotated[float, Meta(ge=0, le=1)] | None = None
    page_size: Annotated[int, Meta(ge=1, le=500)] = 100
    cursor: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
