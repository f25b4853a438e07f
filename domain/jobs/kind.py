"""The kinds of jobs as one closed list: name, queue, priority, for what one job is, and how it is tried again.

To add a kind: a `JobKind` here and in `KINDS`, and its handler in `HANDLERS` of `commonlore.workers.handlers`.
`docs/how-to/add-a-job.md` shows both. A test holds the two lists together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Per = Literal["space", "team", "installation"]
State = Literal["queued", "running", "succeeded", "dead", "cancelled", "merged"]
# A job that is in one of these will not run again by itself.
ENDED: frozenset[State] = frozenset(("succeeded", "dead", "cancelled", "merged"))

# Why a try failed, or why a job ended without being done. Codes alone: nothing of a text or a name.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "embedding_unavailable": "The embedder did not answer.",
        "contract_mismatch": "This worker runs another embedding model than the one whose vectors are wanted.",
        "database_unavailable": "The database did not answer.",
        "request_timeout": "A statement took longer than it may.",
        "overloaded": "The database was too busy.",
        "commit_conflict": "Another write came first.",
        "source_changed": "What the job read was changed before it could publish.",
        "too_large": "There is more than the job's bounds of time and memory allow.",
        "index_busy": "Another vector index is being built; one at a time is.",
        "owner_unknown": "This worker does not know the address of the database's owner, who alone builds indexes.",
        "table_unclassified": "A table of the database is in no line of the erasure manifest, so that nothing can be said of it.",
        "worker_lost": "The worker ended, or stopped reporting, while it ran the job.",
        "cancelled": "Somebody cancelled it.",
        "internal_failure": "A failure that nobody stated; the worker's log has it with the job's id.",
    }
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `max_attempts` tries, with a pause after each failed one that grows by `factor`."""

    max_attempts: int = 5
    first_pause_s: float = 4.0
    factor: float = 4.0
    longest_pause_s: float = 3600.0

    def pause_s(self, failures: int) -> float | None:
        """How long to wait after that many failed tries; None when that was the last one."""
        if failures >= self.max_attempts:
            return None
        return min(self.first_pause_s * self.factor ** (max(failures, 1) - 1), self.longest_pause_s)


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind of job.

    `priority` orders the jobs of one team, the highest first; between teams turns are fair whatever the priority.
    `slice_s` is how long one turn may take where others wait: `JobRun.is_over` tells the job, and it goes on in a later turn.
    """

    name: str
    queue: str
    per: Per
    priority: int = 0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    slice_s: float = 10.0


EMBED_PARTS = JobKind("embed_parts", "embedding", "space")
# The same for the contracts that are kept beside the served one.
EMBED_CONTRACT = JobKind("embed_contract", "embedding", "space", priority=-10)
# Builds a generation of relationship documents from the one that serves; clears a retired one away.
BUILD_GENERATION = JobKind("build_generation", "projection", "team", priority=-5, retry=RetryPolicy(max_attempts=20, first_pause_s=1.0, factor=1.5))
CLEAR_GENERATION = JobKind("clear_generation", "projection", "team", priority=-20)
RENDER_DOCUMENTS = JobKind("render_documents", "embedding", "space", priority=10)
FOLD_STATISTICS = JobKind("fold_statistics", "upkeep", "space")
DETECT_COMMUNITIES = JobKind("detect_communities", "communities", "space", priority=-10, retry=RetryPolicy(first_pause_s=60.0), slice_s=60.0)
# Asks for runs of detection where a team's time of the day has come.
SCHEDULE_COMMUNITIES = JobKind("schedule_communities", "upkeep", "installation")
PROPOSE_HYPOTHESES = JobKind("propose_hypotheses", "hypotheses", "space", priority=-10, retry=RetryPolicy(first_pause_s=60.0), slice_s=60.0)
REVIEW_CONFLICTS = JobKind("review_conflicts", "upkeep", "space")
# Deletes what an erasure has hidden, searches for what is left and signs the receipt.
ERASE = JobKind("erase", "erasure", "team", priority=20, retry=RetryPolicy(max_attempts=20, first_pause_s=2.0, factor=2.0))
# Builds, measures and drops the vector indexes of a space; one build at a time in a database, so it may have to come back.
TEND_VECTOR_INDEXES = JobKind(
    "tend_vector_indexes", "indexes", "space", priority=-20, retry=RetryPolicy(max_attempts=20, first_pause_s=30.0, factor=1.5), slice_s=60.0
)
# Drops the vector indexes of spaces that are no more.
DROP_VECTOR_INDEXES = JobKind("drop_vector_indexes", "indexes", "installation")
# Puts seals on the entries of a team's audit log that wait for one.
SEAL_AUDIT = JobKind("seal_audit", "upkeep", "team", priority=-5)
# Removes what a team keeps for a time only and whose time is over.
APPLY_RETENTION = JobKind("apply_retention", "upkeep", "team", priority=-20)
# Finds what waits in every space; runs by the clock, for the installation as a whole.
SWEEP = JobKind("sweep", "upkeep", "installation")

KINDS: Mapping[str, JobKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            EMBED_PARTS,
            EMBED_CONTRACT,
            BUILD_GENERATION,
            CLEAR_GENERATION,
            RENDER_DOCUMENTS,
            FOLD_STATISTICS,
            REVIEW_CONFLICTS,
            DETECT_COMMUNITIES,
            SCHEDULE_COMMUNITIES,
            PROPOSE_HYPOTHESES,
            ERASE,
            TEND_VECTOR_INDEXES,
            DROP_VECTOR_INDEXES,
            SEAL_AUDIT,
            APPLY_RETENTION,
            SWEEP,
        )
    }
)


class JobFailed(Exception):
    """A try that failed for a reason of the closed list. `for_good`: trying again would not help.

    Raises:
        KeyError: `reason` is not on the list.
    """

    def __init__(self, reason: str, *, for_good: bool = False) -> None:
        REASONS[reason]
        super().__init__(reason)
        self.reason = reason
        self.for_good = for_good
