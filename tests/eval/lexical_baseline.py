"""The lexical branch alone: BM25 over the terms of `commonlore.domain.text`, scored on the evaluation sets.

    python tests/eval/lexical_baseline.py --datasets DIR [--sets locomo,cjk] [--b 0.4,0.75] [--parts]

`DIR` holds one folder a set and `evaluate_runs.py`, whose metrics are used. Exact search, one index for each space a query may see
(for qmsum: for each meeting). Prints one Markdown row a set and b: nDCG@10, rows stored for each document, and the same by language where the
categories are languages.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from commonlore.domain.text import query_terms, split_parts, terms

Analyser = Callable[[str], list[str]]
SETS = ("locomo", "beam100k", "factupdate", "qmsum", "musique", "hotpotqa", "cjk", "xquad", "madial", "irc_threads")
BY_CATEGORY = frozenset({"cjk", "xquad", "madial"})
K1 = 1.2


def load_evaluation(datasets: Path) -> ModuleType:
    """The module `evaluate_runs.py` of the data sets."""
    spec = importlib.util.spec_from_file_location("evaluate_runs", datasets / "evaluate_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Index:
    """Postings of one space. A unit is a whole text, or one part of it; a document scores as its best unit."""

    def __init__(self, units: Sequence[tuple[str, list[str]]]) -> None:
        self.parents = [parent for parent, _ in units]
        self.lengths = [len(found) for _, found in units]
        self.average = sum(self.lengths) / max(1, len(units)) or 1.0
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, (_, found) in enumerate(units):
            for term, count in Counter(found).items():
                self.postings[term].append((at, count))

    @property
    def rows(self) -> int:
        return sum(map(len, self.postings.values()))

    def search(self, query: Sequence[str], b: float, limit: int = 200) -> list[str]:
        """Document ids, best first; ties by id. Okapi BM25 with the idf of Lucene."""
        scores: dict[int, float] = defaultdict(float)
        for term in query:
            found = self.postings.get(term, ())
            idf = math.log(1 + (len(self.lengths) - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                norm = K1 * (1 - b + b * self.lengths[at] / self.average)
                scores[at] += idf * count * (K1 + 1) / (count + norm)
        best: dict[str, float] = {}
        for at, score in scores.items():
            parent = self.parents[at]
            best[parent] = max(score, best.get(parent, 0.0))
        return [parent for parent, _ in sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]]


def estimated_word_pieces(text: str) -> int:
    """A stand-in for the model's tokenizer: four ASCII characters a piece, one piece for any other character."""
    foreign = sum(not char.isascii() for char in text)
    return foreign + (len(text) - foreign) // 4 + 2


def _units(evaluation: ModuleType, documents: Sequence[dict[str, Any]], analyse: Analyser, parts: bool) -> list[tuple[str, list[str]]]:
    units: list[tuple[str, list[str]]] = []
    for document in documents:
        text = evaluation.doctext(document)
        spans = split_parts(text, estimated_word_pieces) if parts else ()
        pieces = [text[span.start : span.end] for span in spans] or [text]
        units.extend((document["id"], analyse(piece)) for piece in pieces)
    return units


def run_set(
    evaluation: ModuleType, data: Any, bs: Sequence[float], *, analyse: Analyser = terms, ask: Analyser = query_terms, parts: bool = False
) -> tuple[dict[float, dict[str, Any]], float]:
    """Results of one set for each b, as `evaluate` gives them, and the postings stored for each document."""
    scope = data.meta.get("default_scope") or ("session" if data.name == "qmsum" else "space" if data.meta["spaces"] > 1 else None)
    documents: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for document in data.docs:
        documents[document.get(scope) if scope else None].append(document)
    indices: dict[Any, Index] = {}
    runs: dict[float, dict[str, list[str]]] = {b: {} for b in bs}
    for query in data.queries:
        key = query.get(scope) if scope else None
        if key not in indices:
            indices[key] = Index(_units(evaluation, documents[key], analyse, parts))
        asked, excluded = ask(query["text"]), set(query.get("exclude") or ())
        for b in bs:
            runs[b][query["id"]] = [found for found in indices[key].search(asked, b) if found not in excluded]
    rows = sum(index.rows for index in indices.values()) / max(1, sum(len(documents[key]) for key in indices))
    return {b: evaluation.evaluate(run, data.rel, data.queries) for b, run in runs.items()}, rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--b", default="0.75,0.4")
    parser.add_argument("--parts", action="store_true", help="BM25 over parts; a document scores as its best part")
    arguments = parser.parse_args()
    evaluation = load_evaluation(arguments.datasets)
    bs = [float(b) for b in arguments.b.split(",")]
    print("| set | b | nDCG@10 | postings a document | by category |\n|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        results, rows = run_set(evaluation, evaluation.Set(name, str(arguments.datasets)), bs, parts=arguments.parts)
        for b, result in results.items():
            shown = sorted((key, value["ndcg@10"]) for key, value in result.items() if key not in {"overall", "macro"})
            split = ", ".join(f"{key} {value:.3f}" for key, value in shown) if name in BY_CATEGORY else ""
            print(f"| {name} | {b} | {result['overall']['ndcg@10']:.4f} | {rows:.1f} | {split} |")


if __name__ == "__main__":
    main()
