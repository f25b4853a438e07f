"""What a key may ask of erasure: the rows that `commonlore.api.admin` adds to its table, and their answers. None of it is a tool of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.erasure.request import (
    DeleteRequest,
    EraseRequest,
    ErasureRequest,
    ErasureState,
    ErasureTarget,
    ExportRequest,
    HoldKind,
    HoldRequest,
    ListErasuresRequest,
    ListExportsRequest,
    ListHoldsRequest,
    PlaceHoldRequest,
    TargetKind,
)
from commonlore.domain.tenancy.actor import Scope
from commonlore.domain.tenancy.key import PresentedKey

Count = Annotated[int, Meta(ge=0)]
MOST_COPIES = 100
Counts = Annotated[dict[str, Count], Meta(description="Rows by table.")]


class PromotedCopies(TypedDict):
    """Copies in shared spaces of private texts that go. They stay: each is a text of its own, with an erasure of its own."""

    count: Count
    evidence_ids: Annotated[list[str], Meta(max_length=MOST_COPIES, description="The first of them.")]


class ErasurePreview(TypedDict):
    """What would go. `confirmation_token` holds for exactly this state. `holds`: legal holds that stand against it."""

    target_kind: TargetKind
    target_id: str
    counts: Counts
    promoted_copies: PromotedCopies
    holds: list[str]
    confirmation: Annotated[str, Meta(description="What has to be typed: a name, or an id.")]
    confirmation_token: str


class ErasureEntry(TypedDict):
    """One erasure. `target_sha256`: the hash of the team, the kind and the id of what was erased."""

    erasure_id: str
    target_kind: TargetKind
    target_sha256: str
    reason: str
    actor_profile_id: str
    state: ErasureState
    known_from: str
    purge_at: str | None
    restored_at: str | None
    finished_at: str | None


class BegunErasure(ErasureEntry):
    """An erasure that has begun: out of sight from now on. `job_id`: the work that deletes it; null where it waits until `purge_at`."""

    counts: Counts
    promoted_copies: PromotedCopies
    job_id: str | None


class ErasureList(TypedDict):
    """Erasures, the newest first."""

    erasures: list[ErasureEntry]


class SignedReceipt(TypedDict):
    """The receipt of an erasure that is over, with its signature; see docs/reference/erasure.md for its fields."""

    receipt: dict[str, Any]


class HoldEntry(TypedDict):
    """One legal hold. It stands while `released_at` is null."""

    hold_id: str
    target_kind: HoldKind
    target_id: str
    reason: str
    placed_by: str
    known_from: str
    released_by: str | None
    released_at: str | None


class HoldList(TypedDict):
    """Legal holds, the newest first."""

    holds: list[HoldEntry]


class ExportEntry(TypedDict):
    """A file that was made from rows of the team. `space_ids` null: of all of them."""

    export_id: str
    export_kind: str
    space_ids: list[str] | None
    file_path: str
    byte_count: Count | None
    known_from: str
    destroyed_at: str | None


class ExportList(TypedDict):
    """Exports, the newest first."""

    exports: list[ExportEntry]


class ErasureOperations(Protocol):
    """Each call opens its own transaction, authenticates `key` in it and requires the scope of its row in `ERASURES`.

    Raises:
        CommonloreError
    """

    async def preview_erasure(self, key: PresentedKey, request: ErasureTarget, *, correlation_id: str) -> ErasurePreview: ...

    async def erase(self, key: PresentedKey, request: EraseRequest, *, correlation_id: str) -> BegunErasure: ...

    async def delete_space_or_team(self, key: PresentedKey, request: DeleteRequest, *, correlation_id: str) -> BegunErasure: ...

    async def restore(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> ErasureEntry: ...

    async def list_erasures(self, key: PresentedKey, request: ListErasuresRequest, *, correlation_id: str) -> ErasureList: ...

    async def describe_erasure(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> ErasureEntry: ...

    async def read_receipt(self, key: PresentedKey, request: ErasureRequest, *, correlation_id: str) -> SignedReceipt: ...

    async def place_hold(self, key: PresentedKey, request: PlaceHoldRequest, *, correlation_id: str) -> HoldEntry: ...

    async def release_hold(self, key: PresentedKey, request: HoldRequest, *, correlation_id: str) -> HoldEntry: ...

    async def list_holds(self, key: PresentedKey, request: ListHoldsRequest, *, correlation_id: str) -> HoldList: ...

    async def list_exports(self, key: PresentedKey, request: ListExportsRequest, *, correlation_id: str) -> ExportList: ...

    async def destroy_export(self, key: PresentedKey, request: ExportRequest, *, correlation_id: str) -> ExportEntry: ...


_ID = "01982f00-0000-7000-8000-000000000001"
_TOKEN = "0" * 64
_Row = tuple[str, str, str, type[Struct], type[Any], Mapping[str, object], Scope]

ERASURES: tuple[_Row, ...] = (
    (
        "preview_erasure",
        "Preview an erasure",
        "Counts what an erasure would take, by table, and changes nothing. The token holds until any of it changes.",
        ErasureTarget,
        ErasurePreview,
        {"target_kind": "evidence", "target_id": _ID},
        "destroy",
    ),
    (
        "erase",
        "Erase",
        "Out of sight of every view at once, then deleted by a worker, which searches every table and signs a receipt. It cannot be taken back.",
        EraseRequest,
        BegunErasure,
        {"target_kind": "evidence", "target_id": _ID, "reason": "asked for by Ada", "confirmation": _ID, "confirmation_token": _TOKEN},
        "destroy",
    ),
    (
        "delete_space_or_team",
        "Delete a space or the team",
        "Closed at once; erased after `purge_after_days`, until which it can be restored. A deleted team has no valid key: whoever holds the database restores it.",
        DeleteRequest,
        BegunErasure,
        {"target_kind": "space", "target_id": _ID, "reason": "the project ended", "confirmation": "project", "confirmation_token": _TOKEN},
        "destroy",
    ),
    ("restore", "Restore a deleted space", "While its time is not over.", ErasureRequest, ErasureEntry, {"erasure_id": _ID}, "destroy"),
    (
        "list_erasures",
        "List erasures",
        "The newest first. `item_id`: the id of a text or relationship that is nowhere any more; the erasure that took it, if one did.",
        ListErasuresRequest,
        ErasureList,
        {"limit": 50},
        "admin",
    ),
    ("describe_erasure", "Describe an erasure", "One erasure as it stands.", ErasureRequest, ErasureEntry, {"erasure_id": _ID}, "admin"),
    (
        "read_receipt",
        "Read a receipt",
        "The signed receipt of an erasure that is over. `not_found` until then.",
        ErasureRequest,
        SignedReceipt,
        {"erasure_id": _ID},
        "admin",
    ),
    (
        "place_hold",
        "Place a legal hold",
        "No erasure takes what a hold covers, until it is released.",
        PlaceHoldRequest,
        HoldEntry,
        {"target_kind": "space", "target_id": _ID, "reason": "case 7"},
        "admin",
    ),
    ("release_hold", "Release a legal hold", "It is kept in the list.", HoldRequest, HoldEntry, {"hold_id": _ID}, "admin"),
    ("list_holds", "List legal holds", "The newest first.", ListHoldsRequest, HoldList, {"released": True}, "admin"),
    ("list_exports", "List exports", "Files that were made from the team's rows, the newest first.", ListExportsRequest, ExportList, {}, "admin"),
    (
        "destroy_export",
        "Note a destroyed export",
        "The caller says that the file exists no more; receipts from then on leave it out.",
        ExportRequest,
        ExportEntry,
        {"export_id": _ID},
        "admin",
    ),
)
