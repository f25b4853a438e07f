"""What the doctor concludes from what it found, and what it never shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonlore.api.cli.doctor import effective_settings
from commonlore.api.cli.doctor_database import contents_findings
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.inspection import Contents, Jobs
from commonlore.db.migrate import head_revision
from commonlore.db.settings import FIELDS, read_settings

HEALTHY = Contents(
    server_version=180006,
    vector_version="0.8.6",
    revision=head_revision(),
    contract_key=CONTRACT.key,
    pending_vectors=0,
    failed_vectors=0,
    jobs=Jobs(0, 0, 0, None, 1, datetime.now(UTC)),
)
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


def test_a_healthy_database_needs_nothing() -> None:
    """Every finding is ok and none asks for anything."""

    assert {("ok", "")} == {(finding.state, finding.advice) for finding in contents_findings(HEALTHY)}


@pytest.mark.parametrize(
    ("changed", "name", "state"),
    [
        ({"server_version": 150004}, "database", "fail"),
        ({"vector_version": None}, "database", "fail"),
        ({"vector_version": "0.7.4"}, "database", "fail"),
        ({"revision": None}, "migrations", "fail"),
        ({"revision": "0001"}, "migrations", "fail"),
        ({"revision": "9999"}, "migrations", "fail"),
        ({"contract_key": "other:model:3"}, "embedding contract", "fail"),
        ({"failed_vectors": 2}, "vectors", "warn"),
        ({"jobs": Jobs(1, 0, 0, LONG_AGO)}, "jobs", "warn"),
        ({"jobs": Jobs(0, 0, 3, None)}, "jobs", "warn"),
        ({"jobs": Jobs(0, 0, 0, None, 0, LONG_AGO)}, "workers", "warn"),
        ({"jobs": Jobs(0, 0, 0, None, 0)}, "workers", "warn"),
    ],
)
def test_each_fault_is_named_with_what_to_do(changed: dict[str, object], name: str, state: str) -> None:
    """Exactly one finding tells of it, and it says what to do."""

    bad = [finding for finding in contents_findings(replace(HEALTHY, **changed)) if finding.state != "ok"]  # type: ignore[arg-type]

    assert [(name, state)] == [(finding.name, finding.state) for finding in bad]
    assert bad[0].advice


def test_dead_jobs_are_told_with_their_reasons_and_silence_with_its_length() -> None:
    jobs = Jobs(0, 0, 3, None, 0, datetime.now(UTC) - timedelta(minutes=60, seconds=5), (("too_large", 2), ("worker_lost", 1)))

    found = {finding.name: finding.found for finding in contents_findings(replace(HEALTHY, jobs=jobs))}

    assert ("0 to do, 0 running, 3 dead (2 too_large, 1 worker_lost)", "no worker has reported for 60 minutes") == (found["jobs"], found["workers"])


def test_a_role_that_sees_no_team_is_no_fault() -> None:
    """Where policies bind the administrator, the backlog is not counted and that is fine."""

    assert {"ok"} == {finding.state for finding in contents_findings(replace(HEALTHY, pending_vectors=None, failed_vectors=None))}


def test_settings_are_shown_with_their_origin_and_without_secrets() -> None:
    """Of an address only the place is shown, never user, password or options."""

    environment = {
        "HOME": "/h",
        "COMMONLORE_PORT": "80",
        "COMMONLORE_DATABASE_URL": "postgresql://adminname:s3cret@db.test:6000/lore?sslpassword=0ther",
    }
    settings = read_settings(environment, home=Path("/x"))
    shown = {name: (value, origin) for name, value, origin in effective_settings(settings)}

    assert set(FIELDS) == set(shown)
    assert (("80", "environment"), ("/x", "argument"), ("127.0.0.1", "default")) == (shown["port"], shown["home"], shown["host"])
    assert shown["database_url"] == ("db.test:6000/lore (the rest is hidden)", "environment")
