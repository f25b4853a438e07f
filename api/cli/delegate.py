"""`commonlore delegate`: briefs answered by a language model behind an OpenAI-compatible endpoint, through a running service."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import urlsplit

import click

from commonlore.api.cli.calling import require_key, require_url, service_options
from commonlore.api.cli.output import Output, json_option
from commonlore.api.delegating import Delegate, DelegateOptions, DelegateSummary, Told
from commonlore.domain.delegation.kind import ALL_KINDS, Kind
from commonlore.domain.errors import OperatorError

_LOCAL = ("localhost", "127.0.0.1", "::1")


@click.command("delegate")
@click.option(
    "--endpoint", required=True, metavar="URL", help="Where the model answers, such as http://127.0.0.1:11434/v1. Texts of briefs are sent there."
)
@click.option("--model", required=True, metavar="NAME", help="The model's name at the endpoint; it is kept with each verdict.")
@click.option("--endpoint-key-env", metavar="VARIABLE", help="The environment variable that holds the endpoint's key.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(ALL_KINDS),
    multiple=True,
    help="Only these kinds; may be given again. Otherwise all that the key may decide.",
)
@click.option(
    "--target-space",
    metavar="SPACE",
    default="team_shared",
    show_default=True,
    help="Whose briefs: team_shared, private, or the name of a named space.",
)
@click.option("--once", is_flag=True, help="End when every open brief was gone through, instead of waiting for more.")
@click.option("--dry-run", is_flag=True, help="Show what would be asked; nothing is claimed, sent to the endpoint or decided.")
@click.option("--most", type=click.IntRange(min=1), help="End after this many briefs.")
@click.option("--per-minute", type=click.IntRange(1, 6000), default=30, show_default=True, help="Calls of the endpoint, at most.")
@click.option("--tries", type=click.IntRange(1, 10), default=3, show_default=True, help="For one brief, and for one call that fails.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0.1, 600), default=60.0, show_default=True, help="Seconds for one call.")
@click.option(
    "--interval", "interval_s", type=click.FloatRange(1, 86_400), default=30.0, show_default=True, help="Seconds between two looks for briefs."
)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True)
@service_options("that decides the briefs: write, or admin for conflicts and entities")
@json_option
@click.pass_obj
def delegate(
    output: Output,
    endpoint: str,
    model: str,
    endpoint_key_env: str | None,
    kinds: tuple[Kind, ...],
    target_space: str,
    once: bool,
    dry_run: bool,
    most: int | None,
    per_minute: int,
    tries: int,
    timeout_s: float,
    interval_s: float,
    temperature: float,
    url: str,
    key: str | None,
) -> None:
    """Let a language model answer briefs.

    It is a client of the service like any other: the service checks each verdict as it checks a person's, and refuses quotes
    that do not stand in the texts. Give it a key of its own, so that the history tells its verdicts from yours.
    """
    options = DelegateOptions(
        model=model,
        kinds=kinds,
        target_space=target_space,
        most=most,
        dry_run=dry_run,
        once=once,
        per_minute=per_minute,
        tries=tries,
        timeout_s=timeout_s,
        interval_s=interval_s,
        lease_s=min(3600, max(60, round(tries * tries * (timeout_s + 60 / per_minute + 5)))),
        temperature=temperature,
    )
    endpoint_key = _endpoint_key(endpoint_key_env)
    summary = asyncio.run(_run(output, url, key, endpoint, endpoint_key, options))
    output.document(summary.document) if output.as_json else click.echo(_describe(summary, dry_run=dry_run))


async def _run(output: Output, url: str, key: str | None, endpoint: str, endpoint_key: str | None, options: DelegateOptions) -> DelegateSummary:
    """
    Raises:
        OperatorError: `settings_invalid` for a wrong address or key, `delegation_failed`.
    """
    import httpx

    key = require_key(key)
    require_url(url)
    _require_endpoint(endpoint, endpoint_key)

    def tell(told: Told, summary: DelegateSummary) -> None:
        if not output.as_json:
            click.echo(f"{summary.seen}: {told.outcome} {told.detail}".rstrip() + f"  {told.title}", err=True)

    # Neither a proxy of the environment nor a redirect is followed: keys and texts reach the named addresses only.
    headers = {"authorization": f"Bearer {endpoint_key}"} if endpoint_key else {}
    async with (
        httpx.AsyncClient(base_url=url.rstrip("/"), headers={"authorization": f"Bearer {key}"}, trust_env=False, follow_redirects=False) as service,
        httpx.AsyncClient(base_url=endpoint.rstrip("/"), headers=headers, trust_env=False, follow_redirects=False) as model,
    ):
        worker = Delegate(service, model, options, tell)
        try:
            return await worker.run()
        except (KeyboardInterrupt, asyncio.CancelledError):
            return worker.summary


def _endpoint_key(variable: str | None) -> str | None:
    if variable is None:
        return None
    found = os.environ.get(variable)
    if not found:
        raise OperatorError("settings_invalid", f"the environment variable {variable} that --endpoint-key-env names is not set")
    return found


def _require_endpoint(endpoint: str, endpoint_key: str | None) -> None:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise OperatorError("settings_invalid", "--endpoint must be an address such as https://host/v1, without a user, a query or a fragment")
    if endpoint_key and parts.scheme == "http" and parts.hostname not in _LOCAL:
        raise OperatorError("settings_invalid", "--endpoint must begin with https:// where a key is sent to another machine")


def _describe(summary: DelegateSummary, *, dry_run: bool) -> str:
    if dry_run:
        return f"{summary.seen} briefs would be asked about. Nothing was claimed, sent or decided."
    parts = [f"{count} {decision}" for decision, count in sorted(summary.decided.items())]
    if summary.given_back:
        why = ", ".join(f"{code} {count}" for code, count in sorted(summary.failures.items()))
        parts.append(f"{summary.given_back} given back ({why})")
    if summary.taken:
        parts.append(f"{summary.taken} taken by others")
    return f"{summary.seen} briefs in {summary.seconds:.1f} s, {summary.calls} calls of the endpoint: {'; '.join(parts) or 'none'}."
