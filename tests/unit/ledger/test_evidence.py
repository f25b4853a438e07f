"""What makes two texts one, and what counts as one source."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.domain.ledger.evidence import content_sha256, duplicate_sha256, source_group_key
from commonlore.domain.remember.request import EvidenceProposal

ANN, BEN = UUID(int=1), UUID(int=2)


def a_text(**fields: Any) -> EvidenceProposal:
    return msgspec.convert({"content": "Same words.", **fields}, EvidenceProposal)


def test_the_content_hash_is_sha256_of_utf8() -> None:
    assert "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c" == content_sha256("é").hex()


@pytest.mark.parametrize("fields", [{"labels": ["x"]}, {"source": "mail"}, {"session": "s", "sequence": 1}, {"occurred_at": "2026-07-01T00:00:00Z"}])
def test_circumstances_do_not_make_another_text(fields: dict[str, Any]) -> None:
    assert duplicate_sha256(ANN, a_text()) == duplicate_sha256(ANN, a_text(**fields))


@pytest.mark.parametrize("fields", [{"speaker": "Mark"}, {"source_key": "k", "source_revision": "1"}, {"content": "same words."}])
def test_speaker_source_and_words_do(fields: dict[str, Any]) -> None:
    assert duplicate_sha256(ANN, a_text()) != duplicate_sha256(ANN, a_text(**fields))


def test_another_author_or_force_makes_another_text() -> None:
    assert duplicate_sha256(ANN, a_text()) != duplicate_sha256(BEN, a_text())
    assert duplicate_sha256(ANN, a_text(force_insert=True)) is None


def test_the_source_group_is_the_nearest_statement_of_origin() -> None:
    evidence_id = UUID(int=7)
    keyed = {"source_key": "key", "source_revision": "1"}

    assert ["group", "key", "mail", str(evidence_id)] == [
        source_group_key(a_text(**fields), evidence_id)
        for fields in ({"source_group": "group", "source": "mail", **keyed}, {"source": "mail", **keyed}, {"source": "mail"}, {})
    ]
