"""The one table of what an administrator's key may do over REST; agents never see it. Routes and the OpenAPI document are made from it.

Every operation needs the scope `admin` and acts on the key's own team.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Protocol, TypedDict

from msgspec import Meta, Struct

from commonlore.api.communities_table import COMMUNITIES, CommunityDescription, RequestedRun
from commonlore.api.curation_table import (
    CURATION,
    AliasOutcome,
    CandidateList,
    IdentityOutcome,
    PredicateList,
    PredicateOutcome,
    RenameOutcome,
    ReversalOutcome,
)
from commonlore.api.erasures_table import ERASURES, ErasureOperations
from commonlore.api.fields import Id
from commonlore.api.hypotheses_table import HYPOTHESES, HypothesesDescription, RequestedProposals
from commonlore.api.jobs_table import JOBS, JobEntry, JobList
from commonlore.api.limits_table import LIMITS, LimitsDescription
from commonlore.api.projections_table import PROJECTIONS, FailedVectorList, GenerationEntry, ProjectionDescription
from commonlore.api.records_table import RECORDS, RecordOperations
from commonlore.api.spaces_table import SPACES, AdminSpace, MemberEntry, SpaceOperations
from commonlore.domain.community.request import DescribeCommunitiesRequest, RunCommunitiesRequest, UpdateCommunitiesRequest
from commonlore.domain.conflict.request import DescribeConflictRequest, ListConflictsRequest, UpdateConflictRulesRequest
from commonlore.domain.correct.identity_request import (
    ListCandidatesRequest,
    MergeEntitiesRequest,
    NameEntityRequest,
    ReverseCorrectionRequest,
    SplitEntityRequest,
)
from commonlore.domain.correct.vocabulary import DefinePredicateRequest, ListPredicatesRequest
from commonlore.domain.hypothesis.request import DescribeHypothesesRequest, RunHypothesesRequest, UpdateHypothesesRequest
from commonlore.domain.jobs.request import JobRequest, ListJobsRequest
from commonlore.domain.limits.request import DescribeLimitsRequest, UpdateLimitsRequest
from commonlore.domain.projection.request import (
    ActivateProjectionRequest,
    DescribeProjectionRequest,
    GenerationRequest,
    ListFailedVectorsRequest,
    StartProjectionRequest,
)
from commonlore.domain.tenancy.actor import MemoryBinding, Scope, UnclaimedEvidence
from commonlore.domain.tenancy.administration import KeyState
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.requests import (
    AddMemberRequest,
    CreateKeyRequest,
    DescribeTeamRequest,
    ListRequest,
    RetireMemberRequest,
    RevokeKeyRequest,
    RotateKeyRequest,
    UpdateTeamRequest,
)
from commonlore.domain.withdraw.quarantine import QuarantineDisposition, QuarantineRequest

Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
NextCursor = Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


class KeyEntry(TypedDict):
    """What may be shown of a key at any time: the ends of its text, never the secret."""

    credential_id: Id
    profile_id: Id
    profile_name: str
    name: str
    prefix: str
    suffix: str
    scopes: list[Scope]
    memory_binding: MemoryBinding
    state: KeyState
    known_from: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None


class IssuedKeyEntry(KeyEntry):
    """A key just made. `key` is its whole text, shown in this answer and never again."""

    key: str


class TeamEntry(TypedDict):
    """The key's own team."""

    team_id: Id
    name: str
    unclaimed_evidence: UnclaimedEvidence
    known_from: Instant


class MemberList(TypedDict):
    """Members in the order in which they were added; retired ones too."""

    members: list[MemberEntry]
    next_cursor: NextCursor


class KeyList(TypedDict):
    """Keys in the order in which they were made; revoked and expired ones too."""

    keys: list[KeyEntry]
    next_cursor: NextCursor


class SpaceList(TypedDict):
    """Spaces in the order in which they were made."""

    spaces: list[AdminSpace]
    next_cursor: NextCursor


class ConflictList(TypedDict):
    """Conflicts in the order in which they were opened, each as a recall shows it, decided and dismissed ones too."""

    conflicts: list[dict[str, Any]]
    next_cursor: NextCursor


class ConflictDescription(TypedDict):
    """One conflict as it stands, and what happened to it, in order."""

    conflict: dict[str, Any]
    review: Annotated[dict[str, Any] | None, Meta(description="What the review would say of an open case now.")]
    events: list[dict[str, Any]]
    events_truncated: bool


class ConflictRules(TypedDict):
    """How the team's conflicts are reviewed."""

    review_days: int
    quorum: int
    automatic: bool
    last_write_wins: bool


class QuarantinedEntry(TypedDict):
    """What became of one text."""

    evidence_id: Id
    disposition: QuarantineDisposition
    relationships_changed: int


class QuarantineOutcome(TypedDict):
    """The texts in the order of the request."""

    evidence: list[QuarantinedEntry]


class AdminOperations(SpaceOperations, RecordOperations, ErasureOperations, Protocol):
    """Each call opens its own transaction, authenticates `key` in it and requires the scope `admin`.

    Raises:
        CommonloreError
    """

    async def list_members(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> MemberList: ...

    async def add_member(self, key: PresentedKey, request: AddMemberRequest, *, correlation_id: str) -> MemberEntry: ...

    async def retire_member(self, key: PresentedKey, request: RetireMemberRequest, *, correlation_id: str) -> MemberEntry: ...

    async def list_keys(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> KeyList: ...

    async def create_key(self, key: PresentedKey, request: CreateKeyRequest, *, correlation_id: str) -> IssuedKeyEntry: ...

    async def rotate_key(self, key: PresentedKey, request: RotateKeyRequest, *, correlation_id: str) -> IssuedKeyEntry: ...

    async def revoke_key(self, key: PresentedKey, request: RevokeKeyRequest, *, correlation_id: str) -> KeyEntry: ...

    async def list_spaces(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> SpaceList: ...

    async def describe_team(self, key: PresentedKey, request: DescribeTeamRequest, *, correlation_id: str) -> TeamEntry: ...

    async def update_team(self, key: PresentedKey, request: UpdateTeamRequest, *, correlation_id: str) -> TeamEntry: ...

    async def quarantine_evidence(self, key: PresentedKey, request: QuarantineRequest, *, correlation_id: str) -> QuarantineOutcome: ...

    async def release_evidence(self, key: PresentedKey, request: QuarantineRequest, *, correlation_id: str) -> QuarantineOutcome: ...

    async def list_conflicts(self, key: PresentedKey, request: ListConflictsRequest, *, correlation_id: str) -> ConflictList: ...

    async def describe_conflict(self, key: PresentedKey, request: DescribeConflictRequest, *, correlation_id: str) -> ConflictDescription: ...

    async def update_conflict_rules(self, key: PresentedKey, request: UpdateConflictRulesRequest, *, correlation_id: str) -> ConflictRules: ...

    async def list_entity_candidates(self, key: PresentedKey, request: ListCandidatesRequest, *, correlation_id: str) -> CandidateList: ...

    async def merge_entities(self, key: PresentedKey, request: MergeEntitiesRequest, *, correlation_id: str) -> IdentityOutcome: ...

    async def split_entity(self, key: PresentedKey, request: SplitEntityRequest, *, correlation_id: str) -> IdentityOutcome: ...

    async def reverse_entity_correction(self, key: PresentedKey, request: ReverseCorrectionRequest, *, correlation_id: str) -> ReversalOutcome: ...

    async def rename_entity(self, key: PresentedKey, request: NameEntityRequest, *, correlation_id: str) -> RenameOutcome: ...

    async def add_entity_alias(self, key: PresentedKey, request: NameEntityRequest, *, correlation_id: str) -> AliasOutcome: ...

    async def list_predicates(self, key: PresentedKey, request: ListPredicatesRequest, *, correlation_id: str) -> PredicateList: ...

    async def define_predicate(self, key: PresentedKey, request: DefinePredicateRequest, *, correlation_id: str) -> PredicateOutcome: ...

    async def describe_communities(self, key: PresentedKey, request: DescribeCommunitiesRequest, *, correlation_id: str) -> CommunityDescription: ...

    async def update_communities(self, key: PresentedKey, request: UpdateCommunitiesRequest, *, correlation_id: str) -> CommunityDescription: ...

    async def run_communities(self, key: PresentedKey, request: RunCommunitiesRequest, *, correlation_id: str) -> RequestedRun: ...

    async def describe_hypotheses(self, key: PresentedKey, request: DescribeHypothesesRequest, *, correlation_id: str) -> HypothesesDescription: ...

    async def update_hypotheses(self, key: PresentedKey, request: UpdateHypothesesRequest, *, correlation_id: str) -> HypothesesDescription: ...

    async def run_hypotheses(self, key: PresentedKey, request: RunHypothesesRequest, *, correlation_id: str) -> RequestedProposals: ...

    async def list_jobs(self, key: PresentedKey, request: ListJobsRequest, *, correlation_id: str) -> JobList: ...

    async def describe_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry: ...

    async def cancel_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry: ...

    async def retry_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry: ...

    async def describe_projection(self, key: PresentedKey, request: DescribeProjectionRequest, *, correlation_id: str) -> ProjectionDescription: ...

    async def list_failed_vectors(self, key: PresentedKey, request: ListFailedVectorsRequest, *, correlation_id: str) -> FailedVectorList: ...

    async def start_projection(self, key: PresentedKey, request: StartProjectionRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def pause_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def resume_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def retry_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def activate_projection(self, key: PresentedKey, request: ActivateProjectionRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def roll_back_projection(self, key: PresentedKey, request: DescribeProjectionRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def retire_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry: ...

    async def describe_limits(self, key: PresentedKey, request: DescribeLimitsRequest, *, correlation_id: str) -> LimitsDescription: ...

    async def update_limits(self, key: PresentedKey, request: UpdateLimitsRequest, *, correlation_id: str) -> LimitsDescription: ...


@dataclass(frozen=True, slots=True)
class AdminSpec:
    """One operation: `POST /v1/admin/<name>`. `name` is the method of `AdminOperations` as well."""

    name: str
    title: str
    description: str
    request: type[Struct]
    result: type[Any]
    example: Mapping[str, object]
    scope: Scope = "admin"

    @property
    def path(self) -> str:
        return f"/v1/admin/{self.name}"

    def of(self, operations: AdminOperations) -> Callable[..., Awaitable[Mapping[str, object]]]:
        operation: Callable[..., Awaitable[Mapping[str, object]]] = getattr(operations, self.name)
        return operation


_ID = "01982f00-0000-7000-8000-000000000001"
_PAGED = "Entries come in the order in which they were made. One that is there from the first page to the last is shown exactly once, whatever comes or goes."
_SEEN = "All or none, in the spaces where the key may write."
_ONCE = "The answer holds the text of the key, which is stored nowhere and never shown again. A key hands on only scopes that it has."

_SPECS = (
    AdminSpec("list_members", "List members", f"Members of the team, retired ones too. {_PAGED}", ListRequest, MemberList, {"limit": 50}),
    AdminSpec(
        "add_member",
        "Add a member",
        "A name is taken for good, also by a member who is retired.",
        AddMemberRequest,
        MemberEntry,
        {"name": "Ada", "profile_kind": "human", "role": "member"},
    ),
    AdminSpec(
        "retire_member",
        "Retire a member",
        "Revokes the member's keys at once and ends its grants. What it wrote stays.",
        RetireMemberRequest,
        MemberEntry,
        {"profile_id": _ID},
    ),
    AdminSpec(
        "list_keys",
        "List keys",
        f"Keys of the team without their secrets, revoked and expired ones too. {_PAGED}",
        ListRequest,
        KeyList,
        {"limit": 50},
    ),
    AdminSpec(
        "create_key",
        "Create a key",
        f"{_ONCE} `profile_private` is for the caller's own member only: it would open another member's private space.",
        CreateKeyRequest,
        IssuedKeyEntry,
        {"profile_id": _ID, "name": "laptop", "scopes": ["read", "write"], "memory_binding": "credential_private", "expires": "90d"},
    ),
    AdminSpec(
        "rotate_key",
        "Rotate a key",
        f"A new text for a key of the caller's own member; the old one is invalid at once, the private space stays. {_ONCE} "
        "A key of another member cannot be rotated here, because its new text would open that member's private space.",
        RotateKeyRequest,
        IssuedKeyEntry,
        {"credential_id": _ID},
    ),
    AdminSpec(
        "revoke_key", "Revoke a key", "Any key of the team; the next request with it fails.", RevokeKeyRequest, KeyEntry, {"credential_id": _ID}
    ),
    AdminSpec("list_spaces", "List spaces", f"Spaces of the team, never what is in them. {_PAGED}", ListRequest, SpaceList, {"limit": 50}),
    AdminSpec("describe_team", "Describe the team", "The key's own team.", DescribeTeamRequest, TeamEntry, {}),
    AdminSpec(
        "update_team",
        "Update the team",
        "`unclaimed_evidence`: whether a text from which nothing was claimed is recalled; counts from the next recall on.",
        UpdateTeamRequest,
        TeamEntry,
        {"unclaimed_evidence": "withheld"},
    ),
    AdminSpec(
        "quarantine_evidence",
        "Quarantine evidence",
        f"Texts that are kept out of recalls, whoever wrote them; what they alone support waits for evidence. {_SEEN}",
        QuarantineRequest,
        QuarantineOutcome,
        {"evidence_ids": [_ID], "reason": "an instruction to agents"},
    ),
    AdminSpec(
        "release_evidence",
        "Release evidence",
        f"Texts that are recalled again and whose supports count again. {_SEEN}",
        QuarantineRequest,
        QuarantineOutcome,
        {"evidence_ids": [_ID], "reason": "a quotation, read by Ada"},
    ),
    AdminSpec(
        "list_conflicts",
        "List conflicts",
        "Cases of the spaces that the key may read, in the order in which they were opened; `status` keeps only those that stand so. "
        "The tool `resolve_conflict` decides one.",
        ListConflictsRequest,
        ConflictList,
        {"status": "open", "limit": 25},
    ),
    AdminSpec(
        "describe_conflict",
        "Describe a conflict",
        "One case with its history, and what a review would say of it now.",
        DescribeConflictRequest,
        ConflictDescription,
        {"conflict_id": _ID},
    ),
    AdminSpec(
        "update_conflict_rules",
        "Update the rules of conflicts",
        "`review_days`: how long a new case waits for people. `quorum`: members that must stand on a side for a vote. `automatic`: whether a review may "
        "decide by itself. `last_write_wins`: whether it may where no side has the majority. What is left out stays.",
        UpdateConflictRulesRequest,
        ConflictRules,
        {"review_days": 14},
    ),
    *(AdminSpec(*row) for row in (*SPACES, *CURATION, *JOBS, *COMMUNITIES, *HYPOTHESES, *PROJECTIONS, *LIMITS, *RECORDS)),
    *(AdminSpec(*row) for row in ERASURES),
)

ADMIN: Mapping[str, AdminSpec] = MappingProxyType({spec.name: spec for spec in _SPECS})
