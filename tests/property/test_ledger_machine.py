"""The ledger as a state machine: whatever is done in whatever order, the database says what a small plain model says.

Rules are in one class for each part of the ledger, in the modules beside this one; what holds after every step is in
`ledger_invariants`. To add a part: methods on the model in `tests.support`, a class of rules, and its name in the bases of `Machine`.

`COMMONLORE_MACHINE_EXAMPLES` runs of `COMMONLORE_MACHINE_STEPS` steps each; a soak is many of both.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.ledger_conflict_rules import ConflictRules
from tests.property.ledger_correction_rules import CorrectionRules
from tests.property.ledger_identity_rules import IdentityRules
from tests.property.ledger_invariants import Invariants
from tests.property.ledger_withdrawal_rules import WithdrawalRules
from tests.support.databases import TestDatabase
from tests.support.ledger_model import MANY, ONE
from tests.support.memory import Memory

EXAMPLES = int(os.environ.get("COMMONLORE_MACHINE_EXAMPLES", "10"))
STEPS = int(os.environ.get("COMMONLORE_MACHINE_STEPS", "22"))
ATLAS, ORION, MONGO, ZIG, MAY = "Atlas", "Orion", "Mongo", "Zig", "2026-05-01T00:00:00Z"


class Machine(WithdrawalRules, CorrectionRules, IdentityRules, ConflictRules, Invariants):
    """All parts together."""


@pytest.fixture
def machine(database: TestDatabase) -> Iterator[type[Machine]]:
    """The machine with its service and its database."""
    with asyncio.Runner() as runner, psycopg.connect(database.admin_conninfo, autocommit=True) as watcher:
        opened = Memory.open(database)
        Machine.runner, Machine.memory, Machine.watcher = runner, runner.run(opened.__aenter__()), watcher
        try:
            yield Machine
        finally:
            runner.run(opened.__aexit__(None, None, None))


def test_the_ledger_says_what_the_model_says(machine: type[Machine]) -> None:
    """Whatever is done in whatever order."""
    run_state_machine_as_test(
        machine,
        # A failing run is short enough to read as it is; making it smaller would take minutes.
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=(Phase.generate,),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


REPLACED: list[tuple[list[tuple[str, str, str, str | None]], bool, str]] = [
    # Another object took the place of the first statement; the merge of both objects revives it.
    ([(ATLAS, ONE, MONGO, MAY), (ATLAS, ONE, ZIG, None)], False, ZIG),
    # A correction replaced it.
    ([(ATLAS, MANY, MONGO, None), (ATLAS, MANY, ZIG, MAY)], True, ZIG),
    # The merge joins it, and the later statement takes its place in the same step.
    ([(ORION, ONE, MONGO, None), (ATLAS, ONE, MONGO, MAY), (ATLAS, ONE, ZIG, None)], False, ORION),
]


def test_what_was_replaced_with_a_text_of_its_own_is_replaced_again(machine: type[Machine]) -> None:
    """A merge joins it with a statement of another end; taken back, it stands and ends as before."""
    for said, office, gone in REPLACED:
        state = machine()
        for place, (subject, predicate, thing, until) in enumerate(said):
            state.say([(0, state.subjects.index(subject), predicate, (thing, "product"), 1, until)])
            if office and place == 0:
                state.correct(place=0, patch={"scope": "office"}, stale=False, other=False)
        names = [entity.name for entity in state.model.entities.values()]
        before = {row.id: (row.status, row.until) for row in state.model.rows}

        state.merge(place=names.index(gone), other=0, by=0, apply=True)
        assert any(item.target and not item.made and item.before[0] == "superseded" for item in state.model.moves[0].items)
        state.relationships_are_those_of_the_model()
        state.documents_are_in_step()
        state.take_back(place=0, by=0)

        state.relationships_are_those_of_the_model()
        state.documents_are_in_step()
        assert before == {key: (status, until) for key, _, _, status, until, *_ in state.stored() if key in before}
