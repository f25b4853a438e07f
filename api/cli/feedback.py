"""`commonlore feedback` and `commonlore report feedback`, through a running service with an administrator's key."""

from __future__ import annotations

from typing import Any

import click

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.output import Output, json_option

_service = service_options("with the scope admin")


@click.group()
def feedback() -> None:
    """Switch on that recalls are kept for feedback, and switch it off."""


def _switch(output: Output, url: str, key: str | None, *, enabled: bool) -> int:
    def say(answer: dict[str, Any]) -> None:
        click.echo(f"Recalls of the team are {'kept' if answer['enabled'] else 'not kept'} for feedback from the next one on.")

    return answered(output, post(url, key, "admin/update_feedback", {"enabled": enabled}), say)


@feedback.command("enable")
@_service
@json_option
@click.pass_obj
def enable(output: Output, url: str, key: str | None) -> int:
    """Keep recalls for feedback: the ids of what they show, and no text."""
    return _switch(output, url, key, enabled=True)


@feedback.command("disable")
@_service
@json_option
@click.pass_obj
def disable(output: Output, url: str, key: str | None) -> int:
    """Keep no more recalls. Those that are kept stay until their time is over."""
    return _switch(output, url, key, enabled=False)


@click.group()
def report() -> None:
    """Show what callers say of recalls."""


@report.command("feedback")
@click.option("--since", metavar="WHEN", help="Recalls from this RFC 3339 instant on.")
@click.option("--until", metavar="WHEN", help="Recalls before this RFC 3339 instant.")
@_service
@json_option
@click.pass_obj
def report_feedback(output: Output, since: str | None, until: str | None, url: str, key: str | None) -> int:
    """What feedback says, by ranking and lane. No ranking reads it: weights change by measurement and release alone."""

    def say(answer: dict[str, Any]) -> None:
        names = ("ranking", "recalls", "answered", "used", "supported", "high", "medium", "low", "missing_context", "irrelevant")
        heads = ("ranking", "recalls", "answered", "used", "supported", "high", "medium", "low", "missing context", "irrelevant")
        output.table(heads, [[row[name] for name in names] for row in answer["rankings"]], empty="No recall of this time was kept.")
        lanes = [[row["ranking"], *_lane(lane)] for row in answer["rankings"] for lane in row["lanes"]]
        if lanes:
            output.table(("ranking", "lane", "shown", "irrelevant", "of them first", "mean rank of them", "used", "contradicted"), lanes, empty="")
        if not answer["enabled"]:
            click.echo("Recalls are not kept for feedback now. Keep them: commonlore feedback enable")

    return answered(output, post(url, key, "admin/describe_feedback", {"since": since, "until": until}), say)


@report.command("near-duplicates")
@click.option(
    "--space",
    "target_space",
    type=click.Choice(("team_shared", "private")),
    default="team_shared",
    show_default=True,
    help="The team's shared space, or the private one of the key.",
)
@click.option("--similarity", type=click.IntRange(50, 100), default=80, show_default=True, help="How alike two texts are at least, in percent.")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="How many texts are looked at.")
@click.option("--cursor", help="Go on where the page before ended.")
@_service
@json_option
@click.pass_obj
def report_near_duplicates(output: Output, target_space: str, similarity: int, limit: int, cursor: str | None, url: str, key: str | None) -> int:
    """Pairs of texts that say nearly the same. Nothing is merged; whoever wrote one may retract it."""

    def say(answer: dict[str, Any]) -> None:
        rows = [(pair["evidence_id"], pair["other_evidence_id"], f"{pair['similarity_percent']} %", pair["begins"][:60]) for pair in answer["pairs"]]
        output.table(("text", "other text", "alike", "begins"), rows, empty=f"No pair among {answer['looked_at']} texts.")
        if answer["next_cursor"]:
            click.echo(f"There are more texts: --cursor {answer['next_cursor']}")

    request = {"target_space": target_space, "min_similarity_percent": similarity, "limit": limit, "cursor": cursor}
    return answered(output, post(url, key, "admin/list_near_duplicates", request), say)


def _lane(lane: dict[str, Any]) -> list[object]:
    mean = f"{lane['irrelevant_ranks'] / lane['irrelevant']:.1f}" if lane["irrelevant"] else "-"
    return [lane["lane"], lane["shown"], lane["irrelevant"], lane["irrelevant_first"], mean, lane["used"], lane["contradicted"]]
