"""The operations on a team's records inside an administrator's transaction: read or steer, then encode."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import datetime
from typing import cast

from commonlore.api.admitting import Admitting
from commonlore.api.feedback import describe_feedback
from commonlore.api.feedback_table import FeedbackReport, FeedbackSwitch
from commonlore.api.records_table import AuditEntryShown, AuditList, NearDuplicate, NearDuplicateList, SealList, SealShown
from commonlore.api.retention_table import RequestedRetention, RetentionCountsShown, RetentionDescription, RetentionRuleShown
from commonlore.db import audit_log, feedback, retention
from commonlore.db.jobs import enqueue
from commonlore.db.near_duplicates import NearPair, near_pairs, read_near_texts
from commonlore.db.session import TeamTransaction
from commonlore.domain.audit.entry import Seal, SealState
from commonlore.domain.audit.request import ListAuditRequest, ListSealsRequest
from commonlore.domain.feedback.request import DescribeFeedbackRequest, UpdateFeedbackRequest
from commonlore.domain.jobs.kind import APPLY_RETENTION
from commonlore.domain.quality.near_duplicates import ListNearDuplicatesRequest
from commonlore.domain.retention.rule import DescribeRetentionRequest, RunRetentionRequest, UpdateRetentionRequest
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.paging import decode_cursor, encode_cursor
from commonlore.domain.time import render_instant


class TeamRecords(Admitting):
    """`RecordOperations`."""

    __slots__ = ()

    async def list_audit(self, key: PresentedKey, request: ListAuditRequest, *, correlation_id: str) -> AuditList:
        begins = request.cursor is None
        async with self._admitted(key, reads=not begins) as (actor, transaction, _):
            transaction.noted.is_logged = begins
            before = decode_cursor(request.cursor, actor.team_id, "audit") if request.cursor else None
            page = await audit_log.page_entries(transaction, request, before=before)
        return {
            "entries": [cast(AuditEntryShown, entry.shown()) for entry in page.entries],
            "next_cursor": encode_cursor(actor.team_id, "audit", page.last_id) if page.last_id else None,
        }

    async def list_audit_seals(self, key: PresentedKey, request: ListSealsRequest, *, correlation_id: str) -> SealList:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            removed_to = (await retention.read_retention(transaction)).audit_removed_to
            found = await audit_log.verify_seals(transaction, after=request.after, limit=request.limit, removed_to=removed_to)
            head = await audit_log.last_seal(transaction)
            waiting = await audit_log.count_unsealed(transaction)
        last = found[-1][0].ordinal if found else 0
        return {
            "seals": [_seal(seal, state) for seal, state in found],
            "next_after": last if head is not None and found and last < head.ordinal else None,
            "seals_total": head.ordinal if head else 0,
            "head_sha256": head.seal_sha256.hex() if head else None,
            "unsealed_entries": waiting,
        }

    async def list_near_duplicates(self, key: PresentedKey, request: ListNearDuplicatesRequest, *, correlation_id: str) -> NearDuplicateList:
        async with self._admitted(key, reads=True) as (actor, transaction, _):
            after = decode_cursor(request.cursor, actor.team_id, "near_duplicates") if request.cursor else None
            await transaction.enter(actor.target(request.target_space).space_id)
            page = await read_near_texts(transaction, request, after)
        pairs = await asyncio.to_thread(near_pairs, page, request.min_similarity_percent)
        return {
            "pairs": [_near(pair) for pair in pairs],
            "looked_at": page.looked_at,
            "next_cursor": encode_cursor(actor.team_id, "near_duplicates", page.last_id) if page.last_id else None,
        }

    async def describe_feedback(self, key: PresentedKey, request: DescribeFeedbackRequest, *, correlation_id: str) -> FeedbackReport:
        async with self._admitted(key, reads=True) as (_, transaction, _):
            return await describe_feedback(transaction, request)

    async def update_feedback(self, key: PresentedKey, request: UpdateFeedbackRequest, *, correlation_id: str) -> FeedbackSwitch:
        async with self._admitted(key) as (_, transaction, _):
            return {"enabled": await feedback.set_enabled(transaction, enabled=request.enabled)}

    async def describe_retention(self, key: PresentedKey, request: DescribeRetentionRequest, *, correlation_id: str) -> RetentionDescription:
        async with self._admitted(key, reads=True) as (_, transaction, now):
            return await _retention(transaction, request, now)

    async def update_retention(self, key: PresentedKey, request: UpdateRetentionRequest, *, correlation_id: str) -> RetentionDescription:
        request.validate()
        async with self._admitted(key) as (_, transaction, now):
            found = await retention.read_retention(transaction)
            await retention.set_rule(transaction, found.rule.changed(request))
            return await _retention(transaction, DescribeRetentionRequest(), now)

    async def run_retention(self, key: PresentedKey, request: RunRetentionRequest, *, correlation_id: str) -> RequestedRetention:
        async with self._admitted(key) as (_, transaction, _):
            job_id = await enqueue(transaction, APPLY_RETENTION)
        return {"job_id": str(job_id) if job_id else None}


async def _retention(transaction: TeamTransaction, request: DescribeRetentionRequest, now: datetime) -> RetentionDescription:
    found = await retention.read_retention(transaction)
    rule = found.rule.changed(request)
    counts = await retention.preview(transaction, rule, removed_to=found.audit_removed_to, now=now)
    return {
        "rule": cast(RetentionRuleShown, asdict(rule)),
        "would_remove": cast(RetentionCountsShown, asdict(counts)),
        "last_run_at": render_instant(found.last_run_at) if found.last_run_at else None,
    }


def _seal(seal: Seal, state: SealState) -> SealShown:
    return {
        "ordinal": seal.ordinal,
        "entries": len(seal.entry_ids),
        "state": state,
        "sha256": seal.seal_sha256.hex(),
        "known_from": render_instant(seal.known_from),
    }


def _near(pair: NearPair) -> NearDuplicate:
    return {
        "evidence_id": str(pair.evidence_id),
        "other_evidence_id": str(pair.other_id),
        "similarity_percent": pair.similarity_percent,
        "is_same_text": pair.is_same_text,
        "begins": pair.begins,
        "other_begins": pair.other_begins,
    }
