"""Measures of the relationship lane."""

from __future__ import annotations

from commonlore.domain.quality.lane import LaneAnswer, LaneItem, duplicates, grouped_pairs, lane_recall, lane_report, unique_coverage

MEANING = {"r1": "ada works", "r2": "ada works", "r3": "ada left", "r4": "bob works"}


def an_answer(*items: tuple[tuple[str, ...], tuple[str, ...]], documents: tuple[str, ...] = (), carried: tuple[str, ...] = ()) -> LaneAnswer:
    return LaneAnswer(tuple(LaneItem(*item) for item in items), documents, carried)


def test_the_lane_is_asked_for_what_the_evidence_did_not_return() -> None:
    """d1 is returned, d4 carries no relationship; of d2 and d3 it cites one. What comes after the fifth does not count."""

    answer = an_answer((("r3",), ("d2",)), (("r4",), ("d1",)), documents=("d1",))
    late = an_answer(*[((f"x{number}",), ("d9",)) for number in range(5)], (("r3",), ("d2",)))
    relevance = {"d1": 1, "d2": 1, "d3": 1, "d4": 1}

    assert 0.5 == lane_recall(answer, relevance, frozenset(("d1", "d2", "d3")))
    assert 0.25 == unique_coverage(answer, relevance)
    assert lane_recall(answer, {"d1": 1}, frozenset(("d1",))) is None
    assert 0.0 == lane_recall(late, {"d2": 1}, frozenset(("d2",)))


def test_a_group_states_one_thing() -> None:
    """Of three pairs one states the same; a relationship that nobody sent states nothing."""

    assert (3, 1) == grouped_pairs(an_answer((("r1", "r2", "r3"), ())), MEANING)
    assert (1, 0) == grouped_pairs(an_answer((("r8", "r9"), ())), MEANING)


def test_nothing_is_said_twice() -> None:
    """Neither what the evidence carries nor what an earlier group states, by whatever id."""

    assert 0 == duplicates(an_answer((("r1", "r2"), ()), (("r3",), ()), carried=("r4",)), MEANING)
    assert 1 == duplicates(an_answer((("r1",), ()), carried=("r2",)), MEANING)
    assert 1 == duplicates(an_answer((("r1",), ()), (("r2",), ())), MEANING)


def test_the_report_adds_up_questions() -> None:
    """Precision over all pairs of both askings, None where nothing was grouped."""

    alone = {"q": an_answer((("r1", "r2"), ("d2",)), documents=("d1",))}
    beside = {"q": an_answer((("r3", "r4"), ("d3",)), documents=("d1", "d2"))}
    found = lane_report(alone, beside, {"q": {"d2": 1, "d3": 1}}, frozenset(("d2", "d3")), MEANING)

    assert {"questions": 1, "recall@5": 0.5, "unique_coverage": 0.5, "groups": 2, "grouped_pairs": 2} == {
        name: found[name] for name in ("questions", "recall@5", "unique_coverage", "groups", "grouped_pairs")
    }
    assert (0.5, 0) == (found["grouping_precision"], found["cross_lane_duplicates"])
    assert lane_report({}, {}, {}, frozenset(), MEANING)["grouping_precision"] is None
