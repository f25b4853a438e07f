"""`commonlore evaluate` from the command line to the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.cli.conftest import Run

PLACES = ("Lisbon", "Oslo")


def write(folder: Path, name: str, lines: list[dict[str, Any]]) -> None:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def a_set(folder: Path) -> Path:
    """Two spaces that say the same of different places, an update in each, and a relationship that both authors read."""
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({"name": "tiny", "title": "Tiny", "spaces": 2}))
    corpus, queries, qrels, conflicts, triples = [], [], [], [], []
    for space in PLACES:
        texts = [f"Ada moved the Orion project to {space}.", f"The Orion project left {space} for good.", "The pelican sleeps."]
        texts += [f"Remark {number} on weather and boats." for number in range(18)]
        texts.append(f"Everyone knows that Ada is in {space}.")
        corpus += [{"id": f"{space}/{number}", "text": text, "space": space, "timestamp": None} for number, text in enumerate(texts)]
        queries.append({"id": space, "text": "Where is the Orion project?", "category": "update", "space": space})
        qrels += [{"query_id": space, "doc_id": f"{space}/0", "grade": 1}, {"query_id": space, "doc_id": f"{space}/1", "grade": 2}]
        queries.append({"id": f"{space}-2", "text": "What does the pelican do?", "category": "single", "space": space})
        qrels.append({"query_id": f"{space}-2", "doc_id": f"{space}/2", "grade": 1})
        conflicts.append({"query_id": space, "kind": "update", "side_a": [f"{space}/0"], "side_b": [f"{space}/1"]})
        triples += [{"subject": "Ada", "predicate": "is in", "object": space, "evidence_ids": [f"{space}/{number}"]} for number in (0, 21)]
    triples.append({"subject": "Ada", "predicate": "1984", "object": "Oslo", "evidence_ids": ["Oslo/0"]})
    for name, lines in (("corpus", corpus), ("queries", queries), ("qrels", qrels), ("conflicts", conflicts), ("triples", triples)):
        write(folder, name, lines)
    return folder


def test_two_spaces_with_the_same_words(tmp_path: Path, run: Run) -> None:
    """Everything is found in its own space and nothing in the other; the lane repeats nothing and groups what two authors said."""

    folder, runs = a_set(tmp_path / "set"), tmp_path / "runs"
    ended = run(tmp_path / "unused", "evaluate", "--set", str(folder), "--against", "rrf-1", "--relationships", "--runs", str(runs), "--json")
    report = json.loads(ended.stdout)
    ranked = json.loads((runs / "tiny.rrf-1.json").read_text("utf-8"))

    assert (0, "") == (ended.returncode, ended.stderr)
    assert ["zscore-2", "rrf-1"] == list(report["contracts"])
    for found in report["contracts"].values():
        assert (0, {}) == (found["leaks"], found["degradations"])
        assert {"overall", "update", "single", "macro"} == set(found["measures"])
        assert 1.0 == found["measures"]["overall"]["recall@5"]
        assert {"n": 2, "both_in_10": 1.0}.items() <= found["conflicts"]["update"].items()
        assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p99"]
        assert (0, 1.0) == (found["relationship_lane"]["cross_lane_duplicates"], found["relationship_lane"]["grouping_precision"])
    assert {"in_the_set": 5, "not_sent": 1, "active": 4, "merged": 0, "merged_wrongly": 0} == report["relationships"]
    assert 4 == report["comparison"]["differences"]["ndcg@10"]["overall"]["n"]
    assert {space: {space} for space in PLACES} == {space: {name.split("/")[0] for name in ranked[space]} for space in PLACES}
    assert not (tmp_path / "unused").exists()


WORK = {"Ada Stone": ("Orion", "Vega", "Lyra"), "Ben Hill": ("Delta", "Gamma", "Sigma")}


def a_set_with_times(folder: Path) -> Path:
    """Two careers of three firms, three years each, asked for by year, among remarks that answer nothing; one text names a ticket."""
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({"name": "times", "title": "Times", "spaces": 1}))
    corpus, queries, qrels, facts = [], [], [], []
    for person, firms in WORK.items():
        for place, firm in enumerate(firms):
            name, years = f"{person}/{place}", [f"{2000 + 3 * place + more}-01-01T00:00:00" for more in range(4)]
            text = f"{person} worked at {firm} and was glad, see ticket {firm}-{place + 1}."
            corpus.append({"id": name, "text": text, "session": person})
            cue = {"after": years[1], "before": years[2]}
            queries.append({"id": name, "text": f"Where did {person} work in {years[1][:4]}?", "category": "work", "time_cue": cue})
            qrels.append({"query_id": name, "doc_id": name, "grade": 1})
            fact = {"subject": person, "predicate": "works at", "object": firm, "valid_from": years[0], "valid_to": years[3]}
            facts.append(fact | {"evidence_ids": [name], "query_id": name})
    corpus += [{"id": f"r{number}", "text": f"Remark {number} on weather and boats."} for number in range(13)]
    for name, lines in (("corpus", corpus), ("queries", queries), ("qrels", qrels), ("facts", facts)):
        write(folder, name, lines)
    return folder


def test_both_lanes_in_slices(tmp_path: Path, run: Run) -> None:
    """The right year of a career is told by the view alone, anchors are found, and what two authors say is one group.

    The same texts lie in the private space of the second author and in another team, and none of that is seen.
    """

    folder = a_set_with_times(tmp_path / "set")
    arguments = ("evaluate", "--set", str(folder), "--lanes", "--private", "--sample", "2", "--against-fusion", "spaces-signal-1", "--json")
    ended = run(tmp_path / "unused", *arguments)
    report = json.loads(ended.stdout)
    lanes = report["lanes"]

    assert (0, "") == (ended.returncode, ended.stderr)
    assert ["zscore-2 spaces-rrf-1", "zscore-2 spaces-signal-1"] == list(lanes["contracts"])
    assert {"restated": 1, "decoys": 4} == {name: lanes[name] for name in ("restated", "decoys")}
    assert {"in_the_set": 6, "not_sent": 0, "active": 7, "merged": 0, "merged_wrongly": 0} == report["relationships"]
    for found in lanes["contracts"].values():
        for lane, anchors in (("evidence", 6), ("relationships", 2)):
            expected = {"as_asked": 2, "temporal": 2, "valid_at": 2, "known_at": 1, "exact_anchor": anchors}
            assert expected == {name: row["n"] for name, row in found[lane].items()}
            assert {1.0} == {row["recall@10"] for row in found[lane].values()}
            assert found[lane]["valid_at"]["mrr@10"] >= found[lane]["temporal"]["mrr@10"]
        # Documents of one career differ in the firm alone, so which is first without the view is a matter of their ids.
        assert found["evidence"]["valid_at"]["mrr@10"] > found["evidence"]["temporal"]["mrr@10"]
        assert (1.0, 0) == (found["grouping"]["precision"], found["grouping"]["missed_pairs"]) and found["grouping"]["pairs"] > 0
        assert {"statements": 2, "by_evidence": 1.0, "by_relationships_only": 0.0} == found["coverage"]
        assert [0, 0, 0] == [found[name] for name in ("duplicates", "leaks", "outside_view")]
    by_turns, by_signals = (found["evidence"]["exact_anchor"]["mrr@10"] for found in lanes["contracts"].values())
    assert by_turns < by_signals == 1.0
    assert 6 == lanes["comparison"]["differences"]["evidence"]["ndcg@10"]["exact_anchor"]["n"]


def test_the_set_that_comes_with_the_program(tmp_path: Path, run: Run) -> None:
    """A newcomer sees the measures of both contracts and their paired difference, without a file of one's own."""

    ended = run(tmp_path / "unused", "evaluate", "--demo", "--against", "rrf-1")
    overall = [line for line in ended.stdout.splitlines() if line.startswith(" overall")]

    assert 0 == ended.returncode, ended.stderr
    assert "244 texts in 1 spaces, 17 questions." in ended.stdout
    assert "rrf-1 minus zscore-2, paired by question" in ended.stdout
    assert 2 == ended.stdout.count("leaks 0")
    assert 2 == len(set(overall)), "each contract has its own order"


def test_a_line_that_asks_for_nothing(tmp_path: Path, run: Run) -> None:
    """Neither a set nor the demo, both, or a contract against itself: the command line is wrong."""

    lines = ([], ["--demo", "--set", str(tmp_path)], ["--demo", "--against", "zscore-2"])

    assert [2, 2, 2] == [run(tmp_path / "unused", "evaluate", *line).returncode for line in lines]
