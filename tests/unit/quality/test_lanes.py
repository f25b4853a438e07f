"""What both lanes are asked, and the numbers that come of the answers, on rows that are wrong on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from commonlore.api.evaluation.asking import Answer, LoadedSpace, meaning_of, read_answer
from commonlore.api.evaluation.collisions import private_half
from commonlore.api.evaluation.lanes import lanes_report
from commonlore.api.evaluation.probes import Probe, make_probes
from commonlore.api.evaluation.report import Asked, leaks_of, make_report
from commonlore.api.evaluation.sets import Document, EvaluationSet, Question, Statement, sample
from commonlore.domain.quality.lane import LaneAnswer, LaneItem, missed_pairs, said

MEANING = {"r1": "ada works", "r2": "ada works", "r3": "ada left"}
YEAR = ("2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z")
FACT = Statement(0, "Ada", "works at", "Orion", ("d1",), "2001-01-01T00:00:00Z", "2004-01-01T00:00:00Z", "q1")
LATER = Statement(1, "Ada", "works at", "Vega", ("d2",), "2004-01-01T00:00:00Z", None, "q2")
TEXTS = {"d1": "Ada worked at Orion for three long years, see ENG-1.", "d2": "Ada went to Vega and stayed there for good, see ENG-1."}


def a_set(**changes: Any) -> EvaluationSet:
    questions = [Question(f"q{number}", "one", "work", "Where was Ada?", False, frozenset(), YEAR if number == 1 else None) for number in (1, 2)]
    fields = {
        "documents": {"one": [Document(name, "one", {"content": text, "session": name}) for name, text in TEXTS.items()]},
        "questions": questions,
        "relevance": {"q1": {"d1": 1}, "q2": {"d2": 1}},
        "statements": [FACT, LATER],
    }
    return EvaluationSet("s", "s", **fields | changes)


def a_space() -> LoadedSpace:
    """Both texts and relationships are stored; the first ones before the instant halfway."""
    space = LoadedSpace(("key",), halfway="2026-01-01T00:00:00+00:00")
    space.meaning |= {"r1": meaning_of(FACT), "r2": meaning_of(LATER)}
    space.active |= {"r1", "r2"}
    space.stated |= set(space.meaning.values())
    space.early |= {"d1", "e1", "r1", meaning_of(FACT)}
    space.documents["e1"].append("d1")
    space.documents["e2"].append("d2")
    return space


def a_lane(*groups: tuple[str, ...], carried: tuple[str, ...] = ()) -> LaneAnswer:
    return LaneAnswer(tuple(LaneItem(ids, ()) for ids in groups), (), carried)


def an_answer(lane: LaneAnswer, *documents: str, foreign: int = 0, outside: int = 0) -> Answer:
    return Answer(documents, foreign, 1.0, (), lane, outside)


def test_what_should_stand_together_and_does_not_is_counted() -> None:
    """Two of three authors are shown as one group: of the three pairs that state the same, two are missed."""
    holders = {"ada works": frozenset(("r1", "r2", "r4"))}

    assert 2 == missed_pairs(a_lane(("r1", "r2")), MEANING, holders)
    assert 0 == missed_pairs(a_lane(("r1", "r2", "r4")), MEANING, holders) == missed_pairs(a_lane(("r9",)), MEANING, holders)
    assert (1, 1) == said(a_lane(("r3",), ("r2",), carried=("r1",)), frozenset(MEANING.values()), MEANING)


def test_a_question_is_asked_as_it_is_at_its_time_and_as_known_then() -> None:
    """The middle of its period; what came later is not expected; an anchor in quotes, an identifier and a name for each question."""
    probes = make_probes(a_set(), {"one": a_space()})
    found = [(probe.slices, probe.question.text, dict(probe.fields), set(probe.texts), len(probe.statements)) for probe in probes]

    assert [
        (("as_asked", "temporal"), "Where was Ada?", {}, {"d1"}, 1),
        (("valid_at",), "Where was Ada?", {"valid_at": "2001-07-02T12:00:00+00:00"}, {"d1"}, 1),
        (("known_at",), "Where was Ada?", {"known_at": "2026-01-01T00:00:00+00:00"}, {"d1"}, 1),
        (("as_asked",), "Where was Ada?", {}, {"d2"}, 1),
        (("exact_anchor",), '"Orion for three long years,"', {}, {"d1"}, 0),
        (("exact_anchor",), "ENG-1", {}, {"d1", "d2"}, 0),
        (("exact_anchor",), '"Orion"', {}, {"d1"}, 1),
        (("exact_anchor",), '"Vega and stayed there for"', {}, {"d2"}, 0),
        (("exact_anchor",), '"Vega"', {}, {"d2"}, 1),
    ] == found


@pytest.mark.parametrize(
    ("fields", "outside"),
    [
        ({}, 0),
        ({"valid_at": "2001-01-01T00:00:00+00:00"}, 0),
        ({"valid_at": "2003-12-31T23:59:59+00:00"}, 0),
        ({"valid_at": "2004-01-01T00:00:00+00:00"}, 1),
        ({"valid_at": "2000-12-31T23:59:59+00:00"}, 1),
        ({"known_at": "2026-01-01T00:00:00+00:00"}, 1),
    ],
)
def test_what_a_view_cannot_have_is_counted(fields: dict[str, str], outside: int) -> None:
    """A relationship before its start and from its end on; a text that was stored after the instant asked for."""
    item = {
        "relationship_id": "r1",
        "equivalent_relationship_ids": [],
        "evidence_ids": ["e1"],
        "valid_from": FACT.valid_from,
        "valid_to": FACT.valid_to,
    }
    results = [{"evidence_id": name, "equivalent_evidence_ids": [], "relationship_ids": []} for name in ("e1", "e2")]
    answer = {"results": results, "related_relationships": [item], "degradations": []}

    assert outside == read_answer(answer, a_space(), a_set().questions[0], limit=5, milliseconds=1.0, fields=fields).outside


def test_the_table_of_both_lanes() -> None:
    """Evidence second, the relationship first; a wrong group, a duplicate, a leak and a row outside the view all show, and fail the command."""
    space, question = a_space(), a_set().questions[0]
    probe = Probe(question, ("as_asked", "temporal"), {"d1": 1}, frozenset((meaning_of(FACT),)))
    good = (probe, an_answer(a_lane(("r1",)), "d2", "d1"), an_answer(a_lane(("r1",))))
    bad = (probe, an_answer(a_lane(("r2", "r1"), carried=("r1",)), foreign=2), an_answer(a_lane(("r2",), ("r1",)), outside=3))
    # At another time an author may be missing, and what is asked twice counts once.
    late = (replace(probe, slices=("valid_at",), fields={"valid_at": "2002-01-01T00:00:00+00:00"}), *good[1:])
    space.meaning["r3"] = meaning_of(FACT)
    space.active.add("r3")
    report = lanes_report({"one": space}, {"a": [good, late], "b": [bad, late]})
    first, second = report["contracts"].values()

    assert {"n": 1, "recall@5": 1.0, "recall@10": 1.0, "mrr@10": 0.5, "ndcg@10": pytest.approx(0.6309, abs=1e-4)} == first["evidence"]["temporal"]
    assert [1.0, 0.5] == [found["relationships"]["as_asked"]["mrr@10"] for found in (first, second)]
    assert [(0, None), (1, 0.0)] == [(found["grouping"]["pairs"], found["grouping"]["precision"]) for found in (first, second)]
    assert [(2, 1), (1, 1)] == [(found["grouping"]["missed_pairs"], found["coverage"]["statements"]) for found in (first, second)]
    assert [(0.0, 1.0), (1.0, 0.0)] == [(found["coverage"]["by_evidence"], found["coverage"]["by_relationships_only"]) for found in (first, second)]
    assert [(0, 0, 0), (1, 2, 3)] == [(found["duplicates"], found["leaks"], found["outside_view"]) for found in (first, second)]
    assert -0.5 == report["comparison"]["differences"]["relationships"]["mrr@10"]["temporal"]["mean"]
    whole = make_report(a_set(), {"one": space}, [Asked("a", probes=[good]), Asked("b", probes=[bad])], limit=5, seconds={})
    assert 5 == leaks_of(whole)


def test_a_sample_keeps_what_its_questions_need() -> None:
    """The text of the question that is left, and those without a session; no relationship of a text that is gone."""
    loose = Document("d3", "one", {"content": "A remark."})
    texts = a_set(documents={"one": [*a_set().documents["one"], loose]})
    found = sample(texts, 1)

    assert (["q1"], ["d1", "d3"], [FACT]) == ([one.id for one in found.questions], [one.id for one in found.documents["one"]], found.statements)
    assert frozenset(("d2",)) == private_half(texts, "one")
