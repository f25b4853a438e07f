"""The pages hold together, and the rooms keep the rules that the pages state."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOMS = ("api", "client", "db", "domain", "workers")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"))])
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
HEADINGS = ["Context", "Decision", "Alternatives", "Consequences", "What would make us revisit"]
MOST_MODULE_LINES, MOST_FUNCTION_LINES = 400, 60
VAGUE = re.compile(r"(?:^|_)(?:utils?|commons?|helpers?|managers?)(?:_|$)")

# Put together from pieces, so that this file names neither a host nor a path of a machine itself.
HOSTS = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("pypi", "org"),
            ("files", "python" + "hosted", "org"),
            ("registry", "npmjs", "org"),
            ("registry", "yarnpkg", "com"),
            ("proxy", "golang", "org"),
            ("docker", "io"),
            ("ghcr", "io"),
            ("quay", "io"),
            ("huggingface", "co"),
            ("conda", "anaconda", "org"),
            ("crates", "io"),
        )
    )
)
PATHS = re.compile(r"(?<![\w.\-])/(?:" + "|".join(("wo" + "rk/", "ro" + "ot/", "tm" + "p/dev", "Us" + r"ers/\w")) + ")")


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as common renderers make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def links(page: Path) -> Iterator[str]:
    """Links outside of code blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_of_a_page_resolve(page: Path) -> None:
    """A link to a file finds the file, and one with an anchor its heading; addresses of the web are left alone."""

    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(link)

    assert [] == broken


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_python_of_a_page_compiles(page: Path) -> None:
    """A block marked python is Python."""

    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)

    assert [True] * len(blocks) == [compile(block, label(page), "exec") is not None for block in blocks]


@pytest.mark.parametrize("page", DECISIONS, ids=label)
def test_a_decision_has_its_five_headings(page: Path) -> None:
    """Context, decision, alternatives, consequences, and what would make us revisit; the number is that of the file."""

    text = page.read_text("utf-8")

    assert HEADINGS == re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert text.startswith(f"# {page.name[:4]} ")


def test_the_map_names_every_page() -> None:
    """docs/index.md links to each page below docs/."""

    mapped = {(ROOT / "docs" / link).resolve() for link in links(ROOT / "docs" / "index.md")}

    assert [] == [label(page) for page in sorted((ROOT / "docs").rglob("*.md")) if page.resolve() not in mapped and page.name != "index.md"]


def test_decisions_are_numbered_without_gaps() -> None:
    """0001 onwards, each number once, and each on the map."""

    numbers = [int(page.name[:4]) for page in DECISIONS]
    mapped = re.findall(r"\(adr/([^)]+)\)", (ROOT / "docs" / "index.md").read_text("utf-8"))

    assert list(range(1, len(numbers) + 1)) == numbers
    assert [page.name for page in DECISIONS] == mapped


def tracked_texts() -> list[tuple[str, str]]:
    """Every file under version control that is UTF-8 text, by name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        if path.is_file():
            data = path.read_bytes()
            if b"\0" not in data:
                found.append((name, data.decode("utf-8", "replace")))
    return found


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no repository here")
@pytest.mark.parametrize("pattern", [HOSTS, PATHS], ids=["a registry's host", "a path of one machine"])
def test_no_tracked_text_names(pattern: re.Pattern[str]) -> None:
    """What is true on one machine or at one provider has no place in the repository."""

    found = [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}" for name, text in tracked_texts() for match in pattern.finditer(text)]

    assert [] == found


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (HOSTS, "https://" + "pypi" + ".org/simple", True),
        (HOSTS, "psycopg.org", False),
        (PATHS, "see /wo" + "rk/somewhere", True),
        (PATHS, "/ro" + "ot/x", True),
        (PATHS, "the folder /home/commonlore of a container", False),
        (PATHS, "docs/wo" + "rk/x", False),
        (PATHS, "COMMONLORE_HOME=/var/lib/commonlore", False),
    ],
)
def test_the_patterns_find_what_they_should(pattern: re.Pattern[str], text: str, expected: bool) -> None:
    """A pattern that finds nothing at all would pass every file."""

    assert expected == (pattern.search(text) is not None)


def test_modules_are_short() -> None:
    """At most 400 lines."""

    assert [] == [label(path) for path in MODULES if len(path.read_text("utf-8").splitlines()) > MOST_MODULE_LINES]


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without those of the functions and classes inside it, which count for themselves."""
    lines = (function.end_lineno or function.lineno) + 1 - function.lineno
    if lines <= MOST_FUNCTION_LINES:
        return lines  # short enough with them
    inner: set[int] = set()
    for node in ast.walk(function):
        if node is not function and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(set(range(function.lineno, (function.end_lineno or function.lineno) + 1)) - inner)


def test_functions_are_short() -> None:
    """At most 60 lines."""

    functions = [
        (label(path), node)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert [] == [f"{path} {node.name}" for path, node in functions if own_lines(node) > MOST_FUNCTION_LINES]


def test_modules_have_names_that_say_something() -> None:
    """No utils, common, helpers or manager, neither as a module nor as a folder."""

    parts = {part for path in MODULES for part in path.relative_to(ROOT).with_suffix("").parts}

    assert [] == sorted(part for part in parts if VAGUE.search(part))


def test_the_context_of_a_transaction_is_set_in_one_file() -> None:
    """Only the statements of session.sql set a setting of Commonlore."""

    queries = (ROOT / "db" / "queries").glob("*.sql")
    python = [path for path in MODULES if "set_config(" in path.read_text("utf-8")]

    assert ["session.sql"] == sorted(path.name for path in queries if "select set_config(" in path.read_text("utf-8"))
    assert [] == [label(path) for path in python]


def test_the_rooms_of_the_page_are_those_of_the_import_contract() -> None:
    """ARCHITECTURE.md has a heading for each room."""

    headings = re.findall(r"^## `(\w+)/`", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.MULTILINE)

    assert set() == set(ROOMS) - set(headings)


def test_functions_of_the_lines_exist() -> None:
    """Every function and module that the two tables of ARCHITECTURE.md name is in the code."""

    rows = re.findall(r"^\| [^|]+ \| (`[^|]+`) \| (`[^|]+\.py`) \|", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.MULTILINE)
    missing = []
    for functions, modules in rows:
        texts = [(ROOT / module).read_text("utf-8") for module in re.findall(r"`([^`]+)`", modules)]
        for name in re.findall(r"`([^`]+)`", functions):
            last = name.removesuffix("[...]").split(".")[-1]
            if not any(re.search(rf"^\s*(?:async )?def {last}\b|^{last}\b", text, re.MULTILINE) for text in texts):
                missing.append(f"{name} in {modules}")

    assert len(rows) > 20
    assert [] == missing
