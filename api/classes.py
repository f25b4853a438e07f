"""Of which class an operation is for the limits, and how large its body may be."""

from __future__ import annotations

from commonlore.api.admin import AdminSpec
from commonlore.api.operations import ToolSpec
from commonlore.domain.limits.policy import OperationClass

# What makes the service work for long, in the call or after it.
HEAVY = frozenset(
    (
        "merge_entities",
        "split_entity",
        "reverse_entity_correction",
        "run_communities",
        "run_hypotheses",
        "start_projection",
        "retry_projection",
        "activate_projection",
        "list_near_duplicates",
    )
)
# Operations that take whole texts; the body of any other is small.
LARGE = frozenset(("remember", "ingest_session"))
_SMALL_BYTES = 4 * 1024 * 1024


def class_of(spec: ToolSpec | AdminSpec) -> OperationClass:
    """`heavy` for what is listed here, `admin` for what needs that scope or is an operation of administrators, else `read` or `write`."""
    if spec.name in HEAVY:
        return "heavy"
    if isinstance(spec, AdminSpec) or spec.scope == "admin":
        return "admin"
    return "read" if spec.read_only else "write"


def body_limit(spec: ToolSpec | AdminSpec, limit_bytes: int) -> int:
    """Bytes of a body by REST: four mebibytes at most where no whole text is taken. A body by MCP is read before its tool is known."""
    return limit_bytes if spec.name in LARGE else min(limit_bytes, _SMALL_BYTES)
