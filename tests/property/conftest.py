"""Helpers beside the tests whose assertions say as much as those of tests."""

import pytest

pytest.register_assert_rewrite(
    *(f"tests.property.ledger_{part}" for part in ("base", "invariants", "withdrawal_rules", "correction_rules", "identity_rules", "conflict_rules"))
)
