"""The files for containers, as far as they can be tried without an engine: their form, their variables, their commands and their rules.

No test here builds an image or starts a container.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import pytest
import yaml

from commonlore.api.cli.main import cli
from commonlore.db.settings import FIELDS, PREFIX, read_settings

ROOT = Path(__file__).resolve().parents[3]
OURS = ("migrate", "api", "worker")


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A key that is not written here is a mistake: an engine would refuse it, or worse, ignore it."""


class HealthCheck(Closed):
    test: list[str]
    interval: str
    timeout: str
    retries: int


class Limits(Closed):
    cpus: str
    memory: str


class Resources(Closed):
    limits: Limits


class Deploy(Closed):
    resources: Resources


class Dependency(Closed):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class Logging(Closed):
    driver: Literal["json-file"]
    options: dict[str, str]


class Service(Closed):
    """What of the Compose Specification is used."""

    image: str
    command: list[str]
    deploy: Deploy
    pids_limit: int
    logging: Logging
    security_opt: list[str]
    restart: Literal["no", "unless-stopped"]
    environment: dict[str, str] = {}
    build: str | None = None
    user: str | None = None
    volumes: list[str] = []
    tmpfs: list[str] = []
    ports: list[str] = []
    cap_drop: list[str] = []
    read_only: bool = False
    shm_size: str | None = None
    depends_on: dict[str, Dependency] = {}
    healthcheck: HealthCheck | None = None
    stop_grace_period: str | None = None


class Compose(Closed, rename={"ours": "x-ours"}):
    ours: dict[str, Any]
    services: dict[str, Service]
    volumes: dict[str, None]


@pytest.fixture(scope="module")
def compose() -> Compose:
    return msgspec.convert(yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8")), Compose)


def test_the_parts_are_there_once_and_wait_for_each_other(compose: Compose) -> None:
    """Database, cache and API say whether they are well; what depends on them waits for that; nothing waits for what is not there."""
    services = compose.services

    assert {"postgres", "valkey", *OURS} == set(services)
    assert ["api", "postgres", "valkey"] == sorted(name for name, service in services.items() if service.healthcheck)
    assert {("api", "migrate"), ("api", "valkey"), ("worker", "migrate"), ("migrate", "postgres")} == {
        (name, needed) for name, service in services.items() for needed in service.depends_on
    }
    for name, service in services.items():
        for needed, dependency in service.depends_on.items():
            assert (dependency.condition == "service_healthy") == (services[needed].healthcheck is not None), (name, needed)


def test_nothing_is_kept_outside_a_volume_that_is_declared(compose: Compose) -> None:
    """Data of the database and the roles' passwords outlive a container; the three of ours share one home."""
    mounted = {name: [volume.partition(":")[0] for volume in service.volumes] for name, service in compose.services.items()}

    assert {"database", "home"} == set(compose.volumes) == {volume for volumes in mounted.values() for volume in volumes}
    assert [["home"]] * 3 == [mounted[name] for name in OURS]
    for name in OURS:
        assert compose.services[name].environment["COMMONLORE_HOME"] == compose.services[name].volumes[0].partition(":")[2]


def test_no_secret_has_a_default_and_no_port_is_open(compose: Compose) -> None:
    """Every password is demanded of the environment, and only the API is published, to this machine alone."""
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    variables = re.findall(r"\$\{[^}]*\}", text)

    assert variables
    assert [] == [variable for variable in variables if ":?" not in variable]
    assert [] == re.findall(r"(?i)password: (?!\$)\S+", text)
    assert {"api": ["127.0.0.1:7411:7411"]} == {name: service.ports for name, service in compose.services.items() if service.ports}


def test_every_variable_is_a_setting_and_has_a_value_that_it_takes(compose: Compose) -> None:
    """The service would refuse to start with another."""
    for name in OURS:
        given = {key: re.sub(r"\$\{[^}]*\}", "word", value) for key, value in compose.services[name].environment.items()}
        ours = {key: value for key, value in given.items() if key.startswith(PREFIX)}

        assert {"MALLOC_ARENA_MAX"} == set(given) - set(ours)
        assert [] == [key for key in ours if key.removeprefix(PREFIX).lower() not in FIELDS]
        settings = read_settings(ours)
        assert ("0.0.0.0", 7411, False) == (settings.host, settings.port, settings.embedded)


def test_every_command_exists(compose: Compose) -> None:
    """With its options, as the program itself reads them; also the one of the image, and those that the page names."""
    page = (ROOT / "docs/how-to/run-the-service.md").read_text("utf-8")
    typed = [
        shlex.split(line.partition("migrate ")[2]) for line in page.splitlines() if line.startswith("docker compose run --rm migrate commonlore")
    ]
    commands = [compose.services[name].command for name in OURS] + [_instructions("CMD")[0]] + typed

    assert 4 < len(commands)
    for words in commands:
        assert "commonlore" == words[0]
        _understood(cli, words[1:])


def _understood(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """
    Raises:
        click.UsageError: the program does not take these words.
    """
    if isinstance(command, click.Group):
        context = click.Context(command, parent=parent, **command.context_settings)
        inner = command.get_command(context, words[0])
        assert inner is not None, words
        _understood(inner, words[1:], context)
    else:
        command.make_context(str(command.name), list(words), parent=parent)


def test_every_part_is_bounded_and_none_of_ours_is_root(compose: Compose) -> None:
    """Memory, processors, processes and logs have limits; ours can write their volume and /tmp alone."""
    for name, service in compose.services.items():
        assert ["no-new-privileges:true"] == service.security_opt, name
        assert {"max-size", "max-file"} == set(service.logging.options)
        assert re.fullmatch(r"\d+[gm]", service.deploy.resources.limits.memory)
    for name in ("valkey", *OURS):
        assert (True, ["ALL"]) == (compose.services[name].read_only, compose.services[name].cap_drop), name
    assert "valkey" == compose.services["valkey"].user
    assert int(_instructions("USER")[-1][0]) >= 1000


def test_what_runs_is_given_time_to_end(compose: Compose) -> None:
    """Longer than the 20 s that requests and jobs have, and the database longest of all."""
    assert {"postgres": "60s", "api": "60s", "worker": "60s"} == {
        name: service.stop_grace_period for name, service in compose.services.items() if service.stop_grace_period
    }


def test_the_database_has_room_to_build_indexes(compose: Compose) -> None:
    """Parallel index builds take maintenance_work_mem from shared memory; the container's default of 64 MB would end them."""
    postgres = compose.services["postgres"]
    memory = {word.partition("=")[0]: int(word.partition("=")[2].removesuffix("MB")) for word in postgres.command if word.endswith("MB")}

    assert postgres.shm_size is not None
    assert int(postgres.shm_size.removesuffix("mb")) > memory["maintenance_work_mem"]
    assert int(postgres.deploy.resources.limits.memory.removesuffix("g")) * 1024 > sum(memory.values())


def test_images_have_a_version() -> None:
    """What was tried is what runs; `latest` would be something else tomorrow."""
    images = [line.partition("image:")[2].strip() for line in (ROOT / "docker-compose.yml").read_text("utf-8").splitlines() if "image:" in line]
    images += [words[0] for words in _instructions("FROM")]

    assert 4 < len(images)
    assert [] == [image for image in images if not re.fullmatch(r"[\w./-]+:\d[\w.-]*", image)]


def _instructions(name: str) -> list[list[str]]:
    """The words of each instruction of the Dockerfile, in order; an exec form as its words."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8"))
    found = [line.partition(" ")[2].strip() for line in text.splitlines() if line.startswith(f"{name} ")]
    return [msgspec.json.decode(line.encode(), type=list[str]) if line.startswith("[") else line.split() for line in found]


def test_the_image_is_made_by_the_rules() -> None:
    """No ADD, no shell form of CMD, absolute folders, packages by hash and without a cache, and no instruction after USER that needs root."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    order = re.findall(r"^([A-Z]+) ", text, re.MULTILINE)

    assert [] == [name for name in ("ADD", "MAINTAINER", "ONBUILD", "SHELL") if name in order]
    assert re.search(r'^CMD \["', text, re.MULTILINE)
    assert all(words[0].startswith("/") for words in _instructions("WORKDIR"))
    assert all("--no-cache-dir" in line for line in re.findall(r"pip install[^\n]*", text))
    assert all("--require-hashes" in line or line.endswith("--no-deps .") for line in re.findall(r"pip install[^\n]*", text))
    assert not {"RUN", "COPY"} & set(order[order.index("USER") :])
    assert [] == re.findall(r"\b(?:curl|wget|sudo|apt-get|chmod 777)\b", text)


def test_the_image_is_made_from_files_that_are_there() -> None:
    """And the context is without what is no source."""
    copied = [word for words in _instructions("COPY") if not words[0].startswith("--from") for word in words[:-1]]
    named = re.findall(r"-r (\S+)", (ROOT / "Dockerfile").read_text("utf-8"))

    assert [] == [name for name in [*copied, *named] if not (ROOT / name).exists()]
    assert {".git", ".venv"} <= set((ROOT / ".dockerignore").read_text("utf-8").split())
