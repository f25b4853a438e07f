"""The operations of an administrator over the assembled adapters: authenticate, require the scope, apply the rules, act, in one transaction.

The functions of `db/tenancy.py` are those that the command line calls. The rules that only a caller with a key has are
here: it hands on no scope that it lacks, and opens no private space but its own member's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast
from uuid import UUID

from commonlore.api import communities, conflicts, curation, hypotheses, limit_settings, projections
from commonlore.api.admin import (
    ConflictDescription,
    ConflictList,
    ConflictRules,
    IssuedKeyEntry,
    KeyEntry,
    KeyList,
    MemberList,
    QuarantinedEntry,
    QuarantineOutcome,
    SpaceList,
    TeamEntry,
)
from commonlore.api.communities_table import CommunityDescription, RequestedRun
from commonlore.api.curation import IdentityWrite
from commonlore.api.curation_table import (
    AliasOutcome,
    CandidateList,
    IdentityOutcome,
    PredicateList,
    PredicateOutcome,
    RenameOutcome,
    ReversalOutcome,
)
from commonlore.api.erasures import ErasureAdministration
from commonlore.api.hypotheses_table import HypothesesDescription, RequestedProposals
from commonlore.api.jobs import job_entry, list_jobs
from commonlore.api.jobs_table import JobEntry, JobList
from commonlore.api.limits_table import LimitsDescription
from commonlore.api.projections_table import FailedVectorList, GenerationEntry, ProjectionDescription
from commonlore.api.records import TeamRecords
from commonlore.api.spaces import SpaceAdministration, member_entry, space_entry
from commonlore.api.spaces_table import MemberEntry
from commonlore.db import jobs, tenancy
from commonlore.db.identity import Act
from commonlore.db.retraction import decide_quarantine
from commonlore.domain.checks import require_visible
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
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.administration import (
    IssuedKey,
    Key,
    Member,
    SpaceEntry,
    TeamDescription,
    read_expiry,
    read_name,
    read_scopes,
    require_grantable,
    require_own_key,
    require_own_space,
)
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.paging import ListName, Page, decode_cursor, encode_cursor
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
from commonlore.domain.time import render_if_any, render_instant
from commonlore.domain.withdraw.quarantine import QuarantinedEvidence, QuarantineRequest


class TeamAdministration(TeamRecords, SpaceAdministration, ErasureAdministration):
    """`AdminOperations`."""

    __slots__ = ()

    async def list_members(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> MemberList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            page = await tenancy.page_members(transaction, after=_after(actor, "members", request), limit=request.limit)
        return {"members": [member_entry(entry) for entry in page.entries], "next_cursor": _next(actor, "members", page)}

    async def add_member(self, key: PresentedKey, request: AddMemberRequest, *, correlation_id: str) -> MemberEntry:
        async with self._admitted(key) as (_, transaction, now):
            made = await tenancy.add_member(
                transaction, name=read_name("/name", request.name), profile_kind=request.profile_kind, role=request.role, now=now
            )
        return member_entry(made)

    async def retire_member(self, key: PresentedKey, request: RetireMemberRequest, *, correlation_id: str) -> MemberEntry:
        async with self._admitted(key) as (actor, transaction, now):
            return member_entry(await tenancy.retire_member(transaction, request.profile_id, now=now, actor_profile_id=actor.profile_id))

    async def list_keys(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> KeyList:
        async with self._admitted(key, reads=True) as (actor, transaction, now):
            page = await tenancy.page_keys(transaction, after=_after(actor, "keys", request), limit=request.limit)
        return {"keys": [_key(entry, now) for entry in page.entries], "next_cursor": _next(actor, "keys", page)}

    async def create_key(self, key: PresentedKey, request: CreateKeyRequest, *, correlation_id: str) -> IssuedKeyEntry:
        async with self._admitted(key) as (actor, transaction, now):
            scopes = read_scopes("/scopes", request.scopes)
            require_grantable(scopes, actor.scopes)
            member = await tenancy.lock_member(transaction, request.profile_id)
            require_own_space(actor, member.profile_id, request.memory_binding)
            issued = await tenancy.mint_key(
                transaction,
                member.profile_id,
                name=read_name("/name", request.name),
                scopes=scopes,
                memory_binding=request.memory_binding,
                expires_at=read_expiry("/expires", request.expires, now=now),
                now=now,
            )
        return _issued(issued, now)

    async def rotate_key(self, key: PresentedKey, request: RotateKeyRequest, *, correlation_id: str) -> IssuedKeyEntry:
        async with self._admitted(key) as (actor, transaction, now):
            require_own_key(actor, await tenancy.read_key(transaction, request.credential_id))
            end = read_expiry("/expires", request.expires, now=now)
            issued = await tenancy.rotate_key(transaction, request.credential_id, now=now, expires_at=end)
        return _issued(issued, now)

    async def revoke_key(self, key: PresentedKey, request: RevokeKeyRequest, *, correlation_id: str) -> KeyEntry:
        async with self._admitted(key) as (_, transaction, now):
            return _key(await tenancy.revoke_key(transaction, request.credential_id, now=now), now)

    async def list_spaces(self, key: PresentedKey, request: ListRequest, *, correlation_id: str) -> SpaceList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            page = await tenancy.page_spaces(transaction, after=_after(actor, "spaces", request), limit=request.limit)
        return {"spaces": [space_entry(entry) for entry in page.entries], "next_cursor": _next(actor, "spaces", page)}

    async def describe_team(self, key: PresentedKey, request: DescribeTeamRequest, *, correlation_id: str) -> TeamEntry:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return _team(await tenancy.describe_team(transaction))

    async def update_team(self, key: PresentedKey, request: UpdateTeamRequest, *, correlation_id: str) -> TeamEntry:
        async with self._admitted(key) as (_, transaction, _):
            return _team(await tenancy.set_unclaimed_evidence(transaction, request.unclaimed_evidence))

    async def quarantine_evidence(self, key: PresentedKey, request: QuarantineRequest, *, correlation_id: str) -> QuarantineOutcome:
        return await self._decide(key, request, held=True)

    async def release_evidence(self, key: PresentedKey, request: QuarantineRequest, *, correlation_id: str) -> QuarantineOutcome:
        return await self._decide(key, request, held=False)

    async def list_conflicts(self, key: PresentedKey, request: ListConflictsRequest, *, correlation_id: str) -> ConflictList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            return cast(ConflictList, await conflicts.list_conflicts(actor, transaction, request))

    async def describe_conflict(self, key: PresentedKey, request: DescribeConflictRequest, *, correlation_id: str) -> ConflictDescription:
        async with self._admitted(key, reads=True) as (actor, transaction, now):
            return cast(ConflictDescription, await conflicts.describe_conflict(actor, transaction, request, now=now))

    async def update_conflict_rules(self, key: PresentedKey, request: UpdateConflictRulesRequest, *, correlation_id: str) -> ConflictRules:
        async with self._admitted(key) as (_, transaction, _):
            return cast(ConflictRules, await conflicts.update_conflict_rules(transaction, request))

    async def list_entity_candidates(self, key: PresentedKey, request: ListCandidatesRequest, *, correlation_id: str) -> CandidateList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            await transaction.enter(actor.target(request.target_space, request.space, reads=True).space_id)
            return cast(CandidateList, await curation.candidates(transaction, request))

    async def merge_entities(self, key: PresentedKey, request: MergeEntitiesRequest, *, correlation_id: str) -> IdentityOutcome:
        async with self._acting(key, request) as act:
            return cast(IdentityOutcome, await curation.merge(act, request))

    async def split_entity(self, key: PresentedKey, request: SplitEntityRequest, *, correlation_id: str) -> IdentityOutcome:
        async with self._acting(key, request) as act:
            return cast(IdentityOutcome, await curation.split(act, request))

    async def reverse_entity_correction(self, key: PresentedKey, request: ReverseCorrectionRequest, *, correlation_id: str) -> ReversalOutcome:
        async with self._acting(key, request) as act:
            return cast(ReversalOutcome, await curation.reverse(act, request))

    async def rename_entity(self, key: PresentedKey, request: NameEntityRequest, *, correlation_id: str) -> RenameOutcome:
        async with self._acting(key, request) as act:
            return cast(RenameOutcome, await curation.rename(act, request))

    async def add_entity_alias(self, key: PresentedKey, request: NameEntityRequest, *, correlation_id: str) -> AliasOutcome:
        async with self._acting(key, request) as act:
            return cast(AliasOutcome, await curation.add_alias(act, request))

    async def list_predicates(self, key: PresentedKey, request: ListPredicatesRequest, *, correlation_id: str) -> PredicateList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            await transaction.enter(actor.target(request.target_space, request.space, reads=True).space_id)
            return cast(PredicateList, await curation.list_predicates(transaction, request))

    async def define_predicate(self, key: PresentedKey, request: DefinePredicateRequest, *, correlation_id: str) -> PredicateOutcome:
        async with self._acting(key, request) as act:
            return cast(PredicateOutcome, await curation.define_predicate(act, request))

    async def describe_communities(self, key: PresentedKey, request: DescribeCommunitiesRequest, *, correlation_id: str) -> CommunityDescription:
        async with self._admitted(key, reads=True) as (actor, transaction, now):
            return await communities.describe_communities(actor, transaction, request, now=now)

    async def update_communities(self, key: PresentedKey, request: UpdateCommunitiesRequest, *, correlation_id: str) -> CommunityDescription:
        async with self._admitted(key) as (actor, transaction, now):
            return await communities.update_communities(actor, transaction, request, now=now)

    async def run_communities(self, key: PresentedKey, request: RunCommunitiesRequest, *, correlation_id: str) -> RequestedRun:
        async with self._admitted(key) as (actor, transaction, _):
            return await communities.run_communities(actor, transaction, request)

    async def describe_hypotheses(self, key: PresentedKey, request: DescribeHypothesesRequest, *, correlation_id: str) -> HypothesesDescription:
        async with self._admitted(key, reads=True) as (actor, transaction, now):
            return await hypotheses.describe_hypotheses(actor, transaction, request, now=now)

    async def update_hypotheses(self, key: PresentedKey, request: UpdateHypothesesRequest, *, correlation_id: str) -> HypothesesDescription:
        async with self._admitted(key) as (actor, transaction, now):
            return await hypotheses.update_hypotheses(actor, transaction, request, now=now)

    async def run_hypotheses(self, key: PresentedKey, request: RunHypothesesRequest, *, correlation_id: str) -> RequestedProposals:
        async with self._admitted(key) as (actor, transaction, _):
            return await hypotheses.run_hypotheses(actor, transaction, request)

    async def list_jobs(self, key: PresentedKey, request: ListJobsRequest, *, correlation_id: str) -> JobList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return await list_jobs(transaction, request)

    async def describe_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return job_entry(await jobs.read_job(transaction, request.job_id))

    async def cancel_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry:
        async with self._admitted(key) as (_, transaction, _):
            return job_entry(await jobs.cancel_job(transaction, request.job_id))

    async def retry_job(self, key: PresentedKey, request: JobRequest, *, correlation_id: str) -> JobEntry:
        async with self._admitted(key) as (_, transaction, _):
            return job_entry(await jobs.retry_job(transaction, request.job_id))

    async def describe_projection(self, key: PresentedKey, request: DescribeProjectionRequest, *, correlation_id: str) -> ProjectionDescription:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return await projections.describe_projection(transaction)

    async def list_failed_vectors(self, key: PresentedKey, request: ListFailedVectorsRequest, *, correlation_id: str) -> FailedVectorList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return await projections.list_failed_vectors(transaction, request)

    async def start_projection(self, key: PresentedKey, request: StartProjectionRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.start_projection(transaction, request, now=now)

    async def pause_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.steer_projection(transaction, "pause", request, now=now)

    async def resume_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.steer_projection(transaction, "resume", request, now=now)

    async def retry_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.steer_projection(transaction, "retry", request, now=now)

    async def retire_projection(self, key: PresentedKey, request: GenerationRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.steer_projection(transaction, "retire", request, now=now)

    async def activate_projection(self, key: PresentedKey, request: ActivateProjectionRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.activate_projection(transaction, request, now=now)

    async def roll_back_projection(self, key: PresentedKey, request: DescribeProjectionRequest, *, correlation_id: str) -> GenerationEntry:
        async with self._admitted(key) as (_, transaction, now):
            return await projections.roll_back_projection(transaction, now=now)

    async def describe_limits(self, key: PresentedKey, request: DescribeLimitsRequest, *, correlation_id: str) -> LimitsDescription:
        async with self._admitted(key, reads=True) as (_, transaction, now):
            return await limit_settings.describe_limits(transaction, request, now=now)

    async def update_limits(self, key: PresentedKey, request: UpdateLimitsRequest, *, correlation_id: str) -> LimitsDescription:
        async with self._admitted(key) as (_, transaction, now):
            return await limit_settings.update_limits(transaction, request, now=now)

    @asynccontextmanager
    async def _acting(self, key: PresentedKey, request: IdentityWrite | DefinePredicateRequest) -> AsyncIterator[Act]:
        """An act of the administrator in one of the spaces that the key may write."""
        require_visible("/reason", request.reason)
        async with self._admitted(key) as (actor, transaction, now):
            space = actor.target(request.target_space, request.space)
            await transaction.enter(space.space_id)
            yield Act(transaction, space.space_id, request.reason, actor.profile_id, now, actor.credential_id)

    async def _decide(self, key: PresentedKey, request: QuarantineRequest, *, held: bool) -> QuarantineOutcome:
        request.validate()
        async with self._admitted(key) as (actor, transaction, now):
            spaces = [space.space_id for space in actor.spaces if space.can_write]
            decided = await decide_quarantine(transaction, spaces, request, held=held, actor_profile_id=actor.profile_id, now=now)
        return {"evidence": [_quarantined(item) for item in decided]}


def _quarantined(item: QuarantinedEvidence) -> QuarantinedEntry:
    return {"evidence_id": str(item.evidence_id), "disposition": item.disposition, "relationships_changed": item.relationships_changed}


def _after(actor: Actor, name: ListName, request: ListRequest) -> UUID | None:
    return None if request.cursor is None else decode_cursor(request.cursor, actor.team_id, name)


def _next(actor: Actor, name: ListName, page: Page[Member] | Page[Key] | Page[SpaceEntry]) -> str | None:
    return None if page.last_id is None else encode_cursor(actor.team_id, name, page.last_id)


def _key(key: Key, now: datetime) -> KeyEntry:
    return {
        "credential_id": str(key.credential_id),
        "profile_id": str(key.profile_id),
        "profile_name": key.profile_name,
        "name": key.name,
        "prefix": key.prefix,
        "suffix": key.suffix,
        "scopes": list(key.scopes),
        "memory_binding": key.memory_binding,
        "state": key.state(now),
        "known_from": render_instant(key.known_from),
        "expires_at": render_if_any(key.expires_at),
        "revoked_at": render_if_any(key.revoked_at),
        "last_used_at": render_if_any(key.last_used_at),
    }


def _issued(issued: IssuedKey, now: datetime) -> IssuedKeyEntry:
    return {**_key(issued.key, now), "key": issued.text}


def _team(team: TeamDescription) -> TeamEntry:
    return {
        "team_id": str(team.team_id),
        "name": team.name,
        "unclaimed_evidence": team.unclaimed_evidence,
        "known_from": render_instant(team.known_from),
    }
