"""Reading a set, and reading an answer in the ids of the set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonlore.api.evaluation.asking import LoadedSpace, ask, meaning_of, read_answer
from commonlore.api.evaluation.report import Asked, leaks_of, make_report
from commonlore.api.evaluation.sets import EvaluationSet, Question, Statement, read_set
from commonlore.domain.errors import OperatorError
from commonlore.domain.quality.metrics import Judged

QUESTION = Question("q", "one", "p", "Where is the boat?", False, frozenset(("d3",)))


def a_space(**known: str) -> LoadedSpace:
    space = LoadedSpace(("key",))
    for evidence, document in known.items():
        space.documents[evidence].append(document)
    return space


def an_answer(*evidence: str, lane: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    results = [{"evidence_id": name, "equivalent_evidence_ids": [], "relationship_ids": []} for name in evidence]
    return {"results": results, "related_relationships": list(lane), "degradations": [{"code": "x"}]}


def write(folder: Path, **parts: list[dict[str, Any]]) -> Path:
    for name, lines in parts.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def test_an_answer_in_the_ids_of_the_set() -> None:
    """In its order, without what the question excludes, at most `limit`; texts that are one evidence stand together."""

    space = a_space(e1="d1", e2="d2", e3="d3")
    space.documents["e1"].append("d1 again")
    found = read_answer(an_answer("e2", "e3", "e1"), space, QUESTION, limit=3, milliseconds=1.0)
    cut = read_answer(an_answer("e2", "e3", "e1"), space, QUESTION, limit=2, milliseconds=1.0)

    assert (("d2", "d1", "d1 again"), 0, ("x",)) == (found.documents, found.foreign, found.degradations)
    assert ("d2", "d1") == cut.documents


def test_a_row_of_another_space_is_a_leak() -> None:
    """Whether it is a result, an equivalent, or a relationship with what it cites; and the report's sum says so."""

    space = a_space(e1="d1")
    item = {"relationship_id": "r9", "equivalent_relationship_ids": ["r8"], "evidence_ids": ["e9"]}
    leaking = read_answer(an_answer("e1", "e9", lane=(item,)), space, QUESTION, limit=20, milliseconds=1.0)
    equivalent = an_answer("e1")
    equivalent["results"][0] |= {"equivalent_evidence_ids": ["e9"], "relationship_ids": ["r9"]}
    texts = EvaluationSet("s", "s", {}, [QUESTION], {"q": {"d1": 1}})
    report = make_report(texts, {"one": space}, [Asked("rrf-1", {"q": leaking})], limit=20, seconds={})

    assert (("d1",), 4) == (leaking.documents, leaking.foreign)
    assert 2 == read_answer(equivalent, space, QUESTION, limit=20, milliseconds=1.0).foreign
    assert 4 == leaks_of(report)


async def test_a_busy_service_is_asked_again_and_a_refusal_ends() -> None:
    """Once more after 503; any other failure is told with what the service said. Excluded texts are asked for on top, and when it is asked is said."""

    seen: list[dict[str, Any]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(503) if len(seen) == 1 else httpx.Response(200, json=an_answer()) if len(seen) == 2 else httpx.Response(401, text="no")

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle), base_url="http://service") as client:
        await ask(client, a_space(), QUESTION, limit=5, relationship_limit=0)
        with pytest.raises(OperatorError, match="401: no"):
            await ask(client, a_space(), replace(QUESTION, asked_at="2020-01-01T10:00:00Z"), limit=50, relationship_limit=0)

    assert [6, 6, 50] == [body["limit"] for body in seen]
    assert [None, None, "2020-01-01T10:00:00Z"] == [body.get("asked_at") for body in seen]


def test_a_set_with_spaces(tmp_path: Path) -> None:
    """Times without an offset are UTC, a turn's place counts within its session, a long question is cut, grade 0 is not relevant."""

    (tmp_path / "meta.json").write_text('{"spaces": 2, "name": "tiny"}')
    turn = {"speaker": "Ida", "session": "s", "timestamp": "2020-01-01T10:00:00"}
    write(
        tmp_path,
        corpus=[
            {"id": "d1", "text": "a", "space": "x"},
            {"id": "d2", "text": "b", "space": "x", **turn},
            {"id": "d3", "text": "c", "space": "y", **turn},
        ],
        queries=[
            {"id": "q", "text": "w" * 600, "space": "x", "category": "p", "asked_at": "2020-01-02T10:00:00"},
            {"id": "z", "text": "w", "space": "y"},
        ],
        qrels=[{"query_id": "q", "doc_id": "d1", "grade": 1}, {"query_id": "q", "doc_id": "d2", "grade": 0}],
    )
    found = read_set(tmp_path, relationships=False)

    assert ("tiny", ["x", "y"], [Judged("q", "p", {"d1": 1})]) == (found.name, found.spaces, found.judged)
    assert {"content": "a", "source_type": "document"} == found.documents["x"][0].proposal
    assert {"occurred_at": "2020-01-01T10:00:00Z", "sequence": 1, "source_type": "conversation"}.items() <= found.documents["y"][0].proposal.items()
    assert ["2020-01-02T10:00:00Z", None] == [question.asked_at for question in found.questions]
    assert (512, True) == (len(found.questions[0].text), found.questions[0].is_cut)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The file and the line; and a set without relationships has none to load."""

    with pytest.raises(OperatorError, match="meta.json cannot be read"):
        read_set(tmp_path, relationships=False)
    (tmp_path / "meta.json").write_text("{}")
    write(tmp_path, corpus=[{"id": "d1", "text": "a"}, {"id": "d2"}], queries=[], qrels=[], facts=[{"subject": "Ida", "statement": "She rows."}])
    with pytest.raises(OperatorError, match="corpus.jsonl, line 2: KeyError: 'text'"):
        read_set(tmp_path, relationships=False)
    write(tmp_path, corpus=[{"id": "d1", "text": "a"}])
    with pytest.raises(OperatorError, match="leave out --relationships"):
        read_set(tmp_path, relationships=True)


def test_statements_are_told_apart_by_their_words() -> None:
    """Not by case, blanks or the mark between words; but by their time."""

    one = Statement(0, "Ada  Lovelace", "works on", "Engine", ("d1",))

    assert meaning_of(one) == meaning_of(Statement(1, "ada lovelace", "WORKS_ON", "engine", ("d2",)))
    assert meaning_of(one) != meaning_of(Statement(1, "Ada Lovelace", "works on", "Engine", ("d1",), valid_from="1842-01-01T00:00:00Z"))
