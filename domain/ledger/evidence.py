"""Evidence: a text as it was said, its hash and what makes two of them one."""

from __future__ import annotations

import hashlib
from uuid import UUID

from commonlore.domain.remember.request import EvidenceProposal


def content_sha256(content: str) -> bytes:
    """SHA-256 of the UTF-8 text, 32 bytes."""
    return hashlib.sha256(content.encode("utf-8")).digest()


def duplicate_sha256(owner_profile_id: UUID, proposal: EvidenceProposal) -> bytes | None:
    """Equal for the same words of the same speaker, told by the same author from the same source revision.

    A later one becomes an occurrence of the first. None where the caller forces a text of its own.
    """
    if proposal.force_insert:
        return None
    parts = (str(owner_profile_id), proposal.speaker or "", proposal.source_key or "", proposal.source_revision or "", proposal.content)
    return hashlib.sha256("\0".join(parts).encode("utf-8")).digest()


def renewed_sha256(duplicate: bytes, ended_evidence_id: UUID) -> bytes:
    """The hash under which the same words are stored anew after the evidence with `duplicate` was withdrawn for good."""
    return hashlib.sha256(duplicate + ended_evidence_id.bytes).digest()


def source_group_key(proposal: EvidenceProposal, evidence_id: UUID) -> str:
    """What counts as one independent source: the stated group, else the source, else the text itself."""
    return proposal.source_group or proposal.source_key or proposal.source or str(evidence_id)
