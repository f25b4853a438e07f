"""`commonlore contract`: the embedding model of the whole installation, changed by whoever holds the database."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from commonlore.api.cli.connection import as_owner
from commonlore.api.cli.output import Output, json_option
from commonlore.db import contract_change
from commonlore.db.session import Pool
from commonlore.db.settings import read_settings
from commonlore.domain.errors import invalid
from commonlore.domain.projection.contract_change import Contract, ContractCounts, parse_contract
from commonlore.domain.time import system_clock


@click.group()
def contract() -> None:
    """Change the embedding model while recalls go on, and change it back."""


def configured() -> list[str]:
    """The contracts that this environment has an embedder of."""
    from commonlore.db.embedding.configured import read_embedders
    from commonlore.db.embedding.local import CONTRACT

    settings = read_settings(os.environ)
    remote = read_embedders(settings.embedders, os.environ) if settings.embedders else []
    return [CONTRACT.key, *(found.contract.key for found in remote)]


async def _look(pool: Pool) -> list[tuple[Contract, ContractCounts | None]]:
    contracts = await contract_change.list_contracts(pool)
    served = next(found for found in contracts if found.state == "served")
    return [(found, None if found.state == "retired" else await contract_change.count(pool, found, served)) for found in contracts]


def _document(found: Contract, counts: ContractCounts | None) -> dict[str, Any]:
    return {**asdict(found), "counts": None if counts is None else asdict(counts)}


def _line(found: Contract, counts: ContractCounts | None) -> str:
    """`openai:bge-m3:1024:...: building, 640/1,280 texts, 3 wait, 1 failed`."""
    if counts is None:
        return f"{found.contract_key}: {found.state}"
    told = [f"{found.contract_key}: {found.state}", f"{counts.vectors:,}/{counts.parts:,} texts", f"{counts.documents:,} documents"]
    told += [f"{number:,} {what}" for number, what in ((counts.lacking, "lack"), (counts.pending, "wait"), (counts.failed, "failed")) if number]
    told += [f"{counts.unready:,} of {counts.teams:,} teams not ready"] if counts.unready else []
    return ", ".join(told)


@contract.command("list")
@json_option
@click.pass_obj
def list_contracts(output: Output) -> None:
    """List every contract: what it has and lacks, counted from rows."""
    found = as_owner(_look)
    if output.as_json:
        output.document([_document(*one) for one in found])
    else:
        for one in found:
            click.echo(_line(*one))


@contract.command("start")
@click.argument("key", metavar="CONTRACT")
@json_option
@click.pass_obj
def start(output: Output, key: str) -> None:
    """Build the vectors of another contract beside those that are served."""
    parse_contract(key)
    known = configured()
    if key not in known:
        raise invalid("/contract", f"expected a contract that COMMONLORE_EMBEDDERS configures: {', '.join(known)}")
    _done(output, lambda pool, now: contract_change.start(pool, key, now=now))


def _done(output: Output, work: Callable[[Pool, datetime], Awaitable[Contract]]) -> None:
    found = as_owner(lambda pool: work(pool, system_clock()))
    if output.as_json:
        output.document(asdict(found))
    else:
        click.echo(f"{found.contract_key}: {found.state}")


@contract.command("activate")
@click.option("--accept-failed", is_flag=True, help="Also where texts failed; they are then found by their words alone.")
@json_option
@click.pass_obj
def activate(output: Output, accept_failed: bool) -> None:
    """Let recalls read the vectors of the contract that is kept beside the served one; that one stands by."""
    _done(output, lambda pool, now: contract_change.activate(pool, accepts_failed=accept_failed, now=now))


@contract.command("rollback")
@json_option
@click.pass_obj
def rollback(output: Output) -> None:
    """Let recalls read again the vectors that served before."""
    _done(output, lambda pool, now: contract_change.roll_back(pool, now=now))


@contract.command("retry")
@json_option
@click.pass_obj
def retry(output: Output) -> None:
    """Try what failed under the contract beside the served one again."""
    _done(output, lambda pool, now: contract_change.retry(pool, now=now))


@contract.command("retire")
@json_option
@click.pass_obj
def retire(output: Output) -> None:
    """Give up the contract beside the served one; its vectors go."""
    _done(output, lambda pool, now: contract_change.retire(pool, now=now))


@contract.command("watch")
@click.option("--every", type=click.FloatRange(0.1, 60), default=2.0, show_default=True, metavar="SECONDS", help="How often to look.")
@json_option
@click.pass_obj
def watch(output: Output, every: float) -> int:
    """Follow what is built until it can be activated. With --json, one document when it is over.

    The exit code is 1 where something failed for good.
    """

    async def follow(pool: Pool) -> list[tuple[Contract, ContractCounts | None]]:
        import asyncio

        said = ""
        while True:
            found = await _look(pool)
            built = [(one, counts) for one, counts in found if one.state == "building" and counts is not None]
            line = "\n".join(_line(*one) for one in built)
            if line != said and not output.as_json:
                said = line
                click.echo(line)
                sys.stdout.flush()
            if not any(counts.lacking or counts.pending or (counts.unready and not counts.failed) for _, counts in built):
                return found
            await asyncio.sleep(every)

    began = time.monotonic()
    found = as_owner(follow)
    if output.as_json:
        output.document([_document(*one) for one in found])
    else:
        click.echo(f"Nothing is missing any more, after {time.monotonic() - began:.0f} s.")
    return 1 if any(counts is not None and counts.failed for one, counts in found if one.state == "building") else 0
