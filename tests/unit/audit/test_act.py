"""What an act says of the request that asked for it."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest

from commonlore.api.admin import ADMIN
from commonlore.api.operations import TOOLS
from commonlore.domain.audit.act import LONGEST_REASON, Act, Noted, Subject, act_of, refusal_of
from commonlore.domain.errors import CommonloreError, Conflict, Fault, Forbidden, Incorrect, NotVisible, Unavailable
from commonlore.domain.withdraw.retract import RetractRequest

ONE, TWO = UUID(int=1), UUID(int=2)


def retract(reason: str = "said in error") -> RetractRequest:
    return msgspec.convert({"evidence_ids": [str(ONE), str(TWO)], "reason": reason}, RetractRequest)


def test_each_id_of_the_request_is_a_subject() -> None:
    assert (Subject("evidence", str(ONE)), Subject("evidence", str(TWO))) == act_of("retract_evidence", retract(), "c", "write").subjects


@pytest.mark.parametrize(("scope", "kept"), [("read", None), ("write", None), ("admin", "said in error"), ("destroy", "said in error")])
def test_the_reason_is_kept_of_administrators_alone(scope: str, kept: str | None) -> None:
    """That of an agent may quote a text."""
    act = act_of("retract_evidence", retract(), "c", scope)  # type: ignore[arg-type]

    assert (kept, kept is not None) == (act.reason, act.is_administrative)


def test_a_long_reason_is_cut_to_what_the_log_holds() -> None:
    assert LONGEST_REASON == len(act_of("x", retract("r" * 900), "c", "admin").reason or "")


def test_a_subject_is_named_once_those_of_the_request_first() -> None:
    noted = Noted()
    noted.add("submission", TWO)
    noted.add("evidence", ONE)

    assert [Subject("evidence", str(ONE)), Subject("submission", str(TWO))] == noted.with_those_of(
        Act("x", "c", subjects=(Subject("evidence", str(ONE)),))
    )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Forbidden("unauthorized_scope", "x"), "denied"),
        (NotVisible("not_found", "x"), "refused"),
        (Incorrect("invalid_input", "x"), "refused"),
        (Conflict("last_admin", "x"), "refused"),
        (Conflict("commit_conflict", "x"), None),
        (Unavailable("database_unavailable", "x"), None),
        (Fault("internal_failure", "x"), None),
    ],
)
def test_a_refusal_is_what_is_said_of_the_one_who_asked(error: CommonloreError, outcome: str | None) -> None:
    assert outcome == refusal_of(error)


@pytest.mark.parametrize("name", [*TOOLS, *ADMIN])
def test_every_operation_has_a_name_that_the_log_takes(name: str) -> None:
    """The check of the column, for the operations of the next version too."""
    import re

    assert re.fullmatch(r"[a-z][a-z0-9_ -]{0,63}", name)
