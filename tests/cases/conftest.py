"""Assertions of the checks are explained like those of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.cases.adapter", *(f"tests.cases.{path.stem}" for path in Path(__file__).parent.glob("area_*.py")))
