"""The tools as methods.

Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Protocol, Unpack, cast

from commonlore.client import requests, results
from commonlore.client.calling import Answer, Repeatable


class SyncTools(Protocol):
    """Each tool as a method, with the fields of its request as keyword arguments."""

    def call(self, path: str, request: Mapping[str, Any], repeatable: Repeatable = "never") -> Answer: ...

    def each(self, path: str, request: Mapping[str, Any], name: str) -> Iterator[Any]: ...

    def remember(self, **request: Unpack[requests.RememberRequest]) -> results.RememberResult:
        """Remember."""
        answer = self.call("/v1/remember", cast(Mapping[str, Any], request), "with_key")
        return cast(results.RememberResult, answer)

    def ingest_session(self, **request: Unpack[requests.SessionRequest]) -> results.SessionResult:
        """Ingest a session."""
        answer = self.call("/v1/ingest_session", cast(Mapping[str, Any], request), "always")
        return cast(results.SessionResult, answer)

    def recall_memory(self, **request: Unpack[requests.RecallRequest]) -> results.RecallResult:
        """Recall memory."""
        answer = self.call("/v1/recall_memory", cast(Mapping[str, Any], request), "always")
        return cast(results.RecallResult, answer)

    def trace_memory(self, **request: Unpack[requests.TraceRequest]) -> results.TraceResult:
        """Trace memory."""
        answer = self.call("/v1/trace_memory", cast(Mapping[str, Any], request), "always")
        return cast(results.TraceResult, answer)

    def retract_evidence(self, **request: Unpack[requests.RetractRequest]) -> results.RetractResult:
        """Retract evidence."""
        answer = self.call("/v1/retract_evidence", cast(Mapping[str, Any], request), "always")
        return cast(results.RetractResult, answer)

    def resolve_conflict(self, **request: Unpack[requests.ResolveConflictRequest]) -> results.ResolutionResult:
        """Resolve a conflict."""
        answer = self.call("/v1/resolve_conflict", cast(Mapping[str, Any], request), "with_key")
        return cast(results.ResolutionResult, answer)

    def contest_evidence(self, **request: Unpack[requests.ContestEvidenceRequest]) -> results.ContestResult:
        """Contest evidence."""
        answer = self.call("/v1/contest_evidence", cast(Mapping[str, Any], request), "with_key")
        return cast(results.ContestResult, answer)

    def correct_relationship(self, **request: Unpack[requests.CorrectRequest]) -> results.CorrectResult:
        """Correct a relationship."""
        answer = self.call("/v1/correct_relationship", cast(Mapping[str, Any], request), "with_key")
        return cast(results.CorrectResult, answer)

    def list_briefs(self, **request: Unpack[requests.ListBriefsRequest]) -> results.BriefListAnswer:
        """List briefs."""
        answer = self.call("/v1/list_briefs", cast(Mapping[str, Any], request), "always")
        return cast(results.BriefListAnswer, answer)

    def each_of_list_briefs(self, **request: Unpack[requests.ListBriefsRequest]) -> Iterator[results.BriefEntryAnswer]:
        """Every entry of every page of `list_briefs`."""
        return self.each("/v1/list_briefs", cast(Mapping[str, Any], request), "briefs")

    def describe_brief(self, **request: Unpack[requests.DescribeBriefRequest]) -> results.DescribedBriefAnswer:
        """Describe a brief."""
        answer = self.call("/v1/describe_brief", cast(Mapping[str, Any], request), "always")
        return cast(results.DescribedBriefAnswer, answer)

    def claim_brief(self, **request: Unpack[requests.ClaimBriefRequest]) -> results.ClaimedBriefAnswer:
        """Claim a brief."""
        answer = self.call("/v1/claim_brief", cast(Mapping[str, Any], request), "never")
        return cast(results.ClaimedBriefAnswer, answer)

    def release_brief(self, **request: Unpack[requests.ReleaseBriefRequest]) -> results.ReleasedBriefAnswer:
        """Give a brief back."""
        answer = self.call("/v1/release_brief", cast(Mapping[str, Any], request), "never")
        return cast(results.ReleasedBriefAnswer, answer)

    def submit_verdict(self, **request: Unpack[requests.SubmitVerdictRequest]) -> results.VerdictAnswer:
        """Submit a verdict."""
        answer = self.call("/v1/submit_verdict", cast(Mapping[str, Any], request), "with_key")
        return cast(results.VerdictAnswer, answer)

    def list_dreams(self, **request: Unpack[requests.ListDreamsRequest]) -> results.DreamList:
        """List hypotheses."""
        answer = self.call("/v1/list_dreams", cast(Mapping[str, Any], request), "always")
        return cast(results.DreamList, answer)

    def each_of_list_dreams(self, **request: Unpack[requests.ListDreamsRequest]) -> Iterator[dict[str, Any]]:
        """Every entry of every page of `list_dreams`."""
        return self.each("/v1/list_dreams", cast(Mapping[str, Any], request), "dreams")

    def get_dream(self, **request: Unpack[requests.GetDreamRequest]) -> results.Dream:
        """Show a hypothesis."""
        answer = self.call("/v1/get_dream", cast(Mapping[str, Any], request), "always")
        return cast(results.Dream, answer)

    def resolve_dream_feedback(self, **request: Unpack[requests.ResolveDreamRequest]) -> results.DreamResolution:
        """Decide a hypothesis."""
        answer = self.call("/v1/resolve_dream_feedback", cast(Mapping[str, Any], request), "with_key")
        return cast(results.DreamResolution, answer)

    def submit_recall_session_feedback(self, **request: Unpack[requests.SubmitFeedbackRequest]) -> results.FeedbackReceipt:
        """Say how good recalls were."""
        answer = self.call("/v1/submit_recall_session_feedback", cast(Mapping[str, Any], request), "always")
        return cast(results.FeedbackReceipt, answer)

    def promote_evidence(self, **request: Unpack[requests.PromoteRequest]) -> results.PromotionAnswer:
        """Promote private texts."""
        answer = self.call("/v1/promote_evidence", cast(Mapping[str, Any], request), "always")
        return cast(results.PromotionAnswer, answer)

    def list_promotions(self, **request: Unpack[requests.ListPromotionsRequest]) -> results.PromotionList:
        """List promotions."""
        answer = self.call("/v1/list_promotions", cast(Mapping[str, Any], request), "always")
        return cast(results.PromotionList, answer)

    def decide_promotion(self, **request: Unpack[requests.DecidePromotionRequest]) -> results.PromotionDecision:
        """Decide a request for a promotion."""
        answer = self.call("/v1/decide_promotion", cast(Mapping[str, Any], request), "never")
        return cast(results.PromotionDecision, answer)

    def revoke_promotion(self, **request: Unpack[requests.RevokePromotionRequest]) -> results.Revocation:
        """Take a promotion back."""
        answer = self.call("/v1/revoke_promotion", cast(Mapping[str, Any], request), "always")
        return cast(results.Revocation, answer)


class AsyncTools(Protocol):
    """Each tool as a method, with the fields of its request as keyword arguments. Each is a coroutine."""

    async def call(self, path: str, request: Mapping[str, Any], repeatable: Repeatable = "never") -> Answer: ...

    def each(self, path: str, request: Mapping[str, Any], name: str) -> AsyncIterator[Any]: ...

    async def remember(self, **request: Unpack[requests.RememberRequest]) -> results.RememberResult:
        """Remember."""
        answer = await self.call("/v1/remember", cast(Mapping[str, Any], request), "with_key")
        return cast(results.RememberResult, answer)

    async def ingest_session(self, **request: Unpack[requests.SessionRequest]) -> results.SessionResult:
        """Ingest a session."""
        answer = await self.call("/v1/ingest_session", cast(Mapping[str, Any], request), "always")
        return cast(results.SessionResult, answer)

    async def recall_memory(self, **request: Unpack[requests.RecallRequest]) -> results.RecallResult:
        """Recall memory."""
        answer = await self.call("/v1/recall_memory", cast(Mapping[str, Any], request), "always")
        return cast(results.RecallResult, answer)

    async def trace_memory(self, **request: Unpack[requests.TraceRequest]) -> results.TraceResult:
        """Trace memory."""
        answer = await self.call("/v1/trace_memory", cast(Mapping[str, Any], request), "always")
        return cast(results.TraceResult, answer)

    async def retract_evidence(self, **request: Unpack[requests.RetractRequest]) -> results.RetractResult:
        """Retract evidence."""
        answer = await self.call("/v1/retract_evidence", cast(Mapping[str, Any], request), "always")
        return cast(results.RetractResult, answer)

    async def resolve_conflict(self, **request: Unpack[requests.ResolveConflictRequest]) -> results.ResolutionResult:
        """Resolve a conflict."""
        answer = await self.call("/v1/resolve_conflict", cast(Mapping[str, Any], request), "with_key")
        return cast(results.ResolutionResult, answer)

    async def contest_evidence(self, **request: Unpack[requests.ContestEvidenceRequest]) -> results.ContestResult:
        """Contest evidence."""
        answer = await self.call("/v1/contest_evidence", cast(Mapping[str, Any], request), "with_key")
        return cast(results.ContestResult, answer)

    async def correct_relationship(self, **request: Unpack[requests.CorrectRequest]) -> results.CorrectResult:
        """Correct a relationship."""
        answer = await self.call("/v1/correct_relationship", cast(Mapping[str, Any], request), "with_key")
        return cast(results.CorrectResult, answer)

    async def list_briefs(self, **request: Unpack[requests.ListBriefsRequest]) -> results.BriefListAnswer:
        """List briefs."""
        answer = await self.call("/v1/list_briefs", cast(Mapping[str, Any], request), "always")
        return cast(results.BriefListAnswer, answer)

    def each_of_list_briefs(self, **request: Unpack[requests.ListBriefsRequest]) -> AsyncIterator[results.BriefEntryAnswer]:
        """Every entry of every page of `list_briefs`."""
        return self.each("/v1/list_briefs", cast(Mapping[str, Any], request), "briefs")

    async def describe_brief(self, **request: Unpack[requests.DescribeBriefRequest]) -> results.DescribedBriefAnswer:
        """Describe a brief."""
        answer = await self.call("/v1/describe_brief", cast(Mapping[str, Any], request), "always")
        return cast(results.DescribedBriefAnswer, answer)

    async def claim_brief(self, **request: Unpack[requests.ClaimBriefRequest]) -> results.ClaimedBriefAnswer:
        """Claim a brief."""
        answer = await self.call("/v1/claim_brief", cast(Mapping[str, Any], request), "never")
        return cast(results.ClaimedBriefAnswer, answer)

    async def release_brief(self, **request: Unpack[requests.ReleaseBriefRequest]) -> results.ReleasedBriefAnswer:
        """Give a brief back."""
        answer = await self.call("/v1/release_brief", cast(Mapping[str, Any], request), "never")
        return cast(results.ReleasedBriefAnswer, answer)

    async def submit_verdict(self, **request: Unpack[requests.SubmitVerdictRequest]) -> results.VerdictAnswer:
        """Submit a verdict."""
        answer = await self.call("/v1/submit_verdict", cast(Mapping[str, Any], request), "with_key")
        return cast(results.VerdictAnswer, answer)

    async def list_dreams(self, **request: Unpack[requests.ListDreamsRequest]) -> results.DreamList:
        """List hypotheses."""
        answer = await self.call("/v1/list_dreams", cast(Mapping[str, Any], request), "always")
        return cast(results.DreamList, answer)

    def each_of_list_dreams(self, **request: Unpack[requests.ListDreamsRequest]) -> AsyncIterator[dict[str, Any]]:
        """Every entry of every page of `list_dreams`."""
        return self.each("/v1/list_dreams", cast(Mapping[str, Any], request), "dreams")

    async def get_dream(self, **request: Unpack[requests.GetDreamRequest]) -> results.Dream:
        """Show a hypothesis."""
        answer = await self.call("/v1/get_dream", cast(Mapping[str, Any], request), "always")
        return cast(results.Dream, answer)

    async def resolve_dream_feedback(self, **request: Unpack[requests.ResolveDreamRequest]) -> results.DreamResolution:
        """Decide a hypothesis."""
        answer = await self.call("/v1/resolve_dream_feedback", cast(Mapping[str, Any], request), "with_key")
        return cast(results.DreamResolution, answer)

    async def submit_recall_session_feedback(self, **request: Unpack[requests.SubmitFeedbackRequest]) -> results.FeedbackReceipt:
        """Say how good recalls were."""
        answer = await self.call("/v1/submit_recall_session_feedback", cast(Mapping[str, Any], request), "always")
        return cast(results.FeedbackReceipt, answer)

    async def promote_evidence(self, **request: Unpack[requests.PromoteRequest]) -> results.PromotionAnswer:
        """Promote private texts."""
        answer = await self.call("/v1/promote_evidence", cast(Mapping[str, Any], request), "always")
        return cast(results.PromotionAnswer, answer)

    async def list_promotions(self, **request: Unpack[requests.ListPromotionsRequest]) -> results.PromotionList:
        """List promotions."""
        answer = await self.call("/v1/list_promotions", cast(Mapping[str, Any], request), "always")
        return cast(results.PromotionList, answer)

    async def decide_promotion(self, **request: Unpack[requests.DecidePromotionRequest]) -> results.PromotionDecision:
        """Decide a request for a promotion."""
        answer = await self.call("/v1/decide_promotion", cast(Mapping[str, Any], request), "never")
        return cast(results.PromotionDecision, answer)

    async def revoke_promotion(self, **request: Unpack[requests.RevokePromotionRequest]) -> results.Revocation:
        """Take a promotion back."""
        answer = await self.call("/v1/revoke_promotion", cast(Mapping[str, Any], request), "always")
        return cast(results.Revocation, answer)
