"""Measures of a ranking, by worked numbers and by the scorer that lies beside the evaluation sets."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonlore.domain.quality.metrics import Judged, TwoSides, conflict_report, ndcg, percentile, reciprocal_rank, score, score_run, summarise

DATASETS = os.environ.get("COMMONLORE_TEST_DATASETS")


def test_ndcg_by_a_worked_number() -> None:
    """Grades 1, 0, 2 in this order: (1/1 + 2/2) / (2/1 + 1/1.585)."""

    found = ndcg(["b", "x", "a"], {"a": 2, "b": 1})

    assert math.isclose(2 / (2 + 1 / math.log2(3)), found)
    assert math.isclose(0.760187, found, abs_tol=1e-6)


def test_ndcg_counts_all_relevant_ids_in_its_ideal() -> None:
    """Twelve relevant ids fill the ideal ten; one found at rank 1 is 1 of 4.5436."""

    assert math.isclose(1 / 4.543559, ndcg(["r0"], {f"r{number}": 1 for number in range(12)}), rel_tol=1e-6)


@pytest.mark.parametrize(("ranked", "expected"), [(["a"], 1.0), (["x", "y", "a"], 1 / 3), ([*"0123456789", "a"], 0.0), ([], 0.0)])
def test_the_reciprocal_rank_ends_at_ten(ranked: list[str], expected: float) -> None:
    """1 / rank of the first relevant id."""

    assert expected == reciprocal_rank(ranked, {"a": 1})


def test_the_measures_of_one_question() -> None:
    """Two of three within five, all three within ten; an id that comes again has its first place only."""

    found = score(["a", "a", "x", "b", "y", "z", "w", "c"], {"a": 1, "b": 1, "c": 1})

    assert (1 / 3, 2 / 3, 1.0, 1.0) == tuple(found[f"recall@{depth}"] for depth in (1, 5, 10, 20))
    assert (0.0, 0.0, 1.0, 1.0) == tuple(found[f"ec@{depth}"] for depth in (1, 5, 10, 20))
    assert 1.0 == found["mrr@10"]


def test_a_single_relevant_id_has_no_completeness() -> None:
    """It would be recall again."""

    assert score(["a"], {"a": 1})["ec@10"] is None


def test_means_by_category() -> None:
    """The macro mean counts each category once; a question without evidence is left out, one without an answer counts as nothing found."""

    questions = [Judged("1", "p", {"a": 1}), Judged("2", "p", {"a": 1}), Judged("3", "q", {"a": 1, "b": 1}), Judged("4", "q", {})]
    found = summarise(score_run({"1": ["a"], "3": ["a", "b"], "4": ["a"]}, questions), questions)

    assert ["overall", "p", "q", "macro"] == list(found)
    assert [(3, 1), (2, 0), (1, 1)] == [(found[name]["n"], found[name]["n_multi"]) for name in ("overall", "p", "q")]
    assert (2 / 3, 0.5, 1.0, 0.75) == tuple(found[name]["recall@5"] for name in found)
    assert (None, 1.0) == (found["p"]["ec@5"], found["macro"]["ec@5"])


def test_one_category_has_no_macro_mean() -> None:
    """It would be the overall mean again; a category may have any name."""

    questions = [Judged("1", "overall", {"a": 1})]

    assert ["overall"] == list(summarise(score_run({}, questions), questions))


@pytest.mark.parametrize(("share", "expected"), [(0.5, 3), (0.95, 5), (0.2, 1), (0.21, 2), (0.0, 1)])
def test_percentiles_by_nearest_rank(share: float, expected: int) -> None:
    """A value that was measured, never one between two."""

    assert expected == percentile([5, 1, 4, 2, 3], share)
    assert percentile([], share) is None


def test_both_sides_and_the_new_above_the_old() -> None:
    """A side below ten is not in ten; a side that is missing stands below one that is not; equal sides are no conflict."""

    pairs = [TwoSides(name, "update", frozenset("o"), frozenset("n")) for name in "123"] + [TwoSides("1", "update", frozenset("o"), frozenset("o"))]
    found = conflict_report({"1": ["n", "o"], "2": ["o", *"abcdefghi", "n"], "3": ["n"]}, pairs)

    assert {"update": {"n": 3, "both_in_10": 1 / 3, "new_above_old": 2 / 3}} == found


@pytest.mark.skipif(DATASETS is None, reason="COMMONLORE_TEST_DATASETS names no folder")
@pytest.mark.parametrize("name", ["factupdate", "madial"])
def test_a_real_run_has_the_numbers_of_the_reference(name: str, tmp_path: Path) -> None:
    """The scorer beside the sets ranks by words alone; both score that run alike, by category and for conflicts."""

    root = Path(DATASETS or "")
    command = [sys.executable, str(root / "evaluate_runs.py"), "baseline", "--set", name, "--systems", "bm25"]
    subprocess.run([*command, "--save", str(tmp_path), "--json", str(tmp_path / "scores.json")], check=True, capture_output=True)
    expected = json.loads((tmp_path / "scores.json").read_text("utf-8"))["results"]["bm25"]
    run = json.loads((tmp_path / f"{name}.bm25.json").read_text("utf-8"))
    lines = {part: [json.loads(line) for line in (root / name / f"{part}.jsonl").read_text("utf-8").splitlines()] for part in ("queries", "qrels")}
    relevance: dict[str, dict[str, int]] = {}
    for item in lines["qrels"]:
        relevance.setdefault(item["query_id"], {})[item["doc_id"]] = item["grade"]
    questions = [Judged(item["id"], str(item["category"]), relevance.get(item["id"], {})) for item in lines["queries"]]
    found = summarise(score_run(run, questions), questions)

    assert set(expected) - {"leak@10", "conflicts", "macro"} == set(found) - {"macro"}
    for part in set(found) - {"macro"}:
        assert found[part] == pytest.approx({key: value for key, value in expected[part].items() if not key.startswith("hit")})
    if name == "factupdate":
        sides = [json.loads(line) for line in (root / name / "conflicts.jsonl").read_text("utf-8").splitlines()]
        pairs = [TwoSides(item["query_id"], item["kind"], frozenset(item["side_a"]), frozenset(item["side_b"])) for item in sides]
        report = conflict_report(run, pairs)["update"]
        wanted = expected["conflicts"]["update"]
        assert (wanted["n"], wanted["both_sides"], wanted["new_above_old"]) == (
            report["n"],
            round(report["both_in_10"], 4),
            round(report["new_above_old"], 4),
        )
