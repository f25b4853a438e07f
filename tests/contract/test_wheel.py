"""What a user receives: one import name, every data file, no stray package, and programs that start."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "client", "domain", "db", "workers", "alembic")


def tracked() -> list[str]:
    """Files below the rooms that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return sorted(name for name in listed.split("\0") if name)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, and the wheel that is made from it: what an index serves."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    return folder


def test_the_wheel_is_the_rooms_and_nothing_else(built: Path) -> None:
    """Every tracked file of a room lies under the one import name; no room is a package of its own."""
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        shipped = sorted(name for name in archive.namelist() if ".dist-info/" not in name)

    assert [f"commonlore/{name}" for name in tracked()] == shipped


def test_the_source_distribution_holds_the_licence_and_the_notice(built: Path) -> None:
    """Whoever receives the code receives its terms."""
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    assert {"LICENSE", "NOTICE", "README.md", "pyproject.toml", "hatch_build.py"} <= names


def test_the_alembic_folder_never_hides_the_library() -> None:
    """A package file there would take the place of the library on every path that holds the root."""

    assert not (ROOT / "alembic" / "__init__.py").exists()
