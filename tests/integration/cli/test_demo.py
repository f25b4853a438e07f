"""`commonlore demo`, and `commonlore import` against the real service."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.integration.cli.conftest import Home, Run, Service


def test_the_demo_shows_everything_and_can_be_run_again(home: Home, run: Run) -> None:
    """Import, relationships, recalls, a trace and another team that finds nothing; a second run stores nothing twice.

    A database that COMMONLORE_DATABASE_URL names is left alone, and the demo says so. The README shows what it really answers.
    """

    first = json.loads(run(home.path, "demo", "--home", str(home.path), "--json").stdout)
    external = "postgresql://someone:marker-secret@127.0.0.1:1/lore"
    second = run(home.path, "demo", "--home", str(home.path), COMMONLORE_DATABASE_URL=external)

    assert (244, 244) == (first["lines"], first["stored"] + 2)
    assert (7, ["entailed"], 0) == (first["relationships"], first["trace"], first["other_team_found"])
    assert ["I prefer the LXDE", "how can i find ou", "Ubuntu plans on s"] == [recall["contexts"][0][:17] for recall in first["recalls"]]
    assert (0, "") == (second.returncode, second.stderr)
    assert "244 imported by an earlier run" in second.stdout
    assert [] == [line for line in _shown_in_readme() if line.strip() not in second.stdout]
    assert "the demo leaves that database alone" in second.stdout
    assert "marker-secret" not in second.stdout
    assert re.search(r"cl_[0-9a-f]{32}_", second.stdout) is None


def _shown_in_readme() -> list[str]:
    page = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    block = re.search(r"## One recall\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def test_an_import_goes_on_after_a_correction(home: Home, tmp_path: Path, run: Run, start: Callable[..., Service]) -> None:
    """A wrong line stops it with its number; the corrected file is imported, and again without storing anything twice."""

    service = start(home.path, "--no-worker")
    file, out = tmp_path / "talk.jsonl", tmp_path / "map.jsonl"
    lines = [json.dumps({"text": f"The lantern number {number} hangs in the hall.", "speaker": "Ida", "id": str(number)}) for number in range(30)]
    file.write_text("\n".join([*lines[:25], '{"text": "x", "time": "2020-01-01T00:00:00"}', *lines[25:]]))
    extra = {"COMMONLORE_KEY": home.key, "COMMONLORE_URL": service.url}
    stopped = run(home.path, "import", str(file), **extra)
    file.write_text("\n".join(lines))
    corrected = json.loads(run(home.path, "import", str(file), "--json", "--map", str(out), **extra).stdout)
    again = run(home.path, "import", str(file), **extra)
    refused = run(home.path, "import", str(file), COMMONLORE_URL=service.url)
    wrong = run(home.path, "import", str(file), **{**extra, "COMMONLORE_KEY": home.key[:-4] + "aaaa"})
    service.stop()

    assert stopped.returncode == 1
    assert stopped.stderr.startswith("Error: line 26, field time: it has no offset")
    assert (30, 10, 20) == (corrected["lines"], corrected["stored"], corrected["already_imported"])
    assert sorted(map(str, range(30))) == sorted(json.loads(line)["id"] for line in out.read_text().splitlines())
    assert "30 imported by an earlier run" in again.stdout
    assert (1, 1) == (refused.returncode, wrong.returncode)
    assert "credential_invalid" in wrong.stderr
    assert home.key not in "".join(part.stdout + part.stderr for part in (stopped, again, refused, wrong))
