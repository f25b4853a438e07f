"""Evidence ranking contracts: named, exchangeable ways to order the candidates of one space.

A contract sees two branches and what the space says of itself, and returns ids; nothing after it depends on how.
`docs/adr/0021-evidence-ranking-contract.md` has the measurements that chose the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from commonlore.domain.recall.fusion import BranchHit, fuse
from commonlore.domain.recall.hints import NO_HINTS, QueryHints
from commonlore.domain.recall.utterance import Utterance, preferences

Turn = tuple[str, int]


@dataclass(frozen=True, slots=True)
class SpaceScale:
    """What scores mean in one space, for one query.

    `texts` counts the evidence of the space. `dense_mean` and `dense_deviation` are those of the query's inner products
    over a fixed sample; None where there is no vector. `turns` has (session, sequence) by the number of a candidate's id,
    and `said` who said it and when, where the contract asks for more. `hints` are those of the query.
    """

    texts: int
    dense_mean: float | None = None
    dense_deviation: float | None = None
    turns: Mapping[int, Turn] = field(default_factory=dict)
    said: Mapping[int, Utterance] = field(default_factory=dict)
    hints: QueryHints = NO_HINTS


EvidenceContract = Callable[[Sequence[BranchHit], Sequence[BranchHit], SpaceScale], list[UUID]]


def rrf_1(lexical: Sequence[BranchHit], vector: Sequence[BranchHit], scale: SpaceScale) -> list[UUID]:
    """Contract `rrf-1`: equal-weight RRF with k = 60. Ties: best single rank, then id."""
    # Whole numbers, not UUIDs, as keys: their hash costs a tenth, and a recall makes thousands.
    ids = {key.int: key for branch in (lexical, vector) for key, _, _ in branch}
    fused = fuse([[key.int for key, _, _ in lexical], [key.int for key, _, _ in vector]])
    return [ids[key] for _, _, key in sorted((-score, rank, key) for key, (score, rank) in fused.items())]


LEXICAL_WEIGHT = 0.4
NEIGHBOUR_WEIGHT = 0.2
FURTHER_WEIGHT = 0.1
SESSION_WEIGHT = 0.3
# The deviation of MiniLM's inner products over unrelated texts (components.md C), where a space's own is not known.
_USUAL_DEVIATION = 0.106
# A space of near-equal texts has hardly any spread; below this a difference is noise and must not be blown up.
_LEAST_DEVIATION = 0.02


def zscore_1(lexical: Sequence[BranchHit], vector: Sequence[BranchHit], scale: SpaceScale) -> list[UUID]:
    """Contract `zscore-1`: standard scores of both branches, 0.4 lexical and 0.6 dense, and 0.2 of each neighbouring turn.

    Lexical scores are standardised over the whole space, in which all but the candidates count as 0; dense ones over the
    sample. A candidate that one branch lacks has there 0 and the branch's last score. The turn before and the turn after
    in the same session add 0.2 of their own score each; one that is no candidate counts as the weakest. Ties: id.
    Without vectors the order is the lexical one, with neighbours; without words the dense one.

    Source: evaluation.md, "One recipe from development data only"; weights by tests/eval, ADR 0021.
    """
    found = _candidates(lexical, vector, scale)
    own = found.by_number()
    by_turn = {turn: key for key, turn in scale.turns.items()}
    return found.best_first([score + _neighbours(scale.turns.get(key), by_turn, own, found.weakest) for key, score in own.items()])


class _Candidates(NamedTuple):
    """Numbers of ids, hits and weighted standard scores, each candidate once; `weakest` is the score of a text that matches nothing."""

    numbers: list[int]
    hits: list[BranchHit]
    scores: list[float]
    weakest: float

    def by_number(self) -> dict[int, float]:
        """The scores, in their order."""
        return dict(zip(self.numbers, self.scores, strict=True))

    def best_first(self, scores: Sequence[float]) -> list[UUID]:
        """The ids by other scores, given in the same order. Ties: id."""
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        if len(set(scores)) < len(scores):
            order.sort(key=lambda place: (-scores[place], self.numbers[place]))
        return [self.hits[place][0] for place in order]


def _candidates(lexical: Sequence[BranchHit], vector: Sequence[BranchHit], scale: SpaceScale) -> _Candidates:
    """Those of the lexical branch, then the others of the vector branch."""
    # Hundreds of candidates: lists that go through C, and each term once.
    words, near = [hit[0].int for hit in lexical], [hit[0].int for hit in vector]
    lexical_scores, vector_scores = [hit[2] for hit in lexical], [hit[2] for hit in vector]
    with_words = set(words)
    others = [place for place, key in enumerate(near) if key not in with_words]
    mean, deviation = _lexical_moments(lexical_scores, max(scale.texts, len(words) + len(others), 1))
    dense_mean, dense_deviation = (
        scale.dense_mean or 0.0,
        max(_USUAL_DEVIATION if scale.dense_deviation is None else scale.dense_deviation, _LEAST_DEVIATION),
    )
    floor = min(vector_scores, default=dense_mean)
    lexical_weight = LEXICAL_WEIGHT if near else 1.0
    dense_weight = 1.0 - LEXICAL_WEIGHT if near else 0.0
    no_words, not_near = lexical_weight * (0.0 - mean) / deviation, dense_weight * (floor - dense_mean) / dense_deviation
    dense = [dense_weight * (score - dense_mean) / dense_deviation for score in vector_scores]
    nearness = dict(zip(near, dense, strict=True)).get
    own = [lexical_weight * (score - mean) / deviation + nearness(key, not_near) for key, score in zip(words, lexical_scores, strict=True)]
    return _Candidates(
        words + [near[place] for place in others],
        [*lexical, *[vector[place] for place in others]],
        own + [no_words + dense[place] for place in others],
        no_words + not_near,
    )


def _lexical_moments(scores: Sequence[float], texts: int) -> tuple[float, float]:
    mean = math.fsum(scores) / texts
    variance = math.fsum([score * score for score in scores]) / texts - mean * mean
    return mean, math.sqrt(variance) if variance > 0 else 1.0


def _neighbours(turn: Turn | None, by_turn: Mapping[Turn, int], own: Mapping[int, float], weakest: float) -> float:
    if turn is None:
        return 0.0
    session, sequence = turn
    total = 0.0
    for place in ((session, sequence - 1), (session, sequence + 1)):
        neighbour = by_turn.get(place)
        total += own[neighbour] if neighbour is not None else weakest
    return NEIGHBOUR_WEIGHT * total


def zscore_2(lexical: Sequence[BranchHit], vector: Sequence[BranchHit], scale: SpaceScale) -> list[UUID]:
    """Contract `zscore-2`: the standard scores of `zscore-1`, with what the query hints at and what is known of a talk.

    A candidate gains by `preferences` in its own score, which its neighbours and its session then share: 0.2 of the turns
    before and after, among people 0.1 of those beyond, and 0.3 of the best turn of its session. All are counted above the
    score of a text that matches nothing, so that a missing neighbour adds nothing. A text without session, speaker or time
    keeps its score of `zscore-1`. Ties: id.

    Source: tests/eval/hints.py, ADR 0026.
    """
    found = _candidates(lexical, vector, scale)
    said = scale.said
    if not said:
        return found.best_first(found.scores)
    own = found.by_number()
    gains = preferences(said, scale.hints)
    if gains.by_speaker:
        extra = {speaker: gain for speaker, (_, gain) in gains.by_speaker.items()}
        for key, of_it in said.items():
            if of_it[2] in extra:
                own[key] += extra[of_it[2]]
    total = own | {key: own[key] + gain for key, gain in gains.by_total.items()}
    _share(total, own, found.weakest, said, gains.people)
    return found.best_first(list(total.values()))


def _share(total: dict[int, float], own: Mapping[int, float], weakest: float, said: Mapping[int, Utterance], people: frozenset[str]) -> None:
    """Adds to `total` what neighbours and sessions give. Of two turns that claim one place the better counts."""
    sessions: dict[str, dict[int, float]] = {}
    best: dict[str, float] = {}
    for key, (session, sequence, _, _, _) in said.items():
        if session is None:
            continue
        above = own[key] - weakest
        if session not in best:
            sessions[session], best[session] = {}, above
        elif above > best[session]:
            best[session] = above
        if sequence is not None:
            places = sessions[session]
            if sequence not in places or above > places[sequence]:
                places[sequence] = above
    for key, (session, sequence, speaker, _, _) in said.items():
        if session is None:
            continue
        if sequence is not None:
            get = sessions[session].get
            total[key] += NEIGHBOUR_WEIGHT * (get(sequence - 1, 0.0) + get(sequence + 1, 0.0))
            if speaker in people:
                total[key] += FURTHER_WEIGHT * (get(sequence - 2, 0.0) + get(sequence + 2, 0.0))
        if speaker is not None:
            total[key] += SESSION_WEIGHT * best[session]


EVIDENCE_CONTRACTS: Mapping[str, EvidenceContract] = MappingProxyType({"rrf-1": rrf_1, "zscore-1": zscore_1, "zscore-2": zscore_2})
# Contracts that ask who said a candidate and when, and whose best candidates are reranked by `domain/recall/rerank.py`.
READS_HINTS = frozenset({"zscore-2"})
