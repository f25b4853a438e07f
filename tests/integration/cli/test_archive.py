"""`commonlore backup`, `verify` and `restore` as they are typed, on homes of their own."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from commonlore.db.archive import ArchiveReader
from tests.integration.cli.conftest import Home, Run


def test_a_home_is_backed_up_checked_and_restored_elsewhere(home: Home, run: Run, base: Path) -> None:
    """The key of the first home opens the second; one JSON document each; a second backup of the name and a second restore are refused."""
    archive, other = base / "home.archive", base / "restored"
    made = run(home.path, "backup", str(archive), "--json")
    whole = run(home.path, "verify", str(archive))
    same = run(home.path, "verify", str(archive), "--database", "--json")
    again = run(home.path, "backup", str(archive))
    restored = run(other, "restore", str(archive), "--json")
    twice = run(other, "restore", str(archive), "--json")
    there = run(other, "verify", str(archive), "--database")
    # Other tests have the home as well, and may have made teams in it.
    teams = [team["team_id"] for team in json.loads(run(home.path, "team", "list", "--json").stdout)]
    mine, theirs = (json.loads(run(place, "key", "list", "--team", teams[0], "--json").stdout) for place in (home.path, other))

    assert (0, "installation", 0o600) == (made.returncode, json.loads(made.stdout)["scope"], stat.S_IMODE(archive.stat().st_mode)), made.stderr
    assert (1, True) == (again.returncode, "is there already" in again.stderr and "no archive was left" in again.stderr)
    assert (0, True) == (whole.returncode, "is whole: the whole installation with " in whole.stdout)
    assert (0, True) == (same.returncode, json.loads(same.stdout)["equal"])
    assert (0, json.loads(made.stdout)["rows"]) == (restored.returncode, json.loads(restored.stdout)["rows"]), restored.stdout
    assert (1, "database_not_empty") == (twice.returncode, json.loads(twice.stdout)["code"])
    assert (0, True) == (there.returncode, "exactly these rows" in there.stdout)
    assert [str(archive)] * len(teams) == exports_in(archive)
    assert [key["credential_id"] for key in mine] == [key["credential_id"] for key in theirs] != []


def exports_in(path: Path) -> list[str]:
    """The files that the list of exports in the archive names."""
    with ArchiveReader(path) as archive:
        [entry] = [table for table in archive.manifest.tables if table.table_name == "export"]
        place = entry.columns.index("file_path")
        return [line.split(b"\t")[place].decode() for line in b"".join(archive.pieces(entry)).splitlines()]


def test_what_is_no_archive_is_said(home: Home, run: Run, base: Path) -> None:
    """A missing file and a file of another kind are two things, and neither starts a database."""
    other = base / "other"
    (base / "text").write_text("no archive")
    missing = run(other, "verify", str(base / "absent"), "--json")
    wrong = run(other, "restore", str(base / "text"), "--json")
    unmade = run(other, "backup", str(base / "x"), "--team", "atlas", "--json")

    assert (1, "file_unreadable") == (missing.returncode, json.loads(missing.stdout)["code"])
    assert (1, "archive_invalid") == (wrong.returncode, json.loads(wrong.stdout)["code"])
    assert (1, "migration_needed") == (unmade.returncode, json.loads(unmade.stdout)["code"])
    assert not (base / "x").exists()
