"""Decoding: what is refused, where the pointer leads, and that nothing of the caller comes back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.api.decode import decode_body, merge_idempotency_key
from commonlore.domain.errors import CommonloreError, Incorrect
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.trace.request import TraceRequest


def refusal(body: bytes, kind: type = RecallRequest) -> tuple[str, str | None, str]:
    """Code, pointer and detail of the failure that `body` raises."""
    with pytest.raises(CommonloreError) as raised:
        decode_body(body, kind)
    error = raised.value
    return error.code, error.problems[0].pointer if error.problems else None, error.problems[0].detail if error.problems else error.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[]", "one JSON object"),
        (b"null", "one JSON object"),
        (b'"x"', "one JSON object"),
        (b"1", "one JSON object"),
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"query":}', "not valid JSON"),
        (b'{"query":"x",}', "not valid JSON"),
        (b'{"query":"x"} {}', "not valid JSON"),
        (b"{'query':'x'}", "not valid JSON"),
        (b'{"query":"a\nb"}', "not valid JSON"),
        (b'\xef\xbb\xbf{"query":"x"}', "byte-order mark"),
        (b'{"query":"\xff"}', "not UTF-8"),
        (b'{"query":"\xed\xa0\x80"}', "not UTF-8"),
        (b'{"query":"a","limit":3,"limit":500}', "same key twice"),
        (b'{"query":"a","limit":NaN}', "NaN"),
        (b'{"query":"a","limit":-Infinity}', "NaN"),
        (b'{"query":' + b"[" * 64 + b"]" * 64 + b"}", "deeper than 64"),
        (b'{"query":' + b"[" * 200_000, "deeper than 64"),
    ],
)
def test_a_body_that_is_not_one_clean_object_is_malformed(body: bytes, words: str) -> None:
    """Each is `malformed_body`, in words that say which rule was broken."""

    code, pointer, detail = refusal(body)

    assert ("malformed_body", None, True) == (code, pointer, words in detail)


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        (b'{"limit":5}', "/query", "missing; expected a string of 1 to 512 characters"),
        (b'{"query":null}', "/query", "expected a string of 1 to 512 characters"),
        (b'{"query":""}', "/query", "expected a string of 1 to 512 characters"),
        (b'{"query":"x","limit":0}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":51}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":"5"}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":1.0}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":true}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":1e999}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":99999999999999999999}', "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","limit":' + b"9" * 5000 + b"}", "/limit", "expected an integer from 1 to 50"),
        (b'{"query":"x","known_evidence_ids":"[]"}', "/known_evidence_ids", "expected an array of at most 200 items"),
        (b'{"query":"x","known_evidence_ids":["q"]}', "/known_evidence_ids/0", "expected a UUID"),
        (b'{"query":"x","lmit":3}', "/lmit", "unknown field; did you mean limit?"),
        (b'{"query":"hi \\ud83d there"}', "/query", "expected text without U+0000 and without lone surrogates"),
        (b'{"query":"hi \\u0000"}', "/query", "expected text without U+0000 and without lone surrogates"),
        (b'{"query":"hi","a\\u0000":1}', "", "expected text without U+0000 and without lone surrogates"),
        (b'{"query":" \\u200b"}', "/query", "expected at least one visible character"),
    ],
)
def test_a_wrong_field_is_named_with_its_valid_range(body: bytes, pointer: str, detail: str) -> None:
    """Code, JSON pointer and range, for types, bounds, numbers that fit nothing, and text that cannot be kept."""

    assert ("invalid_input", pointer, detail) == refusal(body)


@pytest.mark.parametrize(
    ("item", "pointer", "detail"),
    [
        ({"content": "x", "sesion": "a"}, "/evidence/0/sesion", "unknown field; did you mean session?"),
        ({"content": "x", "source_type": "email"}, "/evidence/0/source_type", "expected one of conversation, document, manual, observation"),
        ({"content": "x", "metadata": []}, "/evidence/0/metadata", "expected an object of at most 64 members"),
        ({"content": "x", "metadata": {"k\0": "v"}}, "/evidence/0/metadata", "expected text without U+0000 and without lone surrogates"),
        ({"content": "x", "metadata": {"k": ["\0"]}}, "/evidence/0/metadata", "expected text without U+0000 and without lone surrogates"),
        ({"content": "x", "metadata": {"k": 2**63}}, "/evidence/0/metadata", "expected a number that fits 64 bits"),
        ({"content": "x", "labels": ["a", ""]}, "/evidence/0/labels/1", "expected a string of 1 to 64 characters"),
        ({"content": "x", "sequence": -1}, "/evidence/0/sequence", "expected an integer from 0 to 9007199254740991 or null"),
        ({"source": "x"}, "/evidence/0/content", "missing; expected a string of at least 1 character"),
        ("x", "/evidence/0", "expected an object"),
    ],
)
def test_a_nested_field_is_named_from_the_root(item: object, pointer: str, detail: str) -> None:
    """The suggestion comes from the fields at that path; below free-form metadata the pointer stops at `metadata`."""

    assert ("invalid_input", pointer, detail) == refusal(json.dumps({"evidence": [item]}).encode(), RememberRequest)


@pytest.mark.parametrize(
    "body",
    [
        b'{"query":"x","xyzzy-marker":1}',
        b'{"query":"x","limit":"xyzzy-marker"}',
        b'{"query":"x","known_evidence_ids":["xyzzy-marker"]}',
        b'{"query":"x","valid_at":"xyzzy-marker"}',
        b'{"query":"xyzzy-marker',
        b'{"query":"xyzzy-marker\\u0000"}',
        b'{"query":"x","xyzzy-marker":{"\\u0000":1}}',
        b'{"query":"x","a` - at `$.xyzzy-marker":1}',
        b'{"xyzzy-marker":1,"xyzzy-marker":2}',
    ],
)
def test_nothing_the_caller_sent_comes_back(body: bytes) -> None:
    """No value and no foreign field name is in the message or in a pointer."""

    code, pointer, detail = refusal(body)

    assert "xyzzy-marker" not in f"{code} {pointer} {detail}"


def test_escaped_prose_is_kept_byte_for_byte() -> None:
    """A text about the escape of U+0000, and a proper surrogate pair, are ordinary text."""

    request = decode_body(b'{"query":"say \\\\u0000 and \\\\ud83d \\ud83d\\ude00"}', RecallRequest)

    assert "say \\u0000 and \\ud83d \U0001f600" == request.query


def test_sixty_four_levels_are_allowed() -> None:
    """The depth bound itself is inside; the field then fails on its type, not on its depth."""

    assert ("invalid_input", "/query") == refusal(b'{"query":' + b"[" * 63 + b"]" * 63 + b"}")[:2]


def test_a_large_body_of_small_pieces_is_refused_before_it_is_built() -> None:
    """Five million empty arrays would take twenty times their size as objects."""

    assert "body_too_large" == refusal(b'{"evidence":[' + b"[]," * 1_000_000 + b"[]]}", RememberRequest)[0]


def test_a_large_text_is_not_small_pieces() -> None:
    """Punctuation inside a string does not count as structure."""

    text = '[{,}] \\" ' * 400_000

    assert text == decode_body(json.dumps({"evidence": [{"content": text}]}).encode(), RememberRequest).evidence[0].content


@pytest.mark.parametrize(
    ("headers", "in_body", "expected"),
    [
        ([], None, None),
        ([], "a", "a"),
        ([b"a"], None, "a"),
        ([b"a"], "a", "a"),
        ([b"a", b"a"], None, "a"),
        (["é".encode()], None, "é"),
        ([b"a"], "b", "idempotency_key_mismatch"),
        ([b"a", b"b"], None, "idempotency_key_mismatch"),
        ([b""], None, "invalid_input"),
        ([b"a" * 129], None, "invalid_input"),
        ([b"\xff"], None, "invalid_input"),
        ([b"a\tb"], None, "invalid_input"),
    ],
)
def test_the_idempotency_key_of_header_and_body(headers: list[bytes], in_body: str | None, expected: str | None) -> None:
    """One key from either place; two that differ, or one that is not visible text of 128 characters, are refused."""

    request = decode_body(json.dumps({"evidence": [{"content": "x"}], "idempotency_key": in_body}).encode(), RememberRequest)
    try:
        outcome = merge_idempotency_key(request, headers).idempotency_key
    except Incorrect as error:
        outcome = error.code

    assert expected == outcome


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.sampled_from(["query", "limit", "evidence", "content", "ref"]) | st.text(), children),
    max_leaves=20,
)


@given(
    body=st.binary() | json_values.map(lambda value: json.dumps(value).encode()), kind=st.sampled_from([RecallRequest, RememberRequest, TraceRequest])
)
def test_any_bytes_give_a_request_or_a_stated_failure(body: bytes, kind: type) -> None:
    """No input raises anything but a CommonloreError, and none fails as a fault of ours."""

    try:
        outcome = type(decode_body(body, kind))
    except CommonloreError as error:
        outcome = kind if error.code in ("malformed_body", "invalid_input") else type(error)

    assert kind is outcome


@given(fields=st.dictionaries(st.sampled_from([*RecallRequest.__struct_fields__, "querry", "x"]), json_values))
def test_any_fields_give_a_request_or_a_stated_failure(fields: dict[str, object]) -> None:
    """The same with field names that reach the deeper rules."""

    try:
        outcome = decode_body(json.dumps({"query": "x"} | fields).encode(), RecallRequest).query != ""
    except CommonloreError as error:
        outcome = error.code in ("malformed_body", "invalid_input")

    assert outcome
