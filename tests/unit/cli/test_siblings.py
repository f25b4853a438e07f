"""Further API processes: how many there may be, and what a start does with one that never answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path

import psutil
import pytest

from commonlore.api.cli import siblings as module
from commonlore.api.cli.accepting import Connections
from commonlore.api.cli.serving import listen
from commonlore.api.cli.siblings import answering, processes_of, require_connections, siblings
from commonlore.db.settings import Settings, read_settings
from commonlore.domain.errors import OperatorError, Unavailable


def some(processes: int, pool_size: int = 10) -> Settings:
    return Settings(home=Path("h"), api_processes=processes, pool_size=pool_size)


@pytest.mark.parametrize(("platform", "expected", "warnings"), [("linux", 4, 0), ("darwin", 1, 1), ("win32", 1, 1)])
def test_elsewhere_than_on_linux_one_process_serves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, platform: str, expected: int, warnings: int
) -> None:
    """Nothing would end the others with a parent that was killed; the log says so."""

    monkeypatch.setattr("sys.platform", platform)
    with caplog.at_level(logging.WARNING):
        found = processes_of(some(4))

    assert (expected, warnings) == (found, len([entry for entry in caplog.records if "need Linux" in entry.message]))


@pytest.mark.parametrize(
    ("processes", "pool_size", "fits"), [(1, 500, True), (3, 10, True), (4, 10, False), (4, 8, True), (8, 6, False), (8, 5, True)]
)
def test_the_pools_of_all_fit_into_the_database(processes: int, pool_size: int, fits: bool) -> None:
    """One process is as it always was; of several, each has a pool, and the worker's takes as much as two."""

    if fits:
        require_connections(some(processes, pool_size), 60)
    else:
        with pytest.raises(OperatorError, match="set COMMONLORE_POOL_SIZE to"):
            require_connections(some(processes, pool_size), 60)


def test_where_no_pool_fits_the_advice_is_another_database() -> None:
    """Sixty-four processes are more than sixty connections serve."""

    with pytest.raises(OperatorError, match="PostgreSQL of your own"):
        require_connections(some(64, 1), 60)


@pytest.mark.parametrize(("text", "valid"), [("1", True), ("64", True), ("0", False), ("65", False), ("two", False)])
def test_the_setting_has_a_range(text: str, valid: bool) -> None:
    environment = {"HOME": "/h", "COMMONLORE_API_PROCESSES": text}

    if valid:
        assert int(text) == read_settings(environment).api_processes
    else:
        with pytest.raises(OperatorError, match="COMMONLORE_API_PROCESSES must be 1 to 64"):
            read_settings(environment)


async def test_a_process_that_never_answers_breaks_the_start_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told of a service of which a part does not answer, and no process is left."""

    monkeypatch.setattr(module, "SIBLING", "this")  # a module that ends at once
    monkeypatch.setattr(module, "_READY_S", 1.0)
    with contextlib.closing(listen("127.0.0.1", 0)) as listener, pytest.raises(Unavailable, match="API process 2, 3 did not answer"):
        async with siblings(some(3), "host=nowhere", listener, Connections(), environment=os.environ) as made, answering(made, asyncio.Event()):
            raise AssertionError("the block began")

    assert not [child for child in psutil.Process().children() if "this" in child.cmdline()]


async def test_a_stop_does_not_wait_for_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the others load their model is heard at once."""

    monkeypatch.setattr(module, "SIBLING", "this")
    stop = asyncio.Event()
    stop.set()
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        async with (
            asyncio.timeout(30),
            siblings(some(2), "host=nowhere", listener, Connections(), environment=os.environ) as made,
            answering(made, stop),
        ):
            numbers = [one.number for one in made]

    assert [2] == numbers
