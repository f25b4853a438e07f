"""What can go wrong with a call, as exceptions.

ClientError
├── ServiceError       the service refused the call; `code` is of the closed list of docs/reference/errors.md
├── NotAnswered        no answer came; whether the call had an effect is not known
└── UnexpectedAnswer   what answers is no Commonlore, or one of another contract
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WrongPlace:
    """One wrong place in a request. `pointer` is an RFC 6901 JSON pointer; `detail` names the valid range."""

    pointer: str
    detail: str


class ClientError(Exception):
    """Base of everything that a call raises."""


class ServiceError(ClientError):
    """A stated refusal. Nothing of the request is in its text."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after_s: float | None = None) -> None:
        super().__init__(f"{problem['message']} ({problem['code']})")
        self.status = status
        # The whole problem body (RFC 9457), as it came.
        self.problem = problem
        self.code: str = problem["code"]
        self.message: str = problem["message"]
        self.retryable: bool = problem["retryable"]
        self.next_action: str = problem.get("next_action", "none")
        self.remediation: str = problem.get("remediation", "")
        self.correlation_id: str = problem.get("correlation_id", "")
        self.details: dict[str, Any] = problem.get("details", {})
        self.places = tuple(WrongPlace(entry.get("pointer", ""), entry.get("detail", "")) for entry in problem.get("errors", []))
        self.retry_after_s = retry_after_s


class NotAnswered(ClientError):
    """The service could not be reached, or the connection ended before the answer. `reached`: the request may have arrived."""

    def __init__(self, message: str, *, reached: bool) -> None:
        super().__init__(message)
        self.reached = reached


class UnexpectedAnswer(ClientError):
    """The answer is not of this contract; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
