"""What an administrator may do to the team's records, the audit log among them: rows of the table of `commonlore.api.admin`, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol, TypedDict

from msgspec import Meta, Struct

from commonlore.api.feedback_table import FEEDBACK_ADMIN, FeedbackReport, FeedbackSwitch
from commonlore.api.retention_table import RETENTION, RequestedRetention, RetentionDescription
from commonlore.domain.audit.act import ActorKind, AuditOutcome
from commonlore.domain.audit.entry import SealState
from commonlore.domain.audit.request import ListAuditRequest, ListSealsRequest
from commonlore.domain.feedback.request import DescribeFeedbackRequest, UpdateFeedbackRequest
from commonlore.domain.quality.near_duplicates import ListNearDuplicatesRequest
from commonlore.domain.retention.rule import DescribeRetentionRequest, RunRetentionRequest, UpdateRetentionRequest
from commonlore.domain.tenancy.key import PresentedKey

Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class AuditEntryShown(TypedDict):
    """One act on one subject. Ids and codes, and the reason that an administrator gave."""

    entry_id: str
    act: str
    actor_kind: ActorKind
    profile_id: str | None
    credential_id: str | None
    subject_kind: str
    subject: str
    outcome: AuditOutcome
    code: Annotated[str | None, Meta(description="Why it was not done: a code of docs/reference/errors.md.")]
    reason: str | None
    correlation: Annotated[str, Meta(description="The X-Correlation-ID of the request, or the id of the job.")]
    known_from: str


class AuditList(TypedDict):
    """Entries, the newest first."""

    entries: list[AuditEntryShown]
    next_cursor: Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


class SealShown(TypedDict):
    """A seal, and what a look at its entries says."""

    ordinal: int
    entries: Count
    state: Annotated[SealState, Meta(description="`removed`: by the team's own retention.")]
    sha256: Digest
    known_from: str


class SealList(TypedDict):
    """Seals in their order."""

    seals: list[SealShown]
    next_after: Annotated[int | None, Meta(description="Send it as `after` to read on; null on the last page.")]
    seals_total: Count
    head_sha256: Annotated[str | None, Meta(description="The digest of the last seal; it covers all before.")]
    unsealed_entries: Count


class NearDuplicate(TypedDict):
    """Two texts that say nearly the same, the earlier one first, each with how it begins."""

    evidence_id: str
    other_evidence_id: str
    similarity_percent: Annotated[
        int, Meta(ge=50, le=100, description="The share of their runs of four words that both have; 100 only for equal texts.")
    ]
    is_same_text: bool
    begins: str
    other_begins: str


class NearDuplicateList(TypedDict):
    """Pairs of the texts that this page looked at. Nothing is merged."""

    pairs: list[NearDuplicate]
    looked_at: Count
    next_cursor: Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


class RecordOperations(Protocol):
    """Each call opens its own transaction, authenticates `key` in it and requires the scope `admin`.

    Raises:
        CommonloreError
    """

    async def list_audit(self, key: PresentedKey, request: ListAuditRequest, *, correlation_id: str) -> AuditList: ...

    async def list_audit_seals(self, key: PresentedKey, request: ListSealsRequest, *, correlation_id: str) -> SealList: ...

    async def list_near_duplicates(self, key: PresentedKey, request: ListNearDuplicatesRequest, *, correlation_id: str) -> NearDuplicateList: ...

    async def describe_feedback(self, key: PresentedKey, request: DescribeFeedbackRequest, *, correlation_id: str) -> FeedbackReport: ...

    async def update_feedback(self, key: PresentedKey, request: UpdateFeedbackRequest, *, correlation_id: str) -> FeedbackSwitch: ...

    async def describe_retention(self, key: PresentedKey, request: DescribeRetentionRequest, *, correlation_id: str) -> RetentionDescription: ...

    async def update_retention(self, key: PresentedKey, request: UpdateRetentionRequest, *, correlation_id: str) -> RetentionDescription: ...

    async def run_retention(self, key: PresentedKey, request: RunRetentionRequest, *, correlation_id: str) -> RequestedRetention: ...


RECORDS: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "list_audit",
        "List the audit log",
        "Who did what to what, when, why, and how it ended; every filter that is given must hold. Each reading of the log from its start is an entry of it.",
        ListAuditRequest,
        AuditList,
        {"act": "revoke_key", "since": "2026-07-01T00:00:00Z", "limit": 50},
    ),
    (
        "list_audit_seals",
        "Verify the audit log",
        "Compares each seal with its entries and with the seal before: `broken` where an entry was changed, added or removed.",
        ListSealsRequest,
        SealList,
        {"limit": 10},
    ),
    (
        "list_near_duplicates",
        "List near-duplicates",
        "Pairs of texts of one space that say nearly the same, for a person to look at. A page looks at `limit` texts, each against its nearest; nothing is merged.",
        ListNearDuplicatesRequest,
        NearDuplicateList,
        {"min_similarity_percent": 80, "limit": 50},
    ),
    *FEEDBACK_ADMIN,
    *RETENTION,
)
