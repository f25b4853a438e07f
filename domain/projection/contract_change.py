"""Another embedding model beside the one that serves: which contracts may be started, served and given up. No I/O.

    building -> served <-> standby, and building and standby -> retired

Both sides are kept up to date by every write, so the way back is the same step as the way there. One is served, for the
installation as a whole, and a recall reads the vectors of that one alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from commonlore.domain.errors import Conflict, invalid
from commonlore.domain.ports import EmbeddingContract
from commonlore.domain.projection.generation import STRAGGLERS

ContractState = Literal["building", "served", "standby", "retired"]
# What an index over 16-bit vectors takes, and one page of a table.
MOST_DIMENSIONS = 4_000
# A recall may still read the vectors that served when it began.
READERS_GONE_S = 60
_KEY = re.compile(
    r"(?P<provider>[^:\s]{1,64}):(?P<model>[^\s]{1,128}):(?P<dimensions>\d{1,5}):cosine:(?P<normalization>[a-z]+):doc(?P<doc>\d+):query(?P<query>\d+)"
)


@dataclass(frozen=True, slots=True)
class Contract:
    """One row of the installation's contracts."""

    contract_id: int
    contract_key: str
    dimensions: int
    state: ContractState
    started_at: datetime | None
    activated_at: datetime | None
    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class ContractCounts:
    """Over every team, counted from rows. `parts` of texts and `documents` of relationships should have a vector of the contract; `lacking` have not
    even a place among what waits. `unready`: teams whose relationship generation is not current.
    """

    teams: int = 0
    parts: int = 0
    vectors: int = 0
    documents: int = 0
    lacking: int = 0
    pending: int = 0
    failed: int = 0
    unready: int = 0

    def plus(self, other: ContractCounts) -> ContractCounts:
        return ContractCounts(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def parse_contract(key: str) -> EmbeddingContract:
    """
    Raises:
        Incorrect: it is no key of a contract, or its dimensions are beyond what can be indexed.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise invalid("/contract", "expected provider:model:dimensions:cosine:unit:doc1:query1")
    dimensions = int(found["dimensions"])
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise invalid("/contract", f"expected 1 to {MOST_DIMENSIONS} dimensions, more cannot be indexed; found {dimensions}")
    if found["normalization"] != "unit":
        raise invalid("/contract", "expected vectors of unit length: the normalization `unit`")
    return EmbeddingContract(found["provider"], found["model"], dimensions, "unit", int(found["doc"]), int(found["query"]))


def require_startable(contracts: Sequence[Contract], key: str) -> None:
    """
    Raises:
        Conflict: `generation_building`, another contract is being built or stands by; `stale_input`, it is served.
    """
    for contract in contracts:
        if contract.contract_key == key and contract.state == "served":
            raise Conflict("stale_input", "this contract is served already")
    for contract in contracts:
        if contract.state in ("building", "standby"):
            what = "is being built; activate or retire it first" if contract.state == "building" else "stands by; retire it first"
            raise Conflict("generation_building", f"contract {contract.contract_key} {what}", details={"contract": contract.contract_key})


def require_kept(contracts: Sequence[Contract], *states: ContractState) -> Contract:
    """The contract beside the served one.

    Raises:
        Conflict: `stale_input`, there is none in one of the states.
    """
    found = next((contract for contract in contracts if contract.state in states), None)
    if found is None:
        raise Conflict("stale_input", f"no contract is {' or '.join(states)}")
    return found


def require_whole(counts: ContractCounts, *, accepts_failed: bool) -> None:
    """
    Raises:
        Conflict: `generation_incomplete`, vectors are missing that a recall would need.
    """
    if counts.lacking or counts.pending > STRAGGLERS or (not accepts_failed and (counts.failed or counts.unready)):
        details = {"lacking": counts.lacking, "pending": counts.pending, "failed": counts.failed, "unready_teams": counts.unready}
        message = f"{counts.lacking} texts lack, {counts.pending} wait, {counts.failed} failed, {counts.unready} teams have no current generation"
        raise Conflict("generation_incomplete", message, details=details)


def require_unread(contract: Contract, contracts: Sequence[Contract], now: datetime) -> None:
    """
    Raises:
        Conflict: `stale_input`, it served until a moment ago and recalls may still read it.
    """
    if contract.state != "standby":
        return
    switched = max((other.activated_at for other in contracts if other.activated_at is not None), default=now)
    left = READERS_GONE_S - (now - switched).total_seconds()
    if left > 0:
        raise Conflict("stale_input", f"recalls may still read this contract's vectors; repeat this in {int(left) + 1} s")
