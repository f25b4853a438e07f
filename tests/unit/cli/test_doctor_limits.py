"""What `commonlore doctor` says of a Valkey that is there, one that is not, and what it hides of its address."""

from __future__ import annotations

from pathlib import Path

from commonlore.api.cli.doctor import _limit_store, effective_settings
from commonlore.db.settings import Settings, read_settings
from tests.support.valkey import running_valkey


def test_a_valkey_that_answers_is_in_order(tmp_path: Path) -> None:
    with running_valkey(tmp_path) as server:
        (found,) = _limit_store(Settings(home=tmp_path, redis_url=server.url))

    assert ("limit store", "ok") == (found.name, found.state)


def test_a_valkey_that_is_gone_is_a_warning_without_its_password(tmp_path: Path) -> None:
    """The service goes on without it, so that it is no failure."""
    settings = read_settings({"COMMONLORE_REDIS_URL": "valkey://user:s3cret-word@127.0.0.1:1/0", "COMMONLORE_HOME": str(tmp_path)})
    (found,) = _limit_store(settings)
    shown = {name: value for name, value, _ in effective_settings(settings)}

    assert ("limit store", "warn") == (found.name, found.state) and found.advice
    assert "127.0.0.1:1/0 (the rest is hidden)" == shown["redis_url"]
    assert "s3cret" not in f"{found}{shown}"


def test_without_an_address_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert [] == list(_limit_store(Settings(home=tmp_path)))
