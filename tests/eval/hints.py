"""What each factor of `zscore-2` gives: the contracts of the domain over an evaluation set in memory, factors off one at a time.

    python -m tests.eval.hints --datasets DIR --cache DIR [--sets locomo,factupdate] [--halves]

Loads a set as `commonlore evaluate` does, embeds it once (kept in the cache), scores both branches exactly and orders by
`domain/recall/`. Prints nDCG@10 over all questions, the mean of the categories, and pairs with the newer text above the
older. `--halves` prints the same for every second space and the others, for tuning on one half and reporting the other.
Words such as "yesterday" count from the question's `asked_at`, where it has one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from commonlore.api.evaluation.sets import Document, EvaluationSet, Question, read_set
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.quality.metrics import ndcg
from commonlore.domain.recall import contract, rerank, utterance
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS, READS_HINTS, SpaceScale
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.hints import NO_HINTS, QueryHints, parse_hints
from commonlore.domain.recall.lexical import LexicalStatistics, weigh
from commonlore.domain.recall.rerank import BLOCK, Ranked
from commonlore.domain.recall.utterance import Utterance, asks
from commonlore.domain.remember.prepare import search_prefix
from commonlore.domain.text import query_terms, split_parts, terms

POLICY = RankingPolicy()
# Factor -> the constant that turns it off, and the value at which it does nothing.
OFF: dict[str, tuple[Any, str, float]] = {
    "named speaker": (utterance, "NAMED_SPEAKER", 0.0),
    "asker": (utterance, "ASKER", 0.0),
    "named period": (utterance, "NAMED_PERIOD", 0.0),
    "question": (utterance, "QUESTION", 0.0),
    "session": (contract, "SESSION_WEIGHT", 0.0),
    "turns beyond": (contract, "FURTHER_WEIGHT", 0.0),
    "named year": (rerank, "PLACES_A_YEAR", 0),
    "later state": (rerank, "NEARLY_THE_SAME", 2.0),
}


@dataclass
class Space:
    """The parts of one space with their postings and vectors; a part names its document by place."""

    documents: list[Document]
    parts: list[tuple[int, int, str]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    postings: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    vectors: Any = None
    ids: list[UUID] = field(default_factory=list)
    sample: list[int] = field(default_factory=list)

    def lexical(self, query: str) -> list[BranchHit]:
        asked = query_terms(query)
        found = LexicalStatistics(len(self.parts), sum(self.lengths), {term: len(self.postings[term]) for term in asked if term in self.postings})
        weights = weigh(asked, found, postings_budget=POLICY.postings_budget)
        scores: dict[int, float] = defaultdict(float)
        for term, weight in zip(weights.terms, weights.weights, strict=True):
            for at, count in self.postings[term]:
                norm = 1 - POLICY.bm25_b + POLICY.bm25_b * self.lengths[at] / found.average_length
                scores[at] += weight * (POLICY.bm25_k1 + 1) * count / (count + POLICY.bm25_k1 * norm)
        return self._best(scores.items())

    def near(self, vector: Any) -> tuple[list[BranchHit], float, float]:
        scores = self.vectors @ vector
        sample = scores[self.sample]
        return self._best(enumerate(scores.tolist())), float(sample.mean()), float(sample.std())

    def _best(self, scores: Any) -> list[BranchHit]:
        best: dict[int, tuple[float, int]] = {}
        for at, score in scores:
            document, part_no, _ = self.parts[at]
            if document not in best or score > best[document][0]:
                best[document] = (score, part_no)
        hits = [BranchHit(self.ids[document], part_no, score) for document, (score, part_no) in best.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.evidence_id))[: POLICY.depth_rows]


def _space(documents: list[Document], embedder: LocalEmbedder, seed: int) -> Space:
    space = Space(documents)
    for at, document in enumerate(documents):
        prefix = search_prefix(document.proposal.get("speaker"))
        text, room = document.proposal["content"], 254 - (embedder.count_tokens(prefix) if prefix else 0)
        for part_no, span in enumerate(split_parts(text, embedder.count_tokens, max_tokens=room)):
            counted = Counter(terms(prefix + text[span.start : span.end]))
            for term, count in counted.items():
                space.postings[term].append((len(space.parts), count))
            space.lengths.append(max(1, counted.total()))
            space.parts.append((at, part_no, text[span.start : span.end]))
    draw = random.Random(seed)
    space.ids = [UUID(int=at << 64 | draw.getrandbits(60)) for at in draw.sample(range(len(documents)), len(documents))]
    firsts = [place for place, (_, part_no, _) in enumerate(space.parts) if part_no == 0]
    space.sample = sorted(firsts, key=lambda place: space.ids[space.parts[place][0]].int % (1 << 48))[: POLICY.sample_parts]
    return space


def _vectors(embedder: LocalEmbedder, texts: Sequence[str], path: Path) -> Any:
    """Of each text, kept beside the cache; a text without any sign that the model sees has zeros."""
    if not path.exists():
        np.save(path, asyncio.run(_embed(embedder, texts)).astype(np.float16))
    return np.load(path).astype(np.float32)


async def _embed(embedder: LocalEmbedder, texts: Sequence[str]) -> Any:
    return np.stack([(await embedder.embed_texts([text]))[0] if embedder.count_tokens(text) else np.zeros(384, np.float32) for text in texts])


@dataclass
class Asked:
    """A question with both branches, the scale of its space, and who said each candidate."""

    question: Question
    space: Space
    lexical: list[BranchHit]
    vector: list[BranchHit]
    scale: SpaceScale
    reference: datetime | None

    def order(self, name: str, hints: QueryHints | None = None) -> list[str]:
        """Names of documents, best first, as the evidence lane shows them; by the hints of the query, unless others are given."""
        if hints is None:
            hints = parse_hints(self.question.text, self.reference) if name in READS_HINTS else NO_HINTS
        ids = EVIDENCE_CONTRACTS[name](self.lexical, self.vector, replace(self.scale, hints=hints))
        at = {key: place for place, key in enumerate(self.space.ids)}
        if name in READS_HINTS:
            part = {hit.evidence_id: hit.part_no for hit in [*self.vector, *self.lexical]}
            texts = {(document, number): text for document, number, text in self.space.parts}
            for start in range(0, min(len(ids), 2 * BLOCK), BLOCK):
                block = ids[start : start + BLOCK]
                said = [self.scale.said[key.int] for key in block]
                items = [
                    Ranked(texts[at[key], part[key]], of_it.speaker, of_it.session, of_it.occurred_at) for key, of_it in zip(block, said, strict=True)
                ]
                ids[start : start + BLOCK] = [block[place] for place in rerank.rerank(items, hints, None).order]
        names = [self.space.documents[at[key]].id for key in ids]
        return [found for found in names if found not in self.question.exclude]


def _said(space: Space) -> dict[int, Utterance]:
    parts = Counter(document for document, _, _ in space.parts)
    found = {}
    for at, document in enumerate(space.documents):
        given = document.proposal
        when = datetime.fromisoformat(given["occurred_at"]) if given.get("occurred_at") else None
        found[space.ids[at].int] = Utterance(
            given.get("session"), given.get("sequence"), given.get("speaker"), when, parts[at] == 1 and asks(given["content"])
        )
    return found


def load(folder: Path, cache: Path, seed: int) -> tuple[EvaluationSet, list[Asked]]:
    texts, embedder = read_set(folder, relationships=False), LocalEmbedder()
    spaces = {name: _space(texts.documents.get(name, []), embedder, seed) for name in texts.spaces}
    order = [
        (space, at, search_prefix(space.documents[document].proposal.get("speaker")) + text)
        for space in spaces.values()
        for at, (document, _, text) in enumerate(space.parts)
    ]
    vectors = _vectors(embedder, [text for _, _, text in order], cache / f"{folder.name}.texts.npy")
    for space in spaces.values():
        space.vectors = vectors[[place for place, (owner, _, _) in enumerate(order) if owner is space]]
    asked = _vectors(embedder, [question.text for question in texts.questions], cache / f"{folder.name}.queries.npy")
    embedder.close()
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    when = {item["id"]: item.get("asked_at") for item in map(json.loads, filter(str.strip, lines))}
    found = []
    for question, vector in zip(texts.questions, asked, strict=True):
        space = spaces[question.space]
        lexical, (near, mean, deviation) = space.lexical(question.text), space.near(vector)
        said = _said(space)
        turns = {key: (of_it.session, of_it.sequence) for key, of_it in said.items() if of_it.session and of_it.sequence}
        scale = SpaceScale(len(space.documents), mean, deviation, turns=turns, said=said)
        candidates = {hit.evidence_id.int for hit in near} | {hit.evidence_id.int for hit in lexical}
        scale = replace(
            scale,
            turns={key: turn for key, turn in turns.items() if key in candidates},
            said={key: of_it for key, of_it in said.items() if key in candidates},
        )
        moment = when[question.id]
        found.append(Asked(question, space, lexical, near, scale, datetime.fromisoformat(moment).replace(tzinfo=UTC) if moment else None))
    return texts, found


def measure(texts: EvaluationSet, asked: Sequence[Asked], name: str) -> str:
    """One cell: nDCG@10 over all questions, the mean of the categories, and newer above older where a set has pairs."""
    rows, runs = defaultdict(list), {}
    for item in asked:
        runs[item.question.id] = order = item.order(name)
        if relevance := texts.relevance.get(item.question.id):
            rows[item.question.category].append(ndcg(order, relevance))
    every = [value for values in rows.values() for value in values]
    macro = sum(sum(values) / len(values) for values in rows.values()) / len(rows)
    pairs = [pair for pair in texts.pairs if pair.question in runs]
    newer = [_first(runs[pair.question], pair.new) < _first(runs[pair.question], pair.old) for pair in pairs]
    return f"{sum(every) / len(every):.4f} | {macro:.4f} | " + (f"{sum(newer) / len(newer):.3f}" if newer else "")


def _first(order: Sequence[str], names: frozenset[str]) -> int:
    return next((place for place, name in enumerate(order) if name in names), len(order) + 1)


@contextmanager
def without(factor: str) -> Iterator[None]:
    module, constant, value = OFF[factor]
    kept = getattr(module, constant)
    setattr(module, constant, value)
    try:
        yield
    finally:
        setattr(module, constant, kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--sets", default="locomo,factupdate")
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="of the ids, which break ties and choose the sample")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    print("| set | contract | nDCG@10 | macro | newer above older |\n|---|---|---|---|---|")
    for folder in (arguments.datasets / name for name in arguments.sets.split(",")):
        texts, asked = load(folder, arguments.cache, arguments.seed)
        half = set(texts.spaces[::2])
        parts = [("", asked)]
        if arguments.halves:
            parts.append((" A", [item for item in asked if item.question.space in half]))
            parts.append((" B", [item for item in asked if item.question.space not in half]))
        for label, chosen in parts:
            for name in EVIDENCE_CONTRACTS:
                print(f"| {folder.name}{label} | {name} | {measure(texts, chosen, name)} |", flush=True)
            for factor in OFF:
                with without(factor):
                    print(f"| {folder.name}{label} | zscore-2 without {factor} | {measure(texts, chosen, 'zscore-2')} |", flush=True)


if __name__ == "__main__":
    main()
