"""`commonlore demo`: a real conversation, from an empty folder to an answered question, told as it happens."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.api.cli.serving import address_of, listen, load_early
from commonlore.api.cli.up import command_line, configure_logging, run_loop, service, signals_interrupt
from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.locate import Database, open_database, prepare_database
from commonlore.db.provision import role_passwords
from commonlore.db.settings import PREFIX, Settings, default_home, read_settings
from commonlore.domain.errors import OperatorError

if TYPE_CHECKING:
    import httpx

    from commonlore.api.importing import ImportSummary
    from commonlore.db.session import Pool

TEAM, MEMBER, KEY = "Ubuntu helpers", "demo", "demo"
OTHER_TEAM = "another team"
SOURCE = "#ubuntu, 13 November 2011"
_ELSEWHERE = tuple(PREFIX + name for name in ("DATABASE_URL", "SERVING_URL", "WORKER_URL"))
# The demo's keys are never shown; they end by themselves.
_KEY_LIFE = timedelta(hours=1)
_SHOWN = 3


@click.command()
@click.option("--home", type=click.Path(path_type=Path), help="The demo's own data folder; beside the default one, if left out.")
@json_option
@click.pass_obj
def demo(output: Output, home: Path | None) -> None:
    """Show what it does: start everything, import a real conversation, recall, trace, and ask as another team.

    It uses a data folder of its own and leaves it for `commonlore up`. Run again, it finds everything stored.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    own = Path(os.environ[f"{PREFIX}HOME"]) if f"{PREFIX}HOME" in os.environ else default_home(os.environ)
    settings = read_settings(environment, home=home or own.with_name(own.name + "-demo"), host="127.0.0.1", port=0)
    configure_logging(replace(settings, log_level="warning"))
    story = Story(output.as_json)
    with signals_interrupt():
        _tell(story, settings, environment)
    if output.as_json:
        output.document(story.facts)


def _tell(story: Story, settings: Settings, environment: Mapping[str, str]) -> None:
    story.step("The environment")
    version = EmbeddedPostgres(settings.home, binaries=settings.pg_bin).status().version
    story.say(f"Python {platform.python_version()}, PostgreSQL {version or 'missing'} and the embedding model come with the packages.")
    story.say(f"The demo's data lie in {settings.home}, apart from any other.")
    if any(os.environ.get(name) for name in _ELSEWHERE):
        story.say("COMMONLORE_DATABASE_URL is set; the demo leaves that database alone and uses its own.")
    with contextlib.closing(listen(settings.host, settings.port)) as listener:
        settings = replace(settings, port=int(listener.getsockname()[1]))
        model = load_early(settings.embedding_threads)
        story.step("A database of its own")
        with open_database(settings) as database:
            story.took("PostgreSQL is running", "database_s")
            prepare_database(database, role_passwords(settings.home))
            story.took("Roles, tables and row-level security are in place", "migrations_s")
            story.step("The service")

            async def work() -> None:
                log_file = settings.home / "log" / "worker.log"
                async with service(settings, database, listener, model, worker_log=log_file, environment=environment) as worker:
                    story.took(f"API on {address_of(settings)}, worker {worker.pid if worker else '-'}", "service_s")
                    await _Scenes(story, settings, database).play()

            run_loop(work())
    story.end(settings)


class Story:
    """What a newcomer reads, step by step; with `--json` only the facts."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.facts: dict[str, Any] = {}
        self._console = Console(quiet=quiet, highlight=False, soft_wrap=True)
        self._begun = self._last = time.perf_counter()
        self._number = 0

    def step(self, title: str) -> None:
        self._number += 1
        self._console.print(f"\n[bold]{self._number}. {title}[/bold]")
        self._last = time.perf_counter()

    def say(self, text: str, *, indent: int = 3) -> None:
        from rich.text import Text

        self._console.print(Text(" " * indent + text))

    def took(self, text: str, name: str) -> None:
        seconds = time.perf_counter() - self._last
        self._last = time.perf_counter()
        self.facts[name] = round(seconds, 2)
        self.say(f"{text} ({seconds:.1f} s).")

    def end(self, settings: Settings) -> None:
        seconds = time.perf_counter() - self._begun
        self.facts |= {"seconds": round(seconds, 2), "data_directory": str(settings.home)}
        self._console.print(f"\n[bold]Done in {seconds:.0f} s. What to try next[/bold]")
        client = replace(settings, home=default_home(os.environ))
        for text, where, words in (
            ("Keep the service running, with this conversation in it:", settings, "up"),
            ("In a second terminal, make a key for it (it is shown once):", settings, f'key create --team "{TEAM}" --member {MEMBER} --name mine'),
            ("With the key in COMMONLORE_KEY, import a conversation of your own, one JSON object a line:", client, "import FILE.jsonl"),
            ("See whether everything is in order:", settings, "doctor"),
        ):
            self.say(text)
            self.say(command_line(where, words), indent=7)
        self.say("The tutorial goes on from here: docs/tutorial/first-steps.md")


class _Scenes:
    def __init__(self, story: Story, settings: Settings, database: Database) -> None:
        self._story, self._settings, self._database = story, settings, database
        self._url = address_of(settings)
        self._known: dict[str, str] = {}

    async def play(self) -> None:
        from commonlore.db.tenancy import owner_pool

        async with owner_pool(self._database.owner_conninfo) as pool:
            key, other = await _key_of(pool, TEAM), await _key_of(pool, OTHER_TEAM)
        data = files("commonlore.api") / "demo"
        relationships, questions = _objects(data / "relationships.jsonl"), _objects(data / "questions.jsonl")
        await self._import(key, Path(str(data / "conversation.jsonl")))
        async with self._client(key) as client:
            ids = await self._remember(client, relationships, {line["id"]: line for line in _objects(data / "conversation.jsonl")})
            for number, question in enumerate(questions[:3], start=1):
                await self._recall(client, number, question["query"])
            await self._trace(client, ids[questions[0]["trace"]])
        async with self._client(other) as client:
            await self._ask_as_other(client, questions[0]["query"])

    def _client(self, key: str) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(base_url=self._url, headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=60)

    async def _import(self, key: str, path: Path) -> None:
        from commonlore.api.cli.import_ import describe, import_into, progress_bar
        from commonlore.api.importing import ImportOptions, count_lines

        self._story.step(f"A real conversation: {SOURCE}, one hour")
        with progress_bar(count_lines(path), shown=not self._story.quiet, label="   Importing") as progress:
            summary: ImportSummary = await import_into(self._url, key, path, ImportOptions(source=SOURCE), progress)
        self._story.facts |= {"lines": summary.lines, "stored": summary.stored, "already_imported": summary.already_imported}
        self._story.say(describe(summary))
        self._story.say("From a public log, CC BY 4.0; see api/demo/ATTRIBUTION.md.")

    async def _remember(self, client: httpx.AsyncClient, relationships: list[dict[str, Any]], lines: dict[str, dict[str, Any]]) -> dict[str, str]:
        """Relationships as an agent would send them, with the messages that it read them in."""
        story = self._story
        story.step("What an agent read in it")
        cited = list(dict.fromkeys(item["line"] for item in relationships))
        answer = await _post(client, "remember", _proposal(relationships, [lines[name] for name in cited], cited))
        ids: dict[str, str] = {}
        for item, result in zip(relationships, answer["relationship_results"], strict=True):
            if result["disposition"] != "stored" or not result["splits"]:
                story.say(f"{_wording(item)}: not stored ({result.get('reason', 'no reason')})")
                continue
            ids[item["ref"]] = result["splits"][0]["relationship_id"]
            self._known[ids[item["ref"]]] = _wording(item)
            story.say(f"{_wording(item)}: {result['splits'][0]['status']}")
        story.facts["relationships"] = len(ids)
        story.say("Each was checked against the message it cites before it was accepted; no generative model was asked.")
        return ids

    async def _recall(self, client: httpx.AsyncClient, number: int, query: str) -> None:
        story = self._story
        if number == 1:
            story.step("Three questions")
        begun = time.perf_counter()
        answer = await _post(client, "recall_memory", {"query": query, "limit": _SHOWN, "relationship_limit": _SHOWN})
        story.say(f"\n   {query}  ({(time.perf_counter() - begun) * 1000:.0f} ms)", indent=0)
        story.facts.setdefault("recalls", []).append({"query": query, "contexts": [item["context"] for item in answer["results"]]})
        for item in answer["results"]:
            story.say(f'{_when(item.get("occurred_at"))}  {item.get("speaker", "?")}: "{_short(item["context"])}"', indent=5)
            for known in item["relationship_ids"]:
                if known in self._known:
                    story.say(f"carries: {self._known[known]}", indent=24)
        related = [_wording(item) for item in answer["related_relationships"]]
        if related:
            story.say(f"related: {'; '.join(related)}", indent=5)
        for item in answer["degradations"]:
            story.say(f"note: {item['message']}", indent=5)

    async def _trace(self, client: httpx.AsyncClient, relationship_id: str) -> None:
        story = self._story
        story.step(f"Where does that come from? A trace of: {self._known[relationship_id]}")
        answer = await _post(client, "trace_memory", {"relationship_id": relationship_id})
        texts = {item["evidence_id"]: item["provenance"] for item in answer["evidence"]}
        for support in answer["evidence_supports"]:
            said = texts[support["evidence_id"]]
            story.say(f"said by   {said.get('speaker', '?')}, {_when(said.get('occurred_at'))}, in {said.get('source', '?')}")
            story.say(f'in words  "{support["quote"]}"')
        for event in answer["verification_events"][:1]:
            story.say(f"verdict   {event['verdict']}: {event['rationale']} ({event['verifier']})")
        for event in answer["transitions"][:1]:
            story.say(f"history   became {event['to_status']} at {event['created_at']}, told by {answer['relationship']['owner_name']}")
        story.facts["trace"] = [event["verdict"] for event in answer["verification_events"]]

    async def _ask_as_other(self, client: httpx.AsyncClient, query: str) -> None:
        story = self._story
        story.step("What isolation means")
        answer = await _post(client, "recall_memory", {"query": query})
        found = len(answer["results"]) + len(answer["related_relationships"])
        story.facts["other_team_found"] = found
        if found:
            raise OperatorError("role_unsafe", "another team found what is not its own; run `commonlore verify-isolation`")
        story.say(f'Another team of the same service asks "{query}" and gets nothing.')
        story.say("Not the program but the database refuses: every row belongs to a team and a space, and its policies are forced.")
        story.say(f"Prove it: {command_line(self._settings, 'verify-isolation')}")


async def _key_of(pool: Pool, name: str) -> str:
    """A fresh text for the demo's key of a team, which is made on the first run. The credential stays, and what it sent counts as sent."""
    from commonlore.api.cli.first_key import TIMEOUT_MS, make_team
    from commonlore.db import tenancy
    from commonlore.db.session import team_transaction
    from commonlore.domain.time import system_clock

    now = system_clock()
    team = next((item for item in await tenancy.list_teams(pool) if item.name == name and item.retired_at is None), None)
    if team is not None:
        async with team_transaction(pool, team.team_id, timeout_ms=TIMEOUT_MS) as transaction:
            for key in await tenancy.list_keys(transaction):
                if key.name == KEY and key.revoked_at is None:
                    return (await tenancy.rotate_key(transaction, key.credential_id, now=now, expires_at=now + _KEY_LIFE)).text
    return (await make_team(pool, name, member=MEMBER, key=KEY, scopes=("read", "write"), expires_at=now + _KEY_LIFE)).text


def _objects(path: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _proposal(relationships: list[dict[str, Any]], lines: list[dict[str, Any]], cited: list[str]) -> dict[str, Any]:
    return {
        "idempotency_key": "demo-relationships-1",
        "evidence": [
            {
                "content": line["text"],
                "speaker": line["speaker"],
                "session": line["session"],
                "occurred_at": line["time"],
                "source": SOURCE,
                "source_type": "conversation",
            }
            for line in lines
        ],
        "relationships": [
            {
                "ref": item["ref"],
                "subject": item["subject"],
                "predicate": {"proposed_key": item["predicate"]},
                "object": {"entity": item["object"]},
                "polarity": item.get("polarity", "+"),
                "evidence_indices": [cited.index(item["line"])],
            }
            for item in relationships
        ],
    }


async def _post(client: httpx.AsyncClient, tool: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(f"/v1/{tool}", json=body)
    if response.status_code != 200:
        raise OperatorError("import_failed", f"the demo's {tool} was answered with {response.status_code}: {response.text[:300]}")
    answer: dict[str, Any] = response.json()
    return answer


def _wording(item: dict[str, Any]) -> str:
    target = item["object"].get("name") or item["object"].get("display")
    denied = "not true: " if item.get("polarity") == "-" else ""
    return f"{denied}{item['subject']['name']} {item['predicate'].replace('_', ' ')} {target}"


def _when(text: str | None) -> str:
    if text is None:
        return "no date"
    moment = datetime.fromisoformat(text)
    return f"{moment.day} {moment:%b %Y %H:%M}"


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 160 else one_line[:157] + "..."
