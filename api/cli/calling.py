"""How a command calls a running service: with a key, at an address, one operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from commonlore.api.cli.output import Output
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.key import parse

_Function = TypeVar("_Function", bound=Callable[..., Any])
_url = click.option("--url", envvar="COMMONLORE_URL", default="http://127.0.0.1:7411", show_default=True, help="Where the service answers.")


def service_options(whose: str) -> Callable[[_Function], _Function]:
    """`--url` and `--key`; `whose` completes the help of the key."""
    key = click.option("--key", envvar="COMMONLORE_KEY", help=f"A key {whose}. Better given as COMMONLORE_KEY.")

    def add(function: _Function) -> _Function:
        return _url(key(function))

    return add


space_option = click.option(
    "--space",
    "target_space",
    metavar="SPACE",
    default="team_shared",
    show_default=True,
    help="team_shared, private (of the key), or the name of a named space.",
)


def require_url(url: str) -> None:
    """
    Raises:
        OperatorError: `settings_invalid`, it is no address of a service.
    """
    if not url.startswith(("http://", "https://")):
        raise OperatorError("settings_invalid", "--url must begin with http:// or https://")


def require_key(key: str | None) -> str:
    """
    Raises:
        OperatorError: `settings_invalid`, it is no key.
    """
    if key is None or parse(key) is None:
        raise OperatorError("settings_invalid", "a key of this service is needed: set COMMONLORE_KEY (commonlore key create makes one)")
    return key


def post(url: str, key: str | None, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and the answer of `POST /v1/<operation>`.

    Raises:
        OperatorError: `settings_invalid` for a wrong address or key, or where nothing answers.
    """
    import httpx

    key = require_key(key)
    require_url(url)
    try:
        # A key must reach the named service only, so neither a proxy of the environment nor a redirect is followed.
        with httpx.Client(trust_env=False, follow_redirects=False, timeout=60) as client:
            answer = client.post(f"{url.rstrip('/')}/v1/{operation}", json=body, headers={"authorization": f"Bearer {key}"})
        found = msgspec.json.decode(answer.content)
    except (httpx.HTTPError, msgspec.DecodeError) as error:
        raise OperatorError("settings_invalid", "no Commonlore service answers at --url") from error
    return answer.status_code, found if isinstance(found, dict) else {}


def show_refusal(answer: dict[str, Any]) -> None:
    """What went wrong and what to do next, on standard error."""
    click.echo(f"Error: {answer.get('message', 'the service did not answer as expected')}\n{answer.get('remediation', '')}", err=True)


def answered(output: Output, found: tuple[int, dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> int:
    """Show an answer of `post`, or what was refused; the exit code."""
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1
