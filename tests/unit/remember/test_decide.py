"""What a request does to the ledger: new, supported, replaced, brought back, or left alone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.memory import START, Ledgered, a_relationship

KINDS = ("project", "product")


def database(name: str, ref: str = "r1", **fields: Any) -> dict[str, Any]:
    return a_relationship("Atlas", "primary_database", name, ref=ref, kinds=KINDS, **fields)


@pytest.fixture
def ledger() -> Ledgered:
    return Ledgered()


def test_entailed_is_active_and_insufficient_is_pending(ledger: Ledgered) -> None:
    """One row, one observation, one verification, one transition each; a support only where it is carried."""
    carried = ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    missing = ledger.decide("Mark sleeps.", a_relationship("Mark", "works_on", "Borealis"))

    assert ["active", "pending_evidence"] == [made.results[0].splits[0].status for made in (carried, missing)]
    assert [(1, 1, 1, 1, 1), (1, 1, 1, 0, 1)] == [
        tuple(
            len(rows)
            for rows in (
                made.changes.relationships,
                made.changes.observations,
                made.changes.verifications,
                made.changes.supports,
                made.changes.transitions,
            )
        )
        for made in (carried, missing)
    ]
    assert "relationship_pending_evidence" == missing.results[0].reason
    assert [(None, "active", 1)] == [(row.from_status, row.to_status, row.version) for row in carried.changes.transitions]


def test_the_same_again_adds_support_and_a_version(ledger: Ledgered) -> None:
    """New words, same statement: the same row, its text untouched."""
    ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    again = ledger.decide("Yes, Mark works on Atlas!", a_relationship("Mark", "works_on", "Atlas"))

    assert ([], 1, []) == (again.changes.relationships, len(again.changes.supports), again.changes.documents)
    assert [("active", "active", 2, "support_granted")] == [
        (row.from_status, row.to_status, row.version, row.reason) for row in again.changes.transitions
    ]


def test_the_same_request_again_changes_no_relationship(ledger: Ledgered) -> None:
    """An observation and a verdict are noted; no support, no version, no document."""
    proposal = a_relationship("Mark", "works_on", "Atlas")
    first = ledger.decide("Mark works on Atlas.", proposal)
    again = ledger.decide("Mark works on Atlas.", proposal, evidence_id=first.evidence_ids[0])

    assert ([], [], [], []) == (again.changes.supports, again.changes.changed, again.changes.transitions, again.changes.documents)
    assert 1 == again.results[0].splits[0].relationship_version == len(again.changes.observations)


def test_pending_becomes_active_when_a_text_carries_it(ledger: Ledgered) -> None:
    pending = ledger.decide("Mark sleeps.", a_relationship("Mark", "works_on", "Atlas"))
    carried = ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))

    assert pending.results[0].splits[0].relationship_id == carried.results[0].splits[0].relationship_id
    assert [("pending_evidence", "active", "reactivated")] == [(row.from_status, row.to_status, row.reason) for row in carried.changes.transitions]


def test_insufficient_after_active_takes_nothing_away(ledger: Ledgered) -> None:
    ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    weak = ledger.decide("Mark sleeps.", a_relationship("Mark", "works_on", "Atlas"))

    assert ([], []) == (weak.changes.changed, weak.changes.transitions)
    assert ("active", "insufficient") == (weak.results[0].splits[0].status, weak.changes.verifications[0].evidence_verdict)


def test_a_learned_end_makes_a_version_and_a_new_text(ledger: Ledgered) -> None:
    ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    ended = ledger.decide("Mark works on Atlas until July.", a_relationship("Mark", "works_on", "Atlas", valid_to="2026-07-31T00:00:00Z"))
    same = ledger.decide("So Mark works on Atlas until July.", a_relationship("Mark", "works_on", "Atlas", valid_to="2026-07-31T02:00:00+02:00"))

    assert "valid_to: 2026-07-31T00:00:00Z" == ended.changes.documents[0].document_text.splitlines()[-1]
    assert ended.changes.documents[0].replaces is not None and "valid_to" not in ended.changes.documents[0].replaces
    assert ([], 3) == (same.changes.documents, same.results[0].splits[0].relationship_version)


def test_an_end_without_words_is_learned_too(ledger: Ledgered) -> None:
    """The same text, now with an end: no support, but a version."""
    first = ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    ended = ledger.decide(
        "Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas", valid_to="2026-07-31T00:00:00Z"), evidence_id=first.evidence_ids[0]
    )

    assert ([], ["validity_learned"]) == (ended.changes.supports, [row.reason for row in ended.changes.transitions])


def test_an_insufficient_text_teaches_no_end(ledger: Ledgered) -> None:
    ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    weak = ledger.decide("Bye.", a_relationship("Mark", "works_on", "Atlas", valid_to="2026-07-31T00:00:00Z"))

    assert [] == weak.changes.changed


def test_one_current_object_replaces_the_other(ledger: Ledgered) -> None:
    """Cardinality one: the earlier one gives way, with the time at which it did."""
    first = ledger.decide("Atlas primary database is MySQL.", database("MySQL"))
    second = ledger.decide("Atlas primary database is Zig.", database("Zig"))

    changed = second.changes.changed[0]
    assert (first.results[0].splits[0].relationship_id, "superseded", 2) == (changed.relationship_id, changed.status, changed.version)
    assert second.now == changed.known_to
    assert ["active", "superseded"] == [row.to_status for row in sorted(second.changes.transitions, key=lambda row: row.to_status)]


def test_a_superseded_statement_comes_back_with_new_words(ledger: Ledgered) -> None:
    """MySQL, then Zig, then MySQL again: the first row is active again, and only it."""
    first = ledger.decide("Atlas primary database is MySQL.", database("MySQL"))
    ledger.decide("Atlas primary database is Zig.", database("Zig"))
    back = ledger.decide("Atlas primary database is MySQL again.", database("MySQL"))

    assert first.results[0].splits[0].relationship_id == back.results[0].splits[0].relationship_id
    assert ["active"] == [item.status for item in ledger.rows.values() if item.status == "active"]
    assert {None} == {item.known_to for item in ledger.rows.values() if item.status == "active"}


def test_two_current_objects_in_one_request_leave_the_last(ledger: Ledgered) -> None:
    """The order of the request decides, and the answer tells how each stands at its end."""
    both = ledger.decide("Atlas primary database was MySQL, now Zig.", database("MySQL"), database("Zig", "r2"))

    assert [("superseded", 2), ("active", 1)] == [(row.status, row.version) for row in both.changes.relationships]
    assert [("superseded", 2), ("active", 1)] == [(item.splits[0].status, item.splits[0].relationship_version) for item in both.results]


def test_other_scopes_polarities_and_starts_stay_current(ledger: Ledgered) -> None:
    made = ledger.decide(
        "Atlas primary database is MySQL or Zig.",
        database("MySQL"),
        database("Zig", "r2", scope="test"),
        database("Zig", "r3", polarity="-"),
        database("Zig", "r4", valid_from="2026-01-01T00:00:00Z"),
    )

    assert ["active"] * 4 == [row.status for row in made.changes.relationships]


def test_pending_does_not_replace_what_is_current(ledger: Ledgered) -> None:
    ledger.decide("Atlas primary database is MySQL.", database("MySQL"))
    weak = ledger.decide("Nothing.", database("Zig"))

    assert ([], ["pending_evidence"]) == (weak.changes.changed, [row.status for row in weak.changes.relationships])


def test_the_same_statement_twice_in_one_request_is_one_row(ledger: Ledgered) -> None:
    """Two proposals, two observations; one row, one support, and the same version in both answers."""
    twice = ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"), a_relationship("mark", "Works on", "atlas", ref="r2"))

    assert (1, 2, 1) == tuple(len(rows) for rows in (twice.changes.relationships, twice.changes.observations, twice.changes.supports))
    assert 1 == len({(item.splits[0].relationship_id, item.splits[0].relationship_version, item.splits[0].status) for item in twice.results})


def test_two_texts_in_one_request_are_two_supports_and_one_version(ledger: Ledgered) -> None:
    made = ledger.decide(["Mark works on Atlas.", "Atlas has Mark."], a_relationship("Mark", "works_on", "Atlas", evidence=(0, 1)))

    row = made.changes.relationships[0]
    assert (2, 2, 1) == (row.support_count, row.source_group_count, row.version)


def test_one_carrying_text_is_enough(ledger: Ledgered) -> None:
    made = ledger.decide(["Mark sleeps.", "Mark works on Atlas."], a_relationship("Mark", "works_on", "Atlas", evidence=(0, 1)))

    assert [made.evidence_ids[1]] == [row.evidence_id for row in made.changes.supports]


def test_an_explicit_span_takes_the_place_of_its_text(ledger: Ledgered) -> None:
    text = "Mark works on Atlas. Bye."
    whole = a_relationship("Mark", "works_on", "Atlas", supports=[{"evidence_index": 0, "start": 21, "end": 25}])
    exact = a_relationship("Mark", "works_on", "Atlas", evidence=(), supports=[{"evidence_index": 0, "start": 0, "end": 19, "quote": text[:19]}])

    assert "pending_evidence" == ledger.decide(text, whole).results[0].splits[0].status
    assert [text[:19]] == [row.quote for row in ledger.decide(text, exact).changes.supports]


def test_a_refused_proposal_leaves_an_observation_alone(ledger: Ledgered) -> None:
    made = ledger.decide("x", {**a_relationship("Mark", "x", "Atlas"), "predicate": {"known_predicate_key": "never_seen"}})

    assert ("not_stored", []) == (made.results[0].disposition, made.results[0].splits)
    assert [None] == [row.relationship_id for row in made.changes.observations]
    assert [] == made.changes.relationships == made.changes.verifications


def test_evidence_that_is_not_visible_carries_nothing(ledger: Ledgered) -> None:
    made = ledger.decide(
        "Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas", evidence=(), known_evidence_ids=["00000000-0000-0000-0000-000000000009"])
    )

    assert ("pending_evidence", "no cited text is visible in this space") == (made.results[0].splits[0].status, made.results[0].message)


def test_ids_are_made_for_this_request_alone(ledger: Ledgered) -> None:
    made = ledger.decide("Mark works on Atlas.", a_relationship("Mark", "works_on", "Atlas"))
    ids = [row.event_id for row in (*made.changes.transitions, *made.changes.verifications)] + [
        row.decision_event_id for row in made.changes.supports
    ]

    assert len(ids) == len(set(ids))
    assert made.now > START


def test_a_long_text_is_read_once_for_all_its_proposals(ledger: Ledgered) -> None:
    """200 proposals of one long text cost one reading of it, not two hundred."""
    text = "Filler sentence number é. " * 8_000 + "Mark works on Atlas."
    proposals = [a_relationship("Mark", "works_on", "Atlas", ref=str(number), scope=f"part {number}") for number in range(200)]

    began = time.process_time()
    alone = ledger.decide(text + " One.", proposals[0])
    one = time.process_time() - began
    made = ledger.decide(text, *proposals)
    all_of_them = time.process_time() - began - one

    assert [200, 1] == [len(item.changes.supports) for item in (made, alone)]
    assert all_of_them < 20 * one


def test_a_text_in_quarantine_ends_nothing_and_brings_nothing_back(ledger: Ledgered) -> None:
    """Neither what it says again, nor an end that it states, nor what it means to correct changes before its release."""
    first = ledger.decide("Atlas uses Zig.", database("Zig"))
    ledger.decide("Atlas uses Mongo.", database("Mongo"))
    mongo = ledger.decide("Atlas works with Rust.", a_relationship("Atlas", "works_on", "Rust", kinds=KINDS)).results[0].splits[0]
    before = {key: (item.status, item.version, item.valid_to) for key, item in ledger.rows.items()}

    again = ledger.decide("Atlas uses Zig.", database("Zig"), evidence_id=first.evidence_ids[0], is_held=True)
    ended = ledger.decide("Atlas had Mongo.", database("Mongo", valid_to="2026-06-01T00:00:00Z"), is_held=True)
    target = {"relationship_id": str(mongo.relationship_id), "expected_version": mongo.relationship_version}
    corrected = ledger.decide("Atlas has Mongo, not Rust.", database("Mongo", correction_target=target), is_held=True)

    assert before == {key: (item.status, item.version, item.valid_to) for key, item in ledger.rows.items()}
    assert [[], [], []] == [made.changes.transitions for made in (again, ended, corrected)]
    assert [] == corrected.changes.references
