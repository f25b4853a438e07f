"""What holds for every request: quotes are slices, a repetition adds nothing, one current object is one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.ledger.predicate import predicate_key
from commonlore.domain.ledger.value import canonical_value
from commonlore.domain.projection.posting import count_terms, document_statistics, replaced_postings
from commonlore.domain.remember.ground import QUOTE_LIMIT, CitedText, ground
from commonlore.domain.text.mentions import find_mentions
from tests.support.memory import Decided, Ledgered, a_relationship

fast = settings(max_examples=50, deadline=None)
NAMES = st.sampled_from(["Mark", "Ann", "New York", "New York Times", "C++", "張偉", "Straße", "o'Neil"])
PREDICATES = st.sampled_from(["works on", "primary_database", "main_database", "likes", "released"])
WORDS = st.sampled_from(
    ["Mark", "Ann", "New York", "New York Times", "C++", "張偉", "STRASSE", "O’Neil", "likes", ".", "\n", "👍🏽", "e\u0301", "。", "and"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=25).map(lambda words: "So " + " ".join(words))
PROPOSALS = st.lists(st.tuples(NAMES, PREDICATES, NAMES, st.sampled_from([None, "2026-08-01T00:00:00Z"])), min_size=1, max_size=5)


def proposals(drawn: list[tuple[str, str, str, str | None]], texts: int) -> list[dict[str, Any]]:
    return [
        a_relationship(subject, predicate, target, ref=str(place), evidence=range(texts), **({"valid_to": end} if end else {}))
        for place, (subject, predicate, target, end) in enumerate(drawn)
    ]


def invariants(ledger: Ledgered, made: Decided) -> None:
    for support in made.changes.supports:
        content = ledger.texts[support.evidence_id]
        assert content[support.span_start : support.span_end] == support.quote
        assert 0 < len(support.quote) <= QUOTE_LIMIT
    current = Counter(item.statement.current_scope for item in ledger.rows.values() if item.status == "active" and item.current_cardinality == "one")
    assert [] == [scope for scope, count in current.items() if count > 1]
    for item in ledger.rows.values():
        assert (item.status == "superseded") == (item.known_to is not None)
        assert bool(item.supports) or item.status == "pending_evidence"
    for result in made.results:
        for split in result.splits:
            assert (ledger.rows[split.relationship_id].version, ledger.rows[split.relationship_id].status) == (
                split.relationship_version,
                split.status,
            )
    steps = Counter((row.relationship_id, row.version) for row in made.changes.transitions)
    assert all(count == 1 for count in steps.values())


@fast
@given(st.lists(st.tuples(st.lists(TEXTS, min_size=1, max_size=3), PROPOSALS), min_size=1, max_size=4))
def test_every_history_keeps_its_invariants(history: list[tuple[list[str], list[tuple[str, str, str, str | None]]]]) -> None:
    """Quotes are slices of their texts; one current object a scope; the answer is the state; no version twice."""
    ledger = Ledgered()
    for texts, drawn in history:
        made = ledger.decide(texts, *proposals(drawn, len(texts)))
        invariants(ledger, made)
    assert len({item.statement for item in ledger.rows.values()}) == len(ledger.rows)


@fast
@given(TEXTS, PROPOSALS)
def test_the_same_request_again_adds_no_support(text: str, drawn: list[tuple[str, str, str, str | None]]) -> None:
    """Decided again on what it made: no row, no support, no reactivation; only an end may be stated anew."""
    ledger = Ledgered()
    first = ledger.decide(text, *proposals(drawn, 1))
    before = {key: (item.status, set(item.supports)) for key, item in ledger.rows.items()}
    again = ledger.decide(text, *proposals(drawn, 1), evidence_id=first.evidence_ids[0])

    assert ([], [], [], []) == (again.changes.relationships, again.changes.supports, again.changes.entities, again.changes.predicates)
    assert before == {key: (item.status, item.supports) for key, item in ledger.rows.items()}
    assert {"validity_learned"} >= {row.reason for row in again.changes.transitions}


@fast
@given(TEXTS, st.lists(NAMES, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=3))
def test_a_quote_holds_both_ends_apart(text: str, subject: list[str], target: list[str]) -> None:
    """Entailed exactly when two mentions share no character, and then the quote has such a pair."""
    found = ground(CitedText(text), subject, target)

    def apart(content: str) -> bool:
        pairs = [(one, two) for one in find_mentions(content, subject) for two in find_mentions(content, target)]
        return any(one.end <= two.start or two.end <= one.start for one, two in pairs)

    assert apart(text) == (found.verdict == "entailed")
    if found.span is not None:
        assert apart(text[found.span.start : found.span.end])


@fast
@given(st.text(max_size=40))
def test_a_key_of_a_key_is_itself(wording: str) -> None:
    try:
        key = predicate_key(wording)
    except ValueError:
        return
    assert key == predicate_key(key) == predicate_key(wording.upper()) or wording.upper().casefold() != wording.casefold()


@fast
@given(st.one_of(st.integers(-(10**40), 10**40), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_is_equal_to_its_canonical_form(number: float) -> None:
    """Neither rounded nor joined with another."""
    canonical = canonical_value("number", number, unit=None, display=None).canonical

    assert number == type(number)(canonical)
    assert canonical == canonical_value("number", type(number)(canonical), unit=None, display=None).canonical
    assert "e" not in canonical.lower() and canonical != "-0" and not (("." in canonical) and canonical.endswith("0"))


@fast
@given(st.lists(st.lists(st.sampled_from(["zebra", "quartz", "pelican", "the", "é"]), max_size=6).map(" ".join), min_size=1, max_size=6))
def test_statistics_of_a_history_are_those_of_its_end(texts: list[str]) -> None:
    """What each replacement adds and takes away leaves the postings of the last text, and its counts."""
    counted = [count_terms(text) for text in texts]
    first = counted[0]
    postings = Counter((term, frequency, first.length) for term, frequency in first.frequencies.items())
    for old, new in pairwise(counted):
        added, removed = replaced_postings("key", new, old)
        postings.update((term, frequency, added.length) for term, frequency in added.frequencies.items())
        postings.subtract((term, frequency, removed.length) for term, frequency in removed.frequencies.items())
    steps = [document_statistics([(first, None)]), *(document_statistics([(new, old)]) for old, new in pairwise(counted))]

    assert +postings == Counter((term, frequency, counted[-1].length) for term, frequency in counted[-1].frequencies.items())
    assert -postings == Counter()
    assert (1, counted[-1].length) == (sum(step.documents for step in steps), sum(step.length for step in steps))
