"""What an administrator's key may ask of its team's projection generations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Number = Annotated[int, Meta(ge=1, le=2_147_483_647)]


class DescribeProjectionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every generation of the team's relationship documents."""


class ListFailedVectorsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts and relationships without a vector for good, by id. `cursor` is the `next_cursor` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class StartProjectionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new generation beside the one that serves. `activate`: it takes over as soon as it is ready."""

    activate: bool = False


class GenerationRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation; without `generation` the newest that the operation can be meant for."""

    generation: Number | None = None


class ActivateProjectionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`accept_failed`: also where documents have no vector because they failed; they are then found by their words alone."""

    generation: Number | None = None
    accept_failed: bool = False
