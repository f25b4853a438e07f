"""`commonlore evaluate`: how good are the answers, measured on a set of texts and questions by a service of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.api.cli.serving import address_of, listen, load_early, serving
from commonlore.api.cli.up import configure_logging, run_loop, service, signals_interrupt
from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.locate import Database, open_database
from commonlore.db.planner import refresh
from commonlore.db.settings import PREFIX, Settings, read_settings
from commonlore.domain.errors import OperatorError
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS
from commonlore.domain.recall.fusion import SPACE_FUSIONS

if TYPE_CHECKING:
    import httpx

    from commonlore.api.evaluation.asking import LoadedSpace
    from commonlore.api.evaluation.collisions import Elsewhere
    from commonlore.api.evaluation.report import Asked
    from commonlore.api.evaluation.sets import EvaluationSet
    from commonlore.db.session import Pool

_ELSEWHERE = tuple(PREFIX + name for name in ("DATABASE_URL", "SERVING_URL", "WORKER_URL", "HOME", "EVIDENCE_CONTRACT", "SPACE_FUSION", "EMBEDDERS"))
_CONTRACT = click.Choice(tuple(EVIDENCE_CONTRACTS))
_FUSION = click.Choice(SPACE_FUSIONS)
_TIMEOUT_S = 120.0
_LOOK_S = 0.5
# Without a vector made in this time the worker is taken for dead.
_STALLED_S = 120.0

Advance = Callable[[int], None]


class Contract(NamedTuple):
    """How evidence is ordered in a space, and how spaces are fused."""

    evidence: str
    spaces: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured and how. The first contract is the base of a comparison."""

    texts: EvaluationSet
    contracts: tuple[Contract, ...]
    limit: int
    shown: bool
    lanes: bool = False
    private: bool = False


class Measured(NamedTuple):
    """What the spaces hold, every answer, the seconds of each stage, and how much was restated and laid elsewhere."""

    spaces: dict[str, LoadedSpace]
    asked: list[Asked]
    seconds: dict[str, float]
    sent: dict[str, int]


@click.command()
@click.option("--set", "folder", type=click.Path(path_type=Path), metavar="FOLDER", help="The set: corpus, queries and qrels.jsonl, meta.json.")
@click.option("--demo", "use_demo", is_flag=True, help="Use the small set that comes with the program: questions of one hour of #ubuntu.")
@click.option("--contract", type=_CONTRACT, default=RankingPolicy().evidence_contract, show_default=True, help="How evidence is ordered.")
@click.option("--against", type=_CONTRACT, help="Also measure this one, question by question beside the first.")
@click.option("--fusion", type=_FUSION, default=RankingPolicy().space_fusion, show_default=True, help="How the evidence of several spaces is fused.")
@click.option("--against-fusion", type=_FUSION, help="The fusion of what is measured beside the first, if it is another one.")
@click.option("--limit", type=click.IntRange(1, 50), default=20, show_default=True, help="The most evidence to ask for.")
@click.option("--relationships", is_flag=True, help="Also load triples.jsonl or facts.jsonl and measure the relationship lane.")
@click.option("--lanes", is_flag=True, help="Measure both lanes in slices of time and of exact anchors, with what could be grouped wrongly or leak.")
@click.option("--private", is_flag=True, help="Keep every second session in the asker's private space.")
@click.option("--sample", "sampled", type=click.IntRange(1), metavar="N", help="Only N questions, with the sessions of what they should find.")
@click.option("--runs", type=click.Path(path_type=Path), metavar="DIR", help="Write the ranked ids of each contract there, as JSON.")
@json_option
@click.pass_obj
def evaluate(
    output: Output,
    folder: Path | None,
    use_demo: bool,
    contract: str,
    against: str | None,
    fusion: str,
    against_fusion: str | None,
    limit: int,
    relationships: bool,
    lanes: bool,
    private: bool,
    sampled: int | None,
    runs: Path | None,
) -> int:
    """Load a set of texts into a service of its own, ask every question, and say how good the answers are.

    The service has a temporary home, which is removed afterwards; nothing of yours is read or changed. Each space of the
    set is a team, so a text of another space in an answer is a leak; with a leak the exit code is 1.

    With --lanes the relationships are loaded too, every third one is stated by a second author as well, and what the questions
    should find lies also in the private space of that author and in a second team, where the asker may not read.
    """
    from commonlore.api.evaluation.report import leaks_of, make_report, write_runs
    from commonlore.api.evaluation.sets import read_set, sample
    from commonlore.api.evaluation.table import show

    if use_demo == (folder is not None):
        raise click.UsageError("expected either --set FOLDER or --demo")
    first, second = Contract(contract, fusion), Contract(against or contract, against_fusion or fusion)
    if first == second and (against or against_fusion):
        raise click.UsageError("--against must name another contract than --contract, or --against-fusion another than --fusion")
    texts = read_set(folder or Path(str(files("commonlore.api") / "demo" / "evaluation")), relationships=relationships or lanes)
    texts = texts if sampled is None else sample(texts, sampled)
    plan = Plan(texts, tuple(dict.fromkeys((first, second))), limit, shown=not output.as_json, lanes=lanes, private=private)
    found = _measure(plan)
    report = make_report(texts, found.spaces, found.asked, limit=limit, seconds=found.seconds, sent=found.sent)
    written = write_runs(runs, texts, found.asked) if runs is not None else []
    if output.as_json:
        output.document(report | {"runs": [str(path) for path in written]})
    else:
        show(output, report)
        for path in written:
            click.echo(f"Ranked ids: {path}")
    return 1 if leaks_of(report) else 0


def _measure(plan: Plan) -> Measured:
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    with signals_interrupt(), _temporary_home() as home, contextlib.ExitStack() as stack:
        settings = read_settings(environment, home=home, host="127.0.0.1", port=0, log_level="warning")
        configure_logging(settings)
        listeners = [stack.enter_context(contextlib.closing(listen(settings.host, 0))) for _ in plan.contracts]
        variants = [
            replace(settings, evidence_contract=contract.evidence, space_fusion=contract.spaces, port=int(listener.getsockname()[1]))
            for contract, listener in zip(plan.contracts, listeners, strict=True)
        ]
        if plan.shown:
            click.echo(f"{plan.texts.title}: starting a service in {home}", err=True)
        with open_database(settings, prepare=True) as database:
            return run_loop(_Measurement(plan, variants, database, environment).run(listeners))


@contextmanager
def _temporary_home() -> Iterator[Path]:
    """A folder that the account of the embedded database can enter too, and that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="commonlore-evaluate-"))
    folder.chmod(0o711)
    try:
        yield folder / "home"
    finally:
        if (folder / "home").exists() and EmbeddedPostgres(folder / "home").status().running:
            raise OperatorError("embedded_start_failed", f"the database in {folder} still runs, so the folder is left where it is")
        shutil.rmtree(folder, ignore_errors=True)


class _Measurement:
    def __init__(self, plan: Plan, variants: list[Settings], database: Database, environment: Mapping[str, str]) -> None:
        self._plan, self._variants, self._database, self._environment = plan, variants, database, environment
        self._seconds: dict[str, float] = {}
        self._elsewhere: dict[str, Elsewhere] = {}
        self._sent = {"restated": 0, "decoys": 0}

    async def run(self, listeners: list[socket.socket]) -> Measured:
        spaces = await self._make_spaces()
        async with self._clients(listeners) as clients:
            with _timed(self._seconds, "loading"):
                await self._load(clients[0], spaces)
            with _timed(self._seconds, "embedding"):
                await self._wait_for_vectors()
            with _timed(self._seconds, "settling"):
                await asyncio.to_thread(refresh, self._database.admin_conninfo)
            with _timed(self._seconds, "asking"):
                asked = await self._ask(clients, spaces)
        return Measured(spaces, asked, self._seconds, self._sent)

    @asynccontextmanager
    async def _clients(self, listeners: list[socket.socket]) -> AsyncIterator[list[httpx.AsyncClient]]:
        """A service for each contract, on the same database, and a client for each. The first has the worker."""
        import httpx

        async with contextlib.AsyncExitStack() as stack:
            clients = []
            for number, (variant, listener) in enumerate(zip(self._variants, listeners, strict=True)):
                model = load_early(variant.embedding_threads)
                if number == 0:
                    log = variant.home / "log" / "worker.log"
                    await stack.enter_async_context(service(variant, self._database, listener, model, worker_log=log, environment=self._environment))
                else:
                    await stack.enter_async_context(serving(variant, self._database.serving_conninfo, listener, model))
                client = httpx.AsyncClient(base_url=address_of(variant), trust_env=False, timeout=_TIMEOUT_S)
                clients.append(await stack.enter_async_context(client))
            yield clients

    async def _make_spaces(self) -> dict[str, LoadedSpace]:
        """One team a space. With relationships two authors take turns, so that there is something to group."""
        from commonlore.api.evaluation.asking import LoadedSpace
        from commonlore.api.evaluation.collisions import Elsewhere, private_half
        from commonlore.db.tenancy import owner_pool

        plan, spaces = self._plan, {}
        authors = 2 if plan.texts.statements else 1
        async with owner_pool(self._database.owner_conninfo) as pool:
            for name in plan.texts.spaces:
                keys = await _keys_of_a_team(pool, f"space {name}"[:120], authors, private=plan.lanes or plan.private)
                spaces[name] = LoadedSpace(keys, private_half(plan.texts, name) if plan.private else frozenset())
                if plan.lanes:
                    [team] = await _keys_of_a_team(pool, f"beside {name}"[:120], 1, private=False)
                    self._elsewhere[name] = Elsewhere(member=keys[-1], team=team)
        return spaces

    async def _load(self, client: httpx.AsyncClient, spaces: dict[str, LoadedSpace]) -> None:
        from commonlore.api.evaluation.asking import load
        from commonlore.api.evaluation.collisions import collide, restate

        texts = self._plan.texts
        with _bar("Loading", sum(map(len, texts.documents.values())), shown=self._plan.shown) as advance:
            await load(client, texts, spaces, advance)
        if self._plan.lanes:
            self._sent = {"restated": await restate(client, texts, spaces), "decoys": await collide(client, texts, self._elsewhere)}

    async def _wait_for_vectors(self) -> None:
        """Until nothing waits: before that, answers would be found by their words alone.

        Raises:
            OperatorError: `model_invalid`, the worker makes no progress, or a text could not be embedded.
        """
        from commonlore.db.inspection import read_contents

        first = found = await asyncio.to_thread(read_contents, self._database.admin_conninfo)
        last, since = found.pending_vectors or 0, time.monotonic()
        with _bar("Embedding", first.pending_vectors or 0, shown=self._plan.shown) as advance:
            while pending := found.pending_vectors or 0:
                if pending < last:
                    advance(last - pending)
                    last, since = pending, time.monotonic()
                if time.monotonic() - since > _STALLED_S:
                    raise OperatorError("model_invalid", f"{pending} texts still wait for a vector, and the worker makes none")
                await asyncio.sleep(_LOOK_S)
                found = await asyncio.to_thread(read_contents, self._database.admin_conninfo)
            advance(last)
        if found.failed_vectors:
            raise OperatorError("model_invalid", f"{found.failed_vectors} texts could not be embedded")

    async def _ask(self, clients: list[httpx.AsyncClient], spaces: dict[str, LoadedSpace]) -> list[Asked]:
        """Each question goes to every contract in turn, who begins alternates, and one at a time, so that times compare."""
        from commonlore.api.evaluation.asking import LANE_LIMIT, ask
        from commonlore.api.evaluation.report import Asked

        texts, limit = self._plan.texts, self._plan.limit
        beside = LANE_LIMIT if texts.statements else 0
        asked = [Asked(name) for name in _names(self._plan.contracts)]
        pairs = list(zip(clients, asked, strict=True))
        with _bar("Asking", len(texts.questions) * len(pairs), shown=self._plan.shown) as advance:
            for number, question in enumerate(texts.questions):
                space = spaces[question.space]
                for client, one in pairs if number % 2 == 0 else pairs[::-1]:
                    one.answers[question.id] = await ask(client, space, question, limit=limit, relationship_limit=beside)
                    if beside:
                        one.lanes[question.id] = await ask(client, space, question, limit=1, relationship_limit=beside)
                    advance(1)
        if self._plan.lanes:
            await self._probe(pairs, spaces)
        return asked

    async def _probe(self, pairs: list[tuple[httpx.AsyncClient, Asked]], spaces: dict[str, LoadedSpace]) -> None:
        """Both lanes together, and the relationship lane alone: no text has the label that evidence is narrowed to, so nothing is covered."""
        from commonlore.api.evaluation.asking import LANE_LIMIT, ask
        from commonlore.api.evaluation.probes import ALONE, DEPTH, make_probes

        probes, limit = make_probes(self._plan.texts, spaces), self._plan.limit
        with _bar("Probing", len(probes) * len(pairs), shown=self._plan.shown) as advance:
            for number, probe in enumerate(probes):
                space, question = spaces[probe.question.space], probe.question
                for client, one in pairs if number % 2 == 0 else pairs[::-1]:
                    whole = await ask(client, space, question, limit=limit, relationship_limit=LANE_LIMIT, fields=probe.fields)
                    alone = await ask(client, space, question, limit=1, relationship_limit=DEPTH, fields={**probe.fields, **ALONE})
                    one.probes.append((probe, whole, alone))
                    advance(1)


def _names(contracts: tuple[Contract, ...]) -> list[str]:
    """By what tells them apart: the evidence contract, and the fusion of spaces where it is not the page's for all."""
    page = RankingPolicy().space_fusion
    return [one.evidence if all(other.spaces == page for other in contracts) else f"{one.evidence} {one.spaces}" for one in contracts]


async def _keys_of_a_team(pool: Pool, name: str, authors: int, *, private: bool) -> tuple[str, ...]:
    from commonlore.api.cli.first_key import TIMEOUT_MS
    from commonlore.db import tenancy
    from commonlore.db.session import team_transaction
    from commonlore.domain.ids import new_id
    from commonlore.domain.time import system_clock

    async with team_transaction(pool, new_id(), timeout_ms=TIMEOUT_MS) as transaction:
        now = system_clock()
        await tenancy.create_team(transaction, name=name, now=now)
        keys = []
        for number in range(authors):
            profile = await tenancy.add_member(transaction, name=f"author {number + 1}", profile_kind="human", now=now)
            issued = await tenancy.mint_key(
                transaction,
                profile.profile_id,
                name="evaluation",
                scopes=("read", "write"),
                memory_binding="credential_private" if private else "shared_only",
                expires_at=None,
                now=now,
            )
            keys.append(issued.text)
        return tuple(keys)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begun


@contextmanager
def _bar(label: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """A bar on standard error with the remaining time; it draws nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns: tuple[Any, ...] = (TextColumn(f"{label:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
