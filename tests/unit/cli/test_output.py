"""What a person and a program read of a command that fails."""

from __future__ import annotations

import json

import pytest

from commonlore.api.cli.output import Output
from commonlore.domain.errors import CommonloreError, Conflict, invalid


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (invalid("/team", "expected --team, because there are several"), "Error: /team: expected --team, because there are several\n"),
        (Conflict("name_taken", "the name is taken"), "Error: the name is taken\nChoose another name.\n"),
    ],
)
def test_a_person_reads_what_to_do_once(error: CommonloreError, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The advice that is written for bodies of requests, with their pointers, is not repeated on a command line."""
    Output().failure(error)

    assert ("", shown) == capsys.readouterr()


def test_a_program_reads_the_code_and_its_advice(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.as_json = True

    output.failure(invalid("/team", "expected one"))

    read = json.loads(capsys.readouterr().out)
    assert ("invalid_input", [{"pointer": "/team", "detail": "expected one"}]) == (read["code"], read["errors"])
    assert read["remediation"]
