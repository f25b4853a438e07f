"""What the statements of a search are given, by name."""

from __future__ import annotations

from typing import Any

from commonlore.db.resident_words import Bm25
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.filters import NO_FILTER, RecallFilter
from commonlore.domain.recall.plan import LexicalPlan
from commonlore.domain.time import TemporalView


def formula_of(lexical: LexicalPlan, policy: RankingPolicy) -> Bm25:
    """The weights with the factor of a frequency in them."""
    weights = [weight * (policy.bm25_k1 + 1) for weight in lexical.weights.weights]
    return Bm25(list(lexical.weights.terms), weights, lexical.average_length, policy.bm25_k1, policy.bm25_b)


def bm25_parameters(lexical: LexicalPlan, policy: RankingPolicy) -> dict[str, Any]:
    return formula_of(lexical, policy)._asdict()


def view_parameters(view: TemporalView) -> dict[str, Any]:
    return {"valid_at": view.valid_at, "known_at": view.known_at}


def filter_parameters(narrowed: RecallFilter) -> dict[str, Any]:
    ends = {"subject_ids": list(narrowed.subject_entity_ids), "object_ids": list(narrowed.object_entity_ids)}
    if narrowed is NO_FILTER:
        return ends
    occurred_from, occurred_to = narrowed.occurred
    return {
        **ends,
        "labels": narrowed.labels,
        "sources": narrowed.sources,
        "authorities": list(narrowed.authorities),
        "occurred_from": occurred_from,
        "occurred_to": occurred_to,
        "predicates": narrowed.predicate_keys(),
        "polarity": narrowed.polarity,
        "scopes": narrowed.scopes,
    }
