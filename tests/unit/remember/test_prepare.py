"""What is known of a request before any row is read, and what is refused by its field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.remember.prepare import Prepared, prepare, search_prefix
from commonlore.domain.remember.request import RememberRequest
from tests.support.memory import a_relationship


def made(content: str = "Mark works on Atlas.", relationships: list[dict[str, Any]] | None = None, **request: Any) -> Prepared:
    text = {"content": content, **request.pop("evidence_fields", {})}
    decoded = msgspec.convert({"evidence": [text], "relationships": relationships or [], **request}, RememberRequest)
    return prepare(decoded, count_tokens=lambda found: len(found.split()))


def test_the_parts_cover_the_text() -> None:
    """Without a gap or an overlap, whatever the length."""
    content = "Mark works. " * 300
    parts = made(content).evidence[0].parts

    assert content == "".join(content[part.start : part.end] for part in parts)
    assert list(range(len(parts))) == [part.part_no for part in parts]
    assert all(part.length >= 1 and part.end - part.start <= 400 for part in parts)


def test_the_speaker_is_searched_unless_it_is_a_role() -> None:
    assert ["Mark: ", "", "", ""] == [search_prefix(speaker) for speaker in ("Mark", "User", " assistant ", None)]
    assert "Mark: hi" == made("hi", evidence_fields={"speaker": "Mark"}).evidence[0].parts[0].search_text


def test_a_text_without_word_pieces_needs_no_vector() -> None:
    parts = prepare(msgspec.convert({"evidence": [{"content": "…"}]}, RememberRequest), count_tokens=lambda text: 0).evidence[0].parts

    assert [False] == [part.embeddable for part in parts]


def test_the_hash_is_of_the_whole_request_but_its_key() -> None:
    plain = made().request_sha256

    assert plain == made(idempotency_key="k").request_sha256
    assert plain != made(target_space="private").request_sha256
    assert plain != made(evidence_fields={"labels": ["x"]}).request_sha256


def test_the_order_of_metadata_does_not_matter_to_the_hash() -> None:
    one, other = ({"metadata": dict(order)} for order in ((("a", 1), ("b", {"c": 1, "d": 2})), (("b", {"d": 2, "c": 1}), ("a", 1))))

    assert made(evidence_fields=one).request_sha256 == made(evidence_fields=other).request_sha256


VALUE = {"type": "number", "value": 1}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"subject": {"name": " \u200b"}}, "/relationships/0/subject/name"),
        ({"subject": {"entity_kind": "person"}}, "/relationships/0/subject"),
        ({"object": {}}, "/relationships/0/object"),
        ({"object": {"entity": {"name": "x"}, "value": VALUE}}, "/relationships/0/object"),
        ({"object": {"value": {**VALUE, "value": "1"}}}, "/relationships/0/object/value/value"),
        ({"object": {"value": {**VALUE, "value": True}}}, "/relationships/0/object/value/value"),
        ({"object": {"value": {"type": "boolean", "value": 1}}}, "/relationships/0/object/value/value"),
        ({"object": {"value": {"type": "date", "value": "2026-02-30"}}}, "/relationships/0/object/value/value"),
        ({"object": {"value": {"type": "string", "value": " "}}}, "/relationships/0/object/value/value"),
        ({"object": {"value": {"type": "string", "value": "x", "display": "\u200b"}}}, "/relationships/0/object/value/display"),
        ({"predicate": {}}, "/relationships/0/predicate"),
        ({"predicate": {"proposed_key": "a", "known_predicate_key": "a"}}, "/relationships/0/predicate"),
        ({"predicate": {"proposed_key": "!!"}}, "/relationships/0/predicate/proposed_key"),
        ({"predicate": {"known_predicate_key": "1"}}, "/relationships/0/predicate/known_predicate_key"),
        ({"evidence_indices": [1]}, "/relationships/0/evidence_indices/0"),
        ({"evidence_indices": []}, "/relationships/0/evidence_indices"),
        ({"supports": [{"evidence_index": 1, "start": 0, "end": 1}]}, "/relationships/0/supports/0/evidence_index"),
        ({"supports": [{"evidence_index": 0, "start": 2, "end": 2}]}, "/relationships/0/supports/0"),
        ({"supports": [{"evidence_index": 0, "start": 0, "end": 99}]}, "/relationships/0/supports/0"),
        ({"supports": [{"evidence_index": 0, "start": 0, "end": 4, "quote": "mark"}]}, "/relationships/0/supports/0/quote"),
        ({"valid_from": "2026-07-02T00:00:00Z", "valid_to": "2026-07-01T00:00:00Z"}, "/relationships/0/valid_to"),
        ({"valid_from": "yesterday"}, "/relationships/0/valid_from"),
        ({"scope": " \u200b"}, "/relationships/0/scope"),
    ],
)
def test_what_is_wrong_is_named_by_its_pointer(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as caught:
        made(relationships=[{**a_relationship("Mark", "works_on", "Atlas"), **change}])

    assert pointer == caught.value.problems[0].pointer


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"speaker": " "}, "/evidence/0/speaker"),
        ({"source_key": "k"}, "/evidence/0/source_revision"),
        ({"previous_source_revision": "1"}, "/evidence/0/previous_source_revision"),
        ({"occurred_at": "2026-07-01"}, "/evidence/0/occurred_at"),
        ({"metadata": {"a": [[[[[[[[1]]]]]]]]}}, "/evidence/0/metadata"),
        ({"metadata": {"a": "x" * 17_000}}, "/evidence/0/metadata"),
    ],
)
def test_what_is_wrong_with_a_text_is_named_too(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as caught:
        made(evidence_fields=fields)

    assert pointer == caught.value.problems[0].pointer


def test_an_idempotency_key_shows_something() -> None:
    """As for every other write; blanks and zero-width marks are no name that a caller could tell from another."""
    with pytest.raises(Incorrect) as caught:
        made(idempotency_key=" \u200b")

    assert "/idempotency_key" == caught.value.problems[0].pointer


def test_a_ref_names_one_proposal() -> None:
    with pytest.raises(Incorrect) as caught:
        made(relationships=[a_relationship("A", "b", "C"), a_relationship("D", "e", "F")])

    assert "/relationships/1/ref" == caught.value.problems[0].pointer


@pytest.mark.parametrize("texts", [[["7", "7"]], [["7"], ["8", "7"]]])
def test_what_is_superseded_is_named_once(texts: list[list[str]]) -> None:
    """The failure names both places."""
    evidence = [
        {"content": f"text {number}", "supersedes_evidence_ids": [f"00000000-0000-0000-0000-00000000000{key}" for key in keys]}
        for number, keys in enumerate(texts)
    ]

    with pytest.raises(Incorrect) as caught:
        prepare(msgspec.convert({"evidence": evidence}, RememberRequest), count_tokens=len)

    problem = caught.value.problems[0]
    assert (f"/evidence/{len(texts) - 1}/supersedes_evidence_ids/1", True) == (
        problem.pointer,
        "/evidence/0/supersedes_evidence_ids/0" in problem.detail,
    )


def test_two_revisions_of_one_source_in_one_request_are_refused() -> None:
    """One text cannot be of two current revisions; the wrong one would be stored silently."""
    texts = [{"content": f"text {token}", "source_key": "page", "source_revision": token} for token in ("1", "2")]

    with pytest.raises(Incorrect) as caught:
        prepare(msgspec.convert({"evidence": texts}, RememberRequest), count_tokens=len)

    assert "/evidence/1/source_revision" == caught.value.problems[0].pointer


def test_a_speaker_that_leaves_no_room_for_the_text_is_refused() -> None:
    with pytest.raises(Incorrect) as caught:
        prepare(msgspec.convert({"evidence": [{"content": "hi", "speaker": "x" * 250}]}, RememberRequest), count_tokens=len)

    assert "/evidence/0/speaker" == caught.value.problems[0].pointer
