"""Where the service listens, before anything else is started."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from commonlore.api.cli.processes import child_environment
from commonlore.api.cli.serving import address_of, is_loopback, listen
from commonlore.db.settings import Settings, default_home, read_settings
from commonlore.domain.errors import OperatorError


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.1", False)])
def test_only_this_machines_own_addresses_are_loopback(host: str, expected: bool) -> None:
    """Anything else is taken to be reachable from elsewhere."""

    assert expected == is_loopback(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", "http://127.0.0.1:80"), ("0.0.0.0", "http://127.0.0.1:80"), ("::1", "http://[::1]:80"), ("a.b", "http://a.b:80")],
)
def test_the_address_that_is_shown_works_on_this_machine(host: str, expected: str) -> None:
    """A service on every address is shown under the loopback one."""

    assert expected == address_of(Settings(home=Path("h"), host=host, port=80))


def test_a_taken_port_is_refused_in_words() -> None:
    """The message names the port and the option."""

    with contextlib.closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]

        with pytest.raises(OperatorError, match=f"port {port} on 127.0.0.1 is taken.*--port"):
            listen("127.0.0.1", port)


def test_an_unknown_host_is_refused_in_words() -> None:
    """A name that means nothing is a setting to correct, no traceback."""

    with pytest.raises(OperatorError, match="host"):
        listen("host.invalid", 0)


def test_the_worker_gets_the_settings_and_no_clients_key() -> None:
    """Its home is the one of this process, also where that came from an argument."""

    environment = {"PATH": "/bin", "COMMONLORE_KEY": "cl_secret", "COMMONLORE_URL": "http://a", "COMMONLORE_HOME": "/old"}

    assert child_environment(environment, Settings(home=Path("/new"))) == {
        "PATH": "/bin",
        "COMMONLORE_HOME": "/new",
        "COMMONLORE_LOG_LEVEL": "info",
        "MALLOC_ARENA_MAX": "1",
    }


def test_a_clients_variables_are_no_settings_and_no_mistakes() -> None:
    """COMMONLORE_KEY and COMMONLORE_URL may be set where the service is started; another name may not."""

    read_settings({"COMMONLORE_KEY": "x", "COMMONLORE_URL": "y", "HOME": "/h"})

    with pytest.raises(OperatorError, match="COMMONLORE_KEYS is not a setting"):
        read_settings({"COMMONLORE_KEYS": "x", "HOME": "/h"})


@pytest.mark.parametrize(
    ("uid", "environment", "expected"),
    [
        (0, {"HOME": "/root"}, "/var/lib/commonlore"),
        (1000, {"HOME": "/home/ada"}, "/home/ada/.local/share/commonlore"),
        (1000, {"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/commonlore"),
    ],
)
def test_the_default_home_can_be_entered_by_the_database(
    monkeypatch: pytest.MonkeyPatch, uid: int, environment: dict[str, str], expected: str
) -> None:
    """Root's data do not lie below its private folder."""

    monkeypatch.setattr("os.geteuid", lambda: uid)

    assert Path(expected) == default_home(environment)
