"""The reference pages say what the program says, and the files for a container are well-formed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from commonlore.api.cli.reference import command_page, settings_page
from commonlore.db.settings import FIELDS, PREFIX

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_of_the_command_line_is_that_of_the_program() -> None:
    """Regenerate with: python -m commonlore.api.cli.reference docs/reference"""

    assert command_page() == (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def test_the_page_of_the_settings_is_that_of_the_program() -> None:
    """Every setting with its range, its default and its meaning."""

    assert settings_page() == (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")


def test_every_setting_that_a_page_or_file_names_exists() -> None:
    """A newcomer never copies a variable that stops the start."""

    known = {PREFIX + name.upper() for name in FIELDS} | {"COMMONLORE_KEY", "COMMONLORE_URL"}
    pages = [
        ROOT / "README.md",
        ROOT / "docker-compose.yml",
        ROOT / "Dockerfile",
        *(ROOT / "docs/tutorial").glob("*.md"),
        *(ROOT / "docs/how-to").glob("*.md"),
    ]
    named = {word for page in pages for word in re.findall(r"\bCOMMONLORE_[A-Z_]*[A-Z]\b", page.read_text(encoding="utf-8"))}

    assert set() == {name for name in named if not name.startswith("COMMONLORE_TEST_")} - known


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return found


def test_the_compose_file_has_each_part_once_with_a_health_check() -> None:
    """Database, cache and API say whether they are well; what depends on them waits for it."""

    services = compose()["services"]

    assert {"postgres", "valkey", "migrate", "api", "worker"} == set(services)
    assert ["api", "postgres", "valkey"] == sorted(name for name, service in services.items() if "healthcheck" in service)
    for name in ("api", "worker"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert services[name]["environment"]["MALLOC_ARENA_MAX"] == "1"


def test_the_compose_file_has_no_default_secret_and_no_open_port() -> None:
    """Every password is demanded of the environment, and only the API is published, to this machine alone."""

    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    secrets = re.findall(r"\$\{[A-Z_]*PASSWORD[^}]*\}", text)

    assert secrets
    assert [] == [secret for secret in secrets if ":?" not in secret]
    published = {name: service["ports"] for name, service in compose()["services"].items() if "ports" in service}
    assert {"api": ["127.0.0.1:7411:7411"]} == published


def test_the_database_has_room_to_build_indexes() -> None:
    """Parallel index builds take maintenance_work_mem from shared memory; the container's default of 64 MB would end them."""

    postgres = compose()["services"]["postgres"]
    memory = next(word for word in postgres["command"] if word.startswith("maintenance_work_mem="))

    assert int(postgres["shm_size"].removesuffix("mb")) > int(memory.partition("=")[2].removesuffix("MB"))
