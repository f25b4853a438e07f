"""`commonlore hypothesis`: see what two relationships suggest, decide it, and switch hypotheses of a space on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from commonlore.api.cli.calling import post, service_options, show_refusal, space_option
from commonlore.api.cli.output import Output, json_option
from commonlore.domain.tenancy.place import place_fields

_reads = service_options("with the scope read")
_writes = service_options("with the scope write")
_admin = service_options("with the scope admin")
_STATES = ("proposed", "reinforced", "stale", "rejected", "submitted")
_FIELDS = {
    "transitive": ("first",),
    "composition": ("first", "second", "conclusion"),
    "shared_neighbour": ("first", "conclusion"),
    "inverse": ("first", "second"),
}


def _options(service: Callable[..., Any]) -> Callable[..., Any]:
    return lambda function: service(json_option(click.pass_obj(function)))


@click.group()
def hypothesis() -> None:
    """List, show and decide hypotheses; switch them on, and set their rules."""


def _answer(output: Output, found: tuple[int, dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> int:
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


@hypothesis.command("list")
@click.option("--status", type=click.Choice(_STATES), help="Only those that stand so.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many at most.")
@_options(_reads)
def list_(output: Output, status: str | None, limit: int, url: str, key: str | None) -> int:
    """List hypotheses, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [(item["hypothesis_id"], item["status"], f"{item['likelihood']:.3f}", item["statement"]) for item in answer["dreams"]]
        output.table(("id", "status", "likelihood", "statement"), rows, empty="There is no hypothesis.")

    return _answer(output, post(url, key, "list_dreams", {"status": status, "limit": limit}), say)


@hypothesis.command("show")
@click.argument("hypothesis_id")
@_options(_reads)
def show(output: Output, hypothesis_id: str, url: str, key: str | None) -> int:
    """Show one with its premises, why it was proposed, and what became of it."""

    def say(answer: dict[str, Any]) -> None:
        item = answer["hypothesis"]
        click.echo(f"{item['statement']} ({item['status']}, likelihood {item['likelihood']:.3f})\n{answer['rationale']}")
        for premise in answer["derivations"]:
            changed = "" if premise["is_current"] else " (changed since)"
            click.echo(f"{premise['premise_position']}. {premise['statement']}{changed}: {premise.get('quote', 'the text does not count any more')}")
        rows = [(event["known_from"], event["status"], event["reason"], event.get("actor_profile_id", "")) for event in answer["events"]]
        output.table(("known from", "status", "reason", "actor"), rows, empty="Nothing became of it.")

    return _answer(output, post(url, key, "get_dream", {"hypothesis_id": hypothesis_id}), say)


@hypothesis.command("decide")
@click.argument("hypothesis_id")
@click.argument("decision", type=click.Choice(("reinforce", "stale", "reject", "confirm_true", "confirm_false")))
@click.option("--evidence", multiple=True, metavar="TEXT", help="A text that says so, to be remembered; for confirm_true and confirm_false.")
@click.option("--reason", help="Why.")
@_options(_writes)
def decide(output: Output, hypothesis_id: str, decision: str, evidence: Sequence[str], reason: str | None, url: str, key: str | None) -> int:
    """Say what became of one; a confirmation remembers the texts that say so."""
    body = {"hypothesis_id": hypothesis_id, "decision": decision, "reason": reason, "evidence": [{"content": text} for text in evidence]}

    def say(answer: dict[str, Any]) -> None:
        if answer["disposition"] == "not_stored":
            results = answer["submission"]["relationship_results"]
            why = "; ".join(dict.fromkeys(item.get("message") or f"it waits as {item['splits'][0]['status']}" for item in results))
            click.echo(f"The texts are stored, and they do not carry it: {why}")
        click.echo(f"{answer['hypothesis']['statement']}: {answer['hypothesis']['status']}")

    return _answer(output, post(url, key, "resolve_dream_feedback", body), say)


@hypothesis.command("status")
@space_option
@_options(_admin)
def status(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Show how hypotheses of a space stand, their rules and the latest runs."""
    return _answer(output, post(url, key, "admin/describe_hypotheses", place_fields(target_space)), lambda answer: _describe(output, answer))


@hypothesis.command("enable")
@click.option("--outputs", type=click.IntRange(1, 50), help="How many a run proposes at most; 20 unless it was set.")
@space_option
@_options(_admin)
def enable(output: Output, outputs: int | None, target_space: str, url: str, key: str | None) -> int:
    """Switch hypotheses of a space on; the first run comes within minutes."""
    body = {**place_fields(target_space), "enabled": True, "outputs": outputs}
    return _answer(output, post(url, key, "admin/update_hypotheses", body), lambda answer: _describe(output, answer))


@hypothesis.command("disable")
@space_option
@_options(_admin)
def disable(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Switch hypotheses of a space off; those that stand are kept."""
    body = {**place_fields(target_space), "enabled": False}
    return _answer(output, post(url, key, "admin/update_hypotheses", body), lambda answer: _describe(output, answer))


@hypothesis.command("rule")
@click.argument("change", type=click.Choice(("add", "remove")))
@click.argument("kind", type=click.Choice(tuple(_FIELDS)))
@click.argument("predicates", nargs=-1, required=True)
@space_option
@_options(_admin)
def rule(output: Output, change: str, kind: str, predicates: Sequence[str], target_space: str, url: str, key: str | None) -> int:
    """Add a rule to a space, or take one away.

    `transitive P`, `composition FIRST SECOND CONCLUSION`, `shared_neighbour P CONCLUSION`, `inverse P Q`.
    """
    names = _FIELDS[kind]
    if len(predicates) != len(names):
        raise click.UsageError(f"{kind} takes {len(names)} predicates: {', '.join(names)}")
    body = {**place_fields(target_space), f"{change}_rules": [{"kind": kind, **dict(zip(names, predicates, strict=True))}]}
    return _answer(output, post(url, key, "admin/update_hypotheses", body), lambda answer: _describe(output, answer))


@hypothesis.command("run")
@space_option
@_options(_admin)
def run(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Look for hypotheses now, without waiting for their time."""

    def say(answer: dict[str, Any]) -> None:
        click.echo(f"Asked for a run: commonlore jobs watch {answer['job_id']}" if answer["job_id"] else "A run waits already.")

    return _answer(output, post(url, key, "admin/run_hypotheses", place_fields(target_space)), say)


def _describe(output: Output, answer: dict[str, Any]) -> None:
    when = f"daily at {answer['start']} {answer['time_zone']}, next {answer['next_run_at']}" if answer["enabled"] else "off"
    counts = ", ".join(f"{count} {name}" for name, count in answer["counts"].items()) or "none yet"
    click.echo(f"{answer['space'] or answer['target_space']}: {when}; at most {answer['outputs']} a run; {counts}")
    rules = [(item["kind"], item["first"], item["second"], item["conclusion"], "own" if item["own"] else "") for item in answer["rules"]]
    output.table(("rule", "first", "second", "conclusion", ""), rows=rules, empty="No rule counts here.")
    runs = [(item["started_at"], item["reason"], item["status"], item["error_code"], item["paths"], item["proposed"]) for item in answer["runs"]]
    output.table(("started", "reason", "status", "error", "paths", "proposed"), runs, empty="There was no run yet.")
