"""COMMONLORE_EVIDENCE_CONTRACT and COMMONLORE_SPACE_FUSION."""

from __future__ import annotations

import pytest

from commonlore.db.settings import read_settings
from commonlore.domain.errors import OperatorError
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS
from commonlore.domain.recall.fusion import SPACE_FUSIONS


def test_the_default_is_that_of_the_policy() -> None:
    """One place says which contract a recall uses unless it is told."""

    assert RankingPolicy().evidence_contract == read_settings({"HOME": "/nonexistent"}).evidence_contract


@pytest.mark.parametrize("name", EVIDENCE_CONTRACTS)
def test_every_contract_can_be_chosen(name: str) -> None:
    """By its name, and the settings say where it came from."""

    settings = read_settings({"HOME": "/nonexistent", "COMMONLORE_EVIDENCE_CONTRACT": name})

    assert (name, "environment") == (settings.evidence_contract, dict(settings.origins)["evidence_contract"])


def test_another_name_stops_the_start() -> None:
    """With the names that there are."""

    with pytest.raises(OperatorError, match="COMMONLORE_EVIDENCE_CONTRACT must be `rrf-1` or `zscore-1` or `zscore-2`"):
        read_settings({"HOME": "/nonexistent", "COMMONLORE_EVIDENCE_CONTRACT": "zscore"})


@pytest.mark.parametrize("name", SPACE_FUSIONS)
def test_every_fusion_of_spaces_can_be_chosen(name: str) -> None:
    """The page's rule is on where nothing is said."""

    assert "spaces-rrf-1" == RankingPolicy().space_fusion == read_settings({"HOME": "/nonexistent"}).space_fusion
    assert name == read_settings({"HOME": "/nonexistent", "COMMONLORE_SPACE_FUSION": name}).space_fusion
    with pytest.raises(OperatorError, match="COMMONLORE_SPACE_FUSION must be `spaces-rrf-1` or `spaces-signal-1`"):
        read_settings({"HOME": "/nonexistent", "COMMONLORE_SPACE_FUSION": "turns"})
