"""time: instants are exact or refused, and nothing asks the database's clock."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from commonlore.api.service import MemoryOperations
from tests.cases.adapter import Actor, World, case, refusal, split_of
from tests.support.memory import START, Memory, a_relationship


def _refused_times(ann: Actor, value: str) -> list[tuple[int, str, str]]:
    """The refusals of one value in every field that takes an instant."""
    proposal = a_relationship("Mark", "works_on", "Orion")
    text = "Mark works on Orion."
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("remember", {"evidence": [{"content": text, "occurred_at": value}]}),
        ("remember", {"evidence": [{"content": text}], "relationships": [{**proposal, "valid_from": value}]}),
        ("remember", {"evidence": [{"content": text}], "relationships": [{**proposal, "valid_to": value}]}),
        ("recall_memory", {"query": "x", "valid_at": value}),
        ("recall_memory", {"query": "x", "known_at": value}),
        ("recall_memory", {"query": "x", "asked_at": value}),
        ("recall_memory", {"query": "x", "time_cue": {"after": value}}),
        ("recall_memory", {"query": "x", "time_cue": {"before": value}}),
    ]
    return [refusal(ann.post(f"/v1/{tool}", body)) for tool, body in bodies]


ALL_REFUSED = [
    (422, "invalid_input", "/evidence/0/occurred_at"),
    (422, "invalid_input", "/relationships/0/valid_from"),
    (422, "invalid_input", "/relationships/0/valid_to"),
    (422, "invalid_input", "/valid_at"),
    (422, "invalid_input", "/known_at"),
    (422, "invalid_input", "/asked_at"),
    (422, "invalid_input", "/time_cue/after"),
    (422, "invalid_input", "/time_cue/before"),
]


@contextmanager
def _zone(name: str) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


@case("B084-a")
def a_time_without_an_offset_is_refused_in_every_zone(world: World) -> None:
    ann = world.actor()
    for zone in ("UTC", "Asia/Tokyo", "America/St_Johns"):
        with _zone(zone):
            assert ALL_REFUSED == _refused_times(ann, world.given["args"]["valid_from"])
            ann.ingest("noon", occurred_at="2026-05-01T10:00:00+05:30", force_insert=True)

    found = ann.recall("noon")["results"][0]
    assert "2026-05-01T04:30:00Z" == found["occurred_at"]


@case("B086-a")
def a_time_beyond_the_years_is_refused(world: World) -> None:
    assert ALL_REFUSED == _refused_times(world.actor(), world.given["args"]["valid_to"])


@case("B088-a")
def a_word_is_no_time(world: World) -> None:
    ann = world.actor()
    assert {word: ALL_REFUSED for word in world.given["each_valid_at"]} == {word: _refused_times(ann, word) for word in world.given["each_valid_at"]}


@case("B096-c")
def leap_seconds_and_hour_24_are_refused(world: World) -> None:
    ann = world.actor()
    assert {text: ALL_REFUSED for text in world.given["each"]} == {text: _refused_times(ann, text) for text in world.given["each"]}


def _holding(ann: Actor, query: str, valid_at: str) -> set[str]:
    """Relationships that hold at an instant: in their own lane, or covered by evidence that is shown."""
    return _shown(ann.recall(query, valid_at=valid_at))


def _shown(answer: dict[str, Any]) -> set[str]:
    covered = {key for item in answer["results"] for key in item["relationship_ids"]}
    return covered | {item["relationship_id"] for item in answer["related_relationships"]}


@case("B087-b")
def an_infinite_end_is_no_failure(world: World) -> None:
    with world.own() as own:
        ann = own.actor()
        odd = split_of(ann.ingest("Mark works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")]))["relationship_id"]
        fine = split_of(ann.ingest("Nora works on Vega.", relationships=[a_relationship("Nora", "works_on", "Vega")]))["relationship_id"]
        ann.ingest("an unrelated pelican")
        with own.admin() as admin, pytest.raises(psycopg.errors.CheckViolation):
            admin.execute("update commonlore.relationship set valid_to = 'infinity' where relationship_id = %s", (odd,))
        recalled = ann.post("/v1/recall_memory", {"query": "pelican works on Orion Vega", "limit": 1})
        traced = [ann.post("/v1/trace_memory", {"relationship_id": key}) for key in (fine, odd)]

    assert 200 == recalled.status_code, recalled.text
    assert {odd, fine} == _shown(recalled.json())
    assert [200, 200] == [answer.status_code for answer in traced], [answer.text for answer in traced]


@case("B090-a")
def a_statement_holds_in_its_periods(world: World) -> None:
    ann = world.actor()
    kinds = ("person", "organization")
    for start, end in (("2024-01-01", "2024-06-30"), ("2026-01-01", None)):
        period = {"valid_from": f"{start}T00:00:00Z"} | ({"valid_to": f"{end}T00:00:00Z"} if end else {})
        ann.ingest(f"Ana leads Payments since {start}.", relationships=[a_relationship("Ana", "leads", "Payments", kinds=kinds, **period)])

    seen = [len(_holding(ann, "Ana leads Payments", f"{day}T00:00:00Z")) for day in world.given["valid_at"]]

    assert [1, 0, 1] == seen


@case("B094-a")
def a_null_view_is_the_present(world: World) -> None:
    ann = world.actor()
    ann.ingest("an apple")
    plain, null = ann.recall("apple"), ann.recall("apple", valid_at=None, known_at=None)
    for answer in (plain, null):
        answer.pop("recall_id")

    assert plain == null
    assert 1 == len(null["results"])


@case("B094-c")
def a_future_known_time_is_the_present(world: World) -> None:
    """Communities of a view are a later part; what is there is as now."""
    ann = world.actor()
    ann.ingest("Mark works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")])

    assert ann.contexts("Orion") == ann.contexts("Orion", known_at=world.given["args"]["known_at"]) == ["Mark works on Orion."]


@case("B095-b")
def an_asserted_end_is_not_overwritten(world: World) -> None:
    ann = world.actor()
    kinds = ("project", "product")
    first = a_relationship("Atlas", "primary_database", "MySQL", kinds=kinds, valid_to="2025-12-31T00:00:00Z")
    made = ann.ingest("Atlas primary database is MySQL.", relationships=[first])
    ann.ingest("Atlas primary database is PostgreSQL.", relationships=[a_relationship("Atlas", "primary_database", "PostgreSQL", kinds=kinds)])

    traced = ann.trace(split_of(made)["relationship_id"])

    assert ["active", "superseded"] == [row["to_status"] for row in traced["transitions"]]
    assert "2025-12-31T00:00:00Z" == traced["relationship"]["valid_to"]


@case("B096-a")
def more_than_six_digits_are_refused(world: World) -> None:
    ann = world.actor()
    proposal = a_relationship("Mark", "works_on", "Orion", valid_from="2026-01-01T00:00:00.123457Z")
    ann.ingest("Mark works on Orion.", relationships=[proposal])
    instants = ("2026-01-01T00:00:00.123456Z", world.given["valid_at"])

    assert ALL_REFUSED == _refused_times(ann, world.given["valid_from"])
    assert [False, True] == [bool(_holding(ann, "Mark works on Orion", instant)) for instant in instants]


@case("B098-a")
def a_batch_keeps_its_order(world: World) -> None:
    with world.own() as own:
        ann = own.actor()
        texts = [f"Mark works on Orion, note {number}." for number in range(20)]
        proposals = [a_relationship("Mark", "works_on", "Orion", ref=f"r{number}", evidence=(number,)) for number in range(20)]
        made = ann.remember(evidence=[{"content": text} for text in texts], relationships=proposals)
        key = split_of(made)["relationship_id"]

        def read() -> list[Any]:
            traced, recalled = ann.trace(key), ann.contexts("Mark Orion note")
            return [[row["support_id"] for row in traced["evidence_supports"]], [row["evidence_id"] for row in traced["evidence"]], recalled]

        before = [read() for _ in range(3)]
        with own.admin() as admin:
            admin.execute("vacuum full")
        after = read()

    assert [after] * 3 == before
    assert 20 == len(after[0])


@case("B091-d")
def no_date_is_derived(world: World) -> None:
    """The time of the text is kept as given, and no other is made of its words."""
    ann = world.actor()
    made = ann.ingest(
        "We moved Orion to Basel last Tuesday.",
        occurred_at=world.given["args"]["observed_at"],
        relationships=[a_relationship("Orion", "moved_to", "Basel", kinds=("project", "place"))],
    )
    found = ann.recall("moved Orion")["results"][0]
    relationship = ann.trace(split_of(made)["relationship_id"])["relationship"]

    assert "2023-05-24T10:00:00Z" == found["occurred_at"]
    assert (None, None) == (relationship["valid_from"], relationship["valid_to"])


def _periods(answer: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(period["text"], period.get("start"), period.get("end")) for period in answer["trace"]["hints"]["periods"]]


@case("B091-b")
def last_month_counts_from_when_it_is_asked(world: World) -> None:
    """A month of 29 days with its borders in the offset of the question, whatever the time of the server; the anchor is echoed."""
    ann = world.actor()
    leap, march = "The kestrel log of the 29th.", "The kestrel log of the 2nd."
    ann.ingest(march, occurred_at="2024-03-02T10:00:00+02:00")
    ann.ingest(leap, occurred_at="2024-02-29T23:30:00+02:00")
    asked = {"query": f"the kestrel log of {world.given['query']}", "asked_at": world.given["asked_at"]}
    found = ann.recall(**asked, trace=True)

    assert [leap, march] == [item["context"] for item in found["results"]]
    assert [("last month", "2024-01-31T22:00:00Z", "2024-02-29T22:00:00Z")] == _periods(found)
    assert ("2024-03-31T10:00:00Z", "UTC+02:00") == (found["trace"]["hints"]["asked_at"], found["trace"]["hints"]["time_zone"])


@case("B092-a")
def words_that_are_read_are_used(world: World) -> None:
    """Of texts that suit equally, those of the period go first, and none is left out."""
    ann = world.actor()
    days = ("2026-06-29", "2026-06-23", "2026-06-16", "2026-05-16", "2025-06-16")
    texts = {day: f"A note about a zebra, number {number}." for number, day in enumerate(days)}
    for day, text in texts.items():
        ann.ingest(text, occurred_at=f"{day}T12:00:00Z")
    found = ann.recall(**world.given["args"], trace=True)
    ranked = [item["context"] for item in found["results"]]
    factors = {item["rank"]: item.get("factors", []) for item in found["trace"]["evidence"]}

    assert [("two weeks ago", "2026-06-13T00:00:00Z", "2026-06-20T00:00:00Z")] == _periods(found)
    assert texts["2026-06-16"] == ranked[0]
    assert set(texts.values()) == set(ranked)
    assert {1: True, 2: False, 3: False, 4: False, 5: False} == {rank: "named_period" in names for rank, names in factors.items()}


@case("B093-b")
def a_day_has_the_hours_that_it_has(world: World) -> None:
    """23 of them when the clocks go forward, in the words of a query and as a time that the caller states."""
    day, zone = world.given["cue"].split(" in ")
    ann = world.actor()
    ends = ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")
    worded = ann.recall(f"the log of {day}", time_zone=zone, trace=True)
    stated = ann.recall("the log", time_zone=zone, time_cue={"after": day, "before": day}, trace=True)

    assert [(day, *ends)] == _periods(worded)
    assert [("", *ends)] == _periods(stated)
    assert zone == stated["trace"]["hints"]["time_zone"]


@case("B093-d")
def a_day_that_never_was_is_refused(world: World) -> None:
    """Stated, it is refused; among the words of a query it is no time."""
    day, ann = world.given["cue"], world.actor()
    for end in ("after", "before"):
        answer = ann.post("/v1/recall_memory", {"query": "the log", "time_cue": {end: day}})
        assert (422, "invalid_input", f"/time_cue/{end}") == refusal(answer)

    assert [] == _periods(ann.recall(f"the log of {day}", trace=True))


class Hurried:
    """A clock that goes on by `step` at each look."""

    def __init__(self, step: timedelta) -> None:
        self.now, self.step = START, step

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now


@case("B089-b")
def five_corrections_within_a_millisecond_are_five_versions(world: World) -> None:
    """By a clock that takes microseconds, and by one that stands still."""
    names = ("Vega", "Rigel", "Sirius", "Deneb", "Altair")

    async def correct_often(clock: Hurried) -> tuple[list[str], dict[str, Any], list[str]]:
        async with Memory.open(world.service.database) as opened:
            adapters = replace(opened.adapters, clock=clock)
            memory = replace(opened, adapters=adapters, operations=MemoryOperations(adapters))
            holder = world.actor(str(clock.step)).holder
            keys = [await memory.relate(holder, "Mark works on Orion.", "Mark", "works_on", "Orion")]
            begun = clock.now
            for name in names:
                patch = {"object_entity": {"name": name, "entity_kind": "project", "create_if_missing": True}}
                answer = await memory.correct(holder, keys[-1], patch=patch)
                assert "completed" == answer["processing_state"], answer
                keys.append(answer["correction_result"]["successor"]["relationship_id"])
            assert clock.now - begun < timedelta(milliseconds=1)
            found = await memory.recall(holder, "who works on what", relationship_limit=20)
            current = {key for item in found["results"] for key in item["relationship_ids"]}
            return keys, await memory.trace(holder, keys[0]), sorted(current | {item["relationship_id"] for item in found["related_relationships"]})

    for step in (timedelta(microseconds=1), timedelta(0)):
        keys, traced, current = asyncio.run(correct_often(Hurried(step)))
        lineage = traced["supersession_lineage"]
        with world.admin() as admin:
            periods = admin.execute(
                "select relationship_id::text, known_from <= coalesce(known_to, 'infinity'), corrected_by::text, status from commonlore.relationship "
                "where relationship_id = any(%s::uuid[])",
                (keys,),
            ).fetchall()

        assert keys == [str(item["relationship_id"]) for item in lineage]
        assert len(set(keys)) == 6
        assert {(key, True, after, "active" if after is None else "superseded") for key, after in zip(keys, [*keys[1:], None], strict=True)} == set(
            periods
        )
        assert keys[-1:] == current
