"""The ledger as a state machine: whatever is done in whatever order, the database says what a small plain model says.

Rules are in one class for each part of the ledger, in the modules beside this one; what holds after every step is in
`ledger_invariants`. To add a part: methods on the model in `tests.support`, a class of rules, and its name in the bases of `Machine`.

`COMMONLORE_MACHINE_EXAMPLES` runs of `COMMONLORE_MACHINE_STEPS` steps each; a soak is many of both.
"""

from __future__ import annotations

import asyncio
import os

import psycopg
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.ledger_conflict_rules import ConflictRules
from tests.property.ledger_correction_rules import CorrectionRules
from tests.property.ledger_identity_rules import IdentityRules
from tests.property.ledger_invariants import Invariants
from tests.property.ledger_withdrawal_rules import WithdrawalRules
from tests.support.databases import TestDatabase
from tests.support.memory import Memory

EXAMPLES = int(os.environ.get("COMMONLORE_MACHINE_EXAMPLES", "10"))
STEPS = int(os.environ.get("COMMONLORE_MACHINE_STEPS", "22"))


class Machine(WithdrawalRules, CorrectionRules, IdentityRules, ConflictRules, Invariants):
    """All parts together."""


def test_the_ledger_says_what_the_model_says(database: TestDatabase) -> None:
    """Whatever is done in whatever order."""
    with asyncio.Runner() as runner, psycopg.connect(database.admin_conninfo, autocommit=True) as watcher:
        opened = Memory.open(database)
        Machine.runner, Machine.memory, Machine.watcher = runner, runner.run(opened.__aenter__()), watcher
        try:
            run_state_machine_as_test(
                Machine,
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
        finally:
            runner.run(opened.__aexit__(None, None, None))
