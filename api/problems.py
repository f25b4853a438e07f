"""Failures as callers see them: RFC 9457 problem bodies, their status, and one table over the closed list of codes.

The same body is the structured content of a failed MCP tool call, so that both ways in say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from commonlore.domain.errors import CommonloreError, Fault

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:commonlore:problem:"
# The published client reads at most 16 KiB of an error body.
_MOST_PROBLEMS = 4
_MOST_CHARS = 300

# Code: HTTP status, title. `docs/reference/errors.md` repeats it; a test compares both with `CODES`.
STATUS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "invalid_input": (422, "A field is wrong"),
        "malformed_body": (400, "The body is not one JSON object"),
        "idempotency_key_mismatch": (400, "Two different idempotency keys"),
        "body_too_large": (413, "The body is too large"),
        "unsupported_media_type": (415, "The media type is not supported"),
        "uri_too_long": (414, "The address is too long"),
        "route_not_found": (404, "No such route"),
        "method_not_allowed": (405, "The method is not allowed here"),
        "credential_invalid": (401, "No valid credential"),
        "unauthorized_scope": (403, "The credential lacks a scope"),
        "space_read_only": (403, "The space may only be read"),
        "wrong_owner": (403, "It belongs to another member"),
        "host_not_allowed": (403, "The host is not answered for"),
        "not_found": (404, "Not found"),
        "idempotency_conflict": (409, "The idempotency key belongs to another request"),
        "stale_input": (409, "The state has moved on"),
        "event_conflict": (409, "The event is another than it was"),
        "name_taken": (409, "The name is taken"),
        "legal_hold": (409, "A legal hold stands against it"),
        "merge_too_large": (409, "The entities have too many relationships"),
        "brief_claimed": (409, "Somebody holds the brief"),
        "last_admin": (409, "The last admin key stays"),
        "generation_building": (409, "Another generation is being built"),
        "generation_incomplete": (409, "The generation is not complete"),
        "commit_conflict": (409, "Another write was faster"),
        "rate_limited": (429, "Too many calls"),
        "quota_exceeded": (429, "The quota is used up"),
        "storage_full": (403, "No more may be stored"),
        "database_unavailable": (503, "The database is not available"),
        "not_ready": (503, "The service is not ready"),
        "overloaded": (503, "The service is overloaded"),
        "request_timeout": (504, "The request took too long"),
        "internal_failure": (500, "An internal failure"),
        "hydration_failed": (500, "A stored record could not be read"),
        "settings_invalid": (503, "A setting is wrong"),
        "database_too_old": (503, "The database is too old"),
        "role_unsafe": (503, "The database role is unsafe"),
        "receipt_invalid": (422, "The receipt does not hold"),
        "migration_needed": (503, "The database must be migrated"),
        "migration_failed": (503, "The migration failed"),
        "embedded_postgres_missing": (503, "The embedded database is not installed"),
        "embedded_data_missing": (503, "The embedded data is missing"),
        "embedded_start_failed": (503, "The embedded database did not start"),
        "model_invalid": (503, "The embedding model is damaged"),
        "import_failed": (422, "The import stopped"),
        "backup_failed": (503, "The backup stopped"),
        "archive_invalid": (422, "The archive cannot be used"),
        "database_not_empty": (422, "The database is not empty"),
        "file_unreadable": (422, "The file cannot be read"),
        "delegation_failed": (503, "The answering of briefs stopped"),
    }
)


def internal_failure() -> Fault:
    """What a caller learns of an exception that nobody stated: nothing but the correlation id."""
    return Fault("internal_failure", "an internal failure; the correlation id names it in the service's log")


def status_of(error: CommonloreError) -> int:
    return STATUS[error.code][0]


def problem_body(error: CommonloreError, correlation_id: str) -> dict[str, object]:
    """The RFC 9457 body with the fields that the published client reads at top level.

    `errors` is there only for wrong fields, in the order of the request; each entry repeats the failure's own fields,
    because the published client reads the first entry instead of the top level. At most 16 KiB.
    """
    status, title = STATUS[error.code]
    entry = error.entry
    message = error.message[:_MOST_CHARS]
    shared: dict[str, object] = {
        "code": error.code,
        "message": message,
        "retryable": entry.retryable,
        "next_action": entry.next_action,
        "remediation": entry.remediation,
    }
    body: dict[str, object] = {
        "type": TYPE_PREFIX + error.code,
        "title": title,
        "status": status,
        "detail": message,
        **shared,
        "correlation_id": correlation_id,
    }
    if error.problems:
        body["errors"] = [
            {"pointer": problem.pointer[:_MOST_CHARS], "detail": problem.detail[:_MOST_CHARS], **shared}
            for problem in error.problems[:_MOST_PROBLEMS]
        ]
    if error.details:
        body["details"] = error.details
    if error.retry_after_s is not None:
        body["retry_after_seconds"] = error.retry_after_s
    return body


def problem_headers(error: CommonloreError) -> dict[str, str]:
    """`Retry-After` when the failure states it, `WWW-Authenticate` with every 401, `Allow` with every 405.

    A 413 closes the connection, because the rest of the body is not read.
    """
    headers = {"cache-control": "no-store"}
    if error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    if status_of(error) == 401:
        headers["www-authenticate"] = "Bearer"
    if error.code == "method_not_allowed" and "allow" in error.details:
        headers["allow"] = str(error.details["allow"])
    if error.code == "body_too_large":
        headers["connection"] = "close"
    return headers
