"""`python -m tests.mutation.run`: each mutation of the catalogue in a copy of the tree, and whether its tests are red.

The working tree is never written to. The tests run once without a mutation, which must be green; then once a mutation, which must
be red in every test that the mutation names. A test that passes (survived), a text that is not found and a test that breaks
instead of failing (error) all end in exit code 1.

Without COMMONLORE_TEST_SERVER one embedded server is started for the whole run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from xml.etree import ElementTree

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.mutation.catalogue import MUTATIONS
from tests.mutation.mutation import ROOT, Lost, Mutation, mutated
from tests.support.databases import server_conninfo

PAGE = ROOT / "docs" / "reference" / "mutations.md"
_TIMEOUT_S = 600
_WHOLE_TIMEOUT_S = 3600
# Files that a copy gets times of their own, so that no compiled module of another state is taken for theirs.
_TICKS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Result:
    """`outcome`: killed, survived or error; `detail` says what went wrong."""

    name: str
    outcome: str
    seconds: float
    detail: str = ""


class Copy:
    """A copy of the tree, its files as they lie in the working tree, which one mutation at a time is applied to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        sources = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"]
        for room, target in sources.items():
            link = folder / ".editable" / target
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder / room, target_is_directory=True)

    @contextmanager
    def under(self, mutation: Mutation) -> Iterator[None]:
        """
        Raises:
            Lost: the text of the mutation is not there exactly once.
        """
        path, text = self.folder / mutation.path, mutated(mutation, self.folder)
        whole = path.read_text("utf-8")
        try:
            self._write(path, text)
            yield
        finally:
            self._write(path, whole)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        moment = time.time() + next(_TICKS)
        os.utime(path, (moment, moment))

    def test(self, tests: Iterable[str], *, timeout_s: int = _TIMEOUT_S) -> tuple[dict[str, str], str]:
        """Of each test that ran, by node id without parameters: failed if a case of it did, else error, else passed; and what pytest wrote."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", f"--junitxml={report}", *sorted(set(tests))]
        environment = {**os.environ, "PYTHONPATH": str(self.folder / ".editable")}
        try:
            ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            return {}, f"did not end within {timeout_s} s"
        return (_outcomes(report) if report.exists() else {}), ended.stdout[-2000:] + ended.stderr[-2000:]


def _outcomes(report: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{(case.get('classname') or '').replace('.', '/')}.py::{(case.get('name') or '').split('[')[0]}"
        outcome = "failed" if case.find("failure") is not None else "error" if case.find("error") is not None else "passed"
        found[name] = max(found.get(name, "passed"), outcome, key=("passed", "error", "failed").index)
    return found


def check(copy: Copy, mutation: Mutation) -> Result:
    began = time.monotonic()
    try:
        with copy.under(mutation):
            found, said = copy.test(mutation.tests)
    except Lost as error:
        return Result(mutation.name, "error", 0.0, str(error))
    seconds = round(time.monotonic() - began, 1)
    green = [test for test in mutation.tests if found.get(test) == "passed"]
    broken = [test for test in mutation.tests if found.get(test) not in ("passed", "failed")]
    if broken:
        return Result(mutation.name, "error", seconds, f"no verdict of {', '.join(broken)}: {said.strip()[-600:]}")
    return Result(mutation.name, "survived" if green else "killed", seconds, ", ".join(green))


def run(mutations: Sequence[Mutation], *, jobs: int, console: Console) -> list[Result]:
    """Results in the order of the catalogue; a baseline that is not green is the only result."""
    os.environ.setdefault("COMMONLORE_TEST_SERVER", server_conninfo())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with tempfile.TemporaryDirectory(prefix="commonlore-mutation-") as folder, Progress(*columns, console=console) as progress:
        copies: Queue[Copy] = Queue()
        for number in range(jobs):
            copies.put(Copy(Path(folder, str(number)).resolve()))
        task = progress.add_task("without a mutation", total=len(mutations))
        copy = copies.get()
        found, said = copy.test((test for mutation in mutations for test in mutation.tests), timeout_s=_WHOLE_TIMEOUT_S)
        copies.put(copy)
        red = sorted({test for mutation in mutations for test in mutation.tests if found.get(test) != "passed"})
        if red:
            return [Result("without a mutation", "error", 0.0, f"not green: {', '.join(red)}: {said.strip()[-1500:]}")]

        def one(mutation: Mutation) -> Result:
            copy = copies.get()
            try:
                return check(copy, mutation)
            finally:
                copies.put(copy)

        results = []
        with ThreadPoolExecutor(jobs) as pool:
            for result in pool.map(one, mutations):
                results.append(result)
                if result.outcome != "killed" or not console.is_terminal:
                    console.print(f"{result.outcome} {result.name} {result.detail}".rstrip(), highlight=False, markup=False, soft_wrap=True)
                progress.update(task, description=result.name, advance=1)
    return results


def page(results: Sequence[Result]) -> str:
    """The table of mutations and their results, as docs/reference/mutations.md shows it."""
    outcome = {result.name: result.outcome for result in results}
    rows = [f"| `{item.name}` | {item.breaks} | {outcome[item.name]} |" for item in MUTATIONS]
    return "\n".join(["| mutation | what it breaks | result |", "|---|---|---|", *rows])


def write_page(table: str) -> None:
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition("<!-- results -->\n")
    _, _, tail = rest.partition("<!-- end of results -->")
    PAGE.write_text(f"{head}<!-- results -->\n{table}\n<!-- end of results -->{tail}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run", description="Each mutation must turn its tests red.")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this mutation alone; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--jobs", type=int, default=2, help="copies that run at once (2)")
    parser.add_argument("--write-page", action="store_true", help="write the results of a whole run into docs/reference/mutations.md")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.only) - {mutation.name for mutation in MUTATIONS})
    if unknown or given.jobs < 1 or (given.write_page and given.only):
        parser.error(f"no such mutation: {', '.join(unknown)}" if unknown else "--jobs is at least 1, and --write-page needs a whole run")
    chosen = [mutation for mutation in MUTATIONS if not given.only or mutation.name in given.only]
    console = Console(stderr=True)
    results = run(chosen, jobs=min(given.jobs, len(chosen)), console=console)
    killed = sum(result.outcome == "killed" for result in results)
    if given.json:
        print(json.dumps({"killed": killed, "mutations": len(chosen), "results": [asdict(result) for result in results]}, indent=2))
    else:
        for result in results:
            print(f"{result.outcome:9} {result.seconds:6.1f} s  {result.name}{'  ' + result.detail if result.detail else ''}")
        print(f"{killed} of {len(chosen)} killed")
    if given.write_page and len(results) == len(chosen):
        write_page(page(results))
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
