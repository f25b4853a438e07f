"""The client's types and methods are those of the OpenAPI document."""

from __future__ import annotations

import pytest

from commonlore.api.operations import TOOLS
from commonlore.client import AsyncClient, Client
from tests.unit.client.client_source import files


@pytest.mark.parametrize("name", ["proposals", "requests", "traces", "results", "tools"])
def test_a_module_is_what_the_document_makes(name: str) -> None:
    """Regenerate with: python -m tests.unit.client.client_source"""
    [(path, text)] = [(path, text) for path, text in files() if path.stem == name]

    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_tool_is_a_method(kind: type) -> None:
    assert [] == [name for name in TOOLS if not callable(getattr(kind, name, None))]
