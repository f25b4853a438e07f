"""Every view of every kind of statement: valid_at x known_at x what happened to it, for texts and for relationships.

The expected answers come from a table of days and one small rule, written without the service's own code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from commonlore.api.service import MemoryOperations
from tests.support.conflicts import KINDS, QUERY, contest, decide, show_case
from tests.support.conflicts import views as views_of_case
from tests.support.databases import TestDatabase
from tests.support.identity import administer, entity_id
from tests.support.memory import START, Holder, Memory, a_relationship, contexts
from tests.support.planned import PlannedEmbedder

NOW = 99.0
ALWAYS = NOW + 1
A_MINUTE, A_MICROSECOND = 1 / 1440, 1e-6 / 86400
DAYS = (None, 0.0, 1.5, 2.5, 3.5, 4.5, 6.0, 50.0)


def at(day: float) -> datetime:
    return START + timedelta(microseconds=round(day * 86_400_000_000))


def view(valid: float | None, known: float | None) -> dict[str, str]:
    return {name: at(day).isoformat() for name, day in (("valid_at", valid), ("known_at", known)) if day is not None}


class Calendar:
    """A clock that stands still until the test turns it; no two writes share an instant."""

    def __init__(self) -> None:
        self.day = 0.0

    def __call__(self) -> datetime:
        return at(self.day)


@dataclass(frozen=True)
class Said:
    """A statement with the text that carries it. Periods are of known time, days from the first included to the last not.

    `counted`: when it was held as true. `shown`: when its text was not withdrawn. `replaced`: when another took its place.
    `decided`: the day of a decision against it, and the day from which that counts. `never`: it turned out never to have held.
    """

    text: str
    counted: tuple[tuple[float, float], ...]
    name: str = ""
    told: float = 0.0
    shown: tuple[tuple[float, float], ...] = ()
    holds: tuple[float, float] = (-NOW, NOW)
    replaced: float | None = None
    decided: tuple[float, float] | None = None
    never: bool = False

    def counts(self, valid: float | None, known: float | None) -> bool:
        if (known is not None and known < self.told) or not (valid is None or self.holds[0] <= valid < self.holds[1]):
            return False
        moment = known if known is not None else valid if valid is not None and self.told <= valid else NOW
        if not any(first <= moment < last for first, last in self.shown or ((self.told, NOW + 1),)):
            return False
        if valid is not None and known is None and self.never:
            return False
        if valid is not None and self.decided is not None and (known is None or known >= self.decided[0]):
            return valid < self.decided[1]
        ended_by_itself = valid is not None and self.replaced is not None and moment >= self.replaced and self.holds[1] < NOW
        return ended_by_itself or any(first <= moment < last for first, last in self.counted)


def table(when: Mapping[str, float]) -> tuple[Said, ...]:
    """What is true of each statement, by the moments at which things happened."""

    def until(first: str, last: str) -> tuple[tuple[float, float], ...]:
        return ((when[first], when[last]),)

    def since(first: str) -> tuple[tuple[float, float], ...]:
        return ((when[first], ALWAYS),)

    held = (*until("held and released", "hold"), *since("release"))
    revised, superseded = until("of an old revision", "of a new revision"), until("of a superseded text", "of the text that supersedes")
    said = {
        "active": Said("Ada likes tea.", since("active"), holds=(2, 6)),
        "timeless": Said("Bob likes tea.", since("timeless")),
        "replaced": Said("Cid primary database is MySQL.", until("replaced", "replacing"), replaced=when["replacing"]),
        "replacing": Said("Cid primary database is Zig.", since("replacing")),
        "replaced with its end": Said(
            "Dan primary database is MySQL.",
            until("replaced with its end", "replacing one with its end"),
            holds=(-NOW, 6),
            replaced=when["replacing one with its end"],
        ),
        "replacing one with its end": Said("Dan primary database is Zig.", since("replacing one with its end")),
        "retracted": Said("Eve likes tea.", until("retracted", "retract"), shown=until("retracted", "retract")),
        "corrected": Said("Fay works on Atlas.", until("corrected", "correcting"), never=True),
        "correcting": Said("Fay works on Atlas.", since("correcting")),
        "preferred": Said("Gil primary database is MySQL.", since("preferred")),
        "suppressed": Said("Gil primary database is Zig.", until("suppressed", "decide"), decided=(when["decide"], 3)),
        "of an old revision": Said("Hal likes tea.", revised, shown=revised),
        "of a new revision": Said("Hal likes milk.", since("of a new revision")),
        "held and released": Said("Ida likes tea.", held, shown=held),
        "of a superseded text": Said("Jon likes tea.", superseded, shown=superseded),
        "of the text that supersedes": Said("Jon likes milk.", since("of the text that supersedes")),
        "erased": Said("Kim likes tea.", (), shown=((-NOW, -NOW),)),
    }
    return tuple(replace(item, name=name, told=when[name]) for name, item in said.items())


TEXTS = {item.name: item for item in table(defaultdict(float))}


@dataclass
class World:
    memory: Memory
    calendar: Calendar
    ann: Holder
    ids: dict[str, str] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)
    when: dict[str, float] = field(default_factory=dict)

    def turn(self, day: float, name: str) -> None:
        """To a minute of the day that nothing has happened in."""
        self.calendar.day = max(day, max(self.when.values(), default=0.0) + A_MINUTE)
        self.when[name] = self.calendar.day

    async def say(self, day: float, name: str, holder: Holder | None = None, *, text: str | None = None, **fields: Any) -> None:
        """Tell the text of the table on a day; one that states the ends of its validity says so."""
        said = TEXTS[name]
        self.turn(day, name)
        words = said.text.removesuffix(".").split(" ")
        one = "primary" in words
        bounds = [("valid_from", said.holds[0], -NOW), ("valid_to", said.holds[1], NOW)]
        claim = a_relationship(
            words[0], "primary_database" if one else "_".join(words[1:-1]), words[-1], kinds=KINDS,
            **{key: at(end).isoformat() for key, end, none in bounds if end != none},
        )  # fmt: skip
        answer = await self.memory.remember(holder or self.ann, evidence=[{"content": text or said.text, **fields}], relationships=[claim])
        self.ids[name] = answer["relationship_results"][0]["splits"][0]["relationship_id"]
        self.evidence[name] = answer["evidence"][0]["evidence_id"]

    async def happen(self, ben: Holder) -> None:
        source: dict[str, Any] = {"source_key": "page", "source_revision": "1"}
        for name in (
            "active",
            "replaced",
            "replaced with its end",
            "retracted",
            "corrected",
            "preferred",
            "held and released",
            "of a superseded text",
            "erased",
        ):
            await self.say(1, name)
        await self.say(1, "of an old revision", **source)
        await self.say(2, "timeless")
        await self.say(2, "suppressed", ben)
        self.turn(2, "hold")
        await self.memory.quarantine(self.ann, self.evidence["held and released"])
        for name in ("replacing", "replacing one with its end"):
            await self.say(3, name)
        self.turn(3, "retract")
        await self.memory.retract(self.ann, self.evidence["retracted"])
        self.turn(3, "correcting")
        done = await self.memory.correct(self.ann, self.ids["corrected"], patch={"scope": "office"})
        self.ids["correcting"], self.evidence["correcting"] = done["correction_result"]["successor"]["relationship_id"], self.evidence["corrected"]
        await self.say(3, "of a new revision", **{**source, "source_revision": "2", "previous_source_revision": "1"})
        await self.say(3, "of the text that supersedes", supersedes_evidence_ids=[self.evidence["of a superseded text"]])
        self.turn(4, "release")
        await self.memory.quarantine(self.ann, self.evidence["held and released"], held=False)
        cases = self.memory.sql("select conflict_id::text from commonlore.conflict_case where team_id = %s", self.ann.team_id)
        shown = (await show_case(self.memory, self.ann, cases[0][0]))["conflict"]
        preferred = next(item["position_id"] for item in shown["positions"] if item["object"]["name"] == "MySQL")
        self.turn(4, "decide")
        await decide(
            self.memory,
            self.ann,
            conflict_id=cases[0][0],
            expected_version=1,
            action="resolve",
            preferred_position_id=preferred,
            effective_at=at(3).isoformat(),
        )
        self.calendar.day = 5
        self.memory.sql(
            "insert into commonlore.evidence_exclusion select team_id, space_epoch, evidence_id, 'erased', %s from commonlore.evidence where evidence_id = %s",
            at(5),
            self.evidence["erased"],
        )
        self.memory.sql("update commonlore.relationship set status = 'retracted', support_count = 0 where relationship_id = %s", self.ids["erased"])
        self.calendar.day = 20


async def a_world(memory: Memory) -> World:
    calendar = Calendar()
    adapters = replace(memory.adapters, clock=calendar)
    memory = replace(memory, adapters=adapters, operations=MemoryOperations(adapters))
    ann, ben = await memory.key(scopes=("read", "write", "admin"), binding="shared_only"), await memory.key(binding="shared_only")
    world = World(memory, calendar, ann)
    await memory.remember(ann, content="An unrelated pelican.")
    await world.happen(ben)
    return world


def views(when: Mapping[str, float]) -> Iterator[tuple[float | None, float | None]]:
    """Days against days, and each moment at which something happened, exactly and a microsecond before."""
    yield from ((valid, known) for known in DAYS for valid in DAYS)
    for moment in when.values():
        for instant in (moment, moment - A_MICROSECOND):
            yield from ((None, instant), (instant, None))
    yield from ((bound, known) for bound in (2 - A_MICROSECOND, 2.0, 3 - A_MICROSECOND, 3.0, 6 - A_MICROSECOND) for known in (None, 3.5))


async def test_every_view_of_every_statement(database: TestDatabase) -> None:
    """The texts by their words, the relationships by what a text beside them leaves over; to the microsecond."""
    wrong: list[str] = []
    async with Memory.open(database) as memory:
        world = await a_world(memory)
        names = {key: name for name, key in world.ids.items()}
        said = table(world.when)
        for valid, known in views(world.when):
            answer = await world.memory.recall(
                world.ann, "likes tea milk primary database works Atlas", limit=50, relationship_limit=0, **view(valid, known)
            )
            beside = await world.memory.recall(world.ann, "pelican unrelated", limit=1, relationship_limit=20, **view(valid, known))
            expected = {item.name for item in said if item.counts(valid, known)}
            texts = {item.text for item in said if item.name in expected}
            found = {
                names[key] for item in beside["related_relationships"] for key in (item["relationship_id"], *item["equivalent_relationship_ids"])
            }
            paths = {names[key] for item in answer["results"] for key in item["relationship_ids"]}
            shown = {text for text in contexts(answer) if "pelican" not in text}
            for what, seen, wanted in (("relationships", found, expected), ("paths", paths, expected), ("texts", shown, texts)):
                if seen != wanted:
                    wrong.append(f"valid {valid} known {known} {what}: more {sorted(seen - wanted)} less {sorted(wanted - seen)}")
            supporting = {key for item in beside["related_relationships"] for key in item["evidence_ids"]}
            if supporting != {world.evidence[name] for name in expected}:
                wrong.append(f"valid {valid} known {known} evidence_ids")
    assert not wrong, "\n".join([f"{len(wrong)} wrong", *wrong])


async def test_equivalents_are_those_of_the_view(memory: Memory) -> None:
    """Equal texts of other authors: told, retracted, held and unsupported as of then, and withheld where nothing is claimed."""
    ann, ben = await memory.key(scopes=("read", "write", "admin"), binding="shared_only"), await memory.key(binding="shared_only")
    cid, dan = await memory.key(binding="shared_only"), await memory.key(binding="shared_only")

    async def tell(holder: Holder, *, claims: bool = False) -> str:
        claimed = [a_relationship("Orion", "primary_database", "MySQL", kinds=KINDS)] if claims else []
        answer = await memory.remember(holder, content="Orion primary database is MySQL.", relationships=claimed)
        return str(answer["evidence"][0]["evidence_id"])

    before = memory.clock.advance(hours=1)
    first, second, third, claimed = await tell(ann), await tell(ben), await tell(cid), await tell(dan, claims=True)
    told = memory.clock.advance(hours=1)
    await memory.retract(ben, second)
    await memory.quarantine(ann, third)
    await memory.relate(dan, "Orion primary database is Zig.", "Orion", "primary_database", "Zig", kinds=KINDS)
    memory.clock.advance(hours=1)

    async def shown(**times: str) -> set[str]:
        found = await memory.recall(ann, "Orion primary database MySQL", **times)
        return {key for item in found["results"] if "MySQL" in item["context"] for key in (item["evidence_id"], *item["equivalent_evidence_ids"])}

    then, now = {"known_at": told.isoformat()}, {"known_at": memory.clock.now.isoformat()}
    assert {first, second, third, claimed} == await shown(**then) == await shown(valid_at=told.isoformat())
    assert {first} == await shown() == await shown(**now) == await shown(valid_at=before.isoformat())
    assert set() == await shown(known_at=before.isoformat())
    memory.sql("update commonlore.team set unclaimed_evidence = 'withheld' where team_id = %s", ann.team_id)
    assert ({claimed}, set(), set()) == (await shown(**then), await shown(), await shown(**now))


async def test_withheld_texts_are_no_equivalents(memory: Memory) -> None:
    """In the present: what nothing is claimed from is named nowhere, not even beside a text of the same words."""
    ann, ben = await memory.key(binding="shared_only"), await memory.key(binding="shared_only")
    unclaimed = (await memory.remember(ben, content="Mark works on Atlas."))["evidence"][0]["evidence_id"]
    claimed = await memory.remember(ann, content="Mark works on Atlas.", relationships=[a_relationship("Mark", "works_on", "Atlas")])

    async def shown() -> list[tuple[str, list[str]]]:
        return [(item["evidence_id"], item["equivalent_evidence_ids"]) for item in (await memory.recall(ann, "Mark Atlas"))["results"]]

    assert {unclaimed, claimed["evidence"][0]["evidence_id"]} == {key for first, others in await shown() for key in (first, *others)}
    memory.sql("update commonlore.team set unclaimed_evidence = 'withheld' where team_id = %s", ann.team_id)
    assert [(claimed["evidence"][0]["evidence_id"], [])] == await shown()


async def test_names_are_those_of_the_view(memory: Memory) -> None:
    """Of relationships and of the sides of a case; what was told later goes by today's name."""
    team = await contest(memory)
    await memory.remember(team.ann, content="An unrelated pelican.")
    told = memory.clock.advance(hours=1)
    renamed = entity_id(memory, "MySQL")
    await administer(memory, team.ada, "rename_entity", entity_id=renamed, name="MariaDB")
    await memory.run_embedding(team.ann)
    memory.clock.advance(hours=1)

    async def names(**times: str) -> tuple[set[str], set[str]]:
        beside = await memory.recall(team.ann, "pelican unrelated", limit=1, **times)
        touched = await memory.recall(team.ann, QUERY, **times)
        sides = {position["object"]["name"] for case in touched["conflicts"] for position in case["positions"]}
        return {item["object"]["name"] for item in beside["related_relationships"]}, sides

    old, new = {"PostgreSQL", "MySQL"}, {"PostgreSQL", "MariaDB"}
    assert (old, old) == await names(known_at=told.isoformat())
    assert (old, old) == await names(valid_at=told.isoformat())
    assert (new, new) == await names() == await names(known_at=memory.clock.now.isoformat())
    assert (new, new) == await names(valid_at="2020-01-01T00:00:00Z")


async def test_the_case_is_that_of_the_view(memory: Memory) -> None:
    """A side that was withdrawn later stood there then, in the case and among the texts alike."""
    team = await contest(memory)
    opened = memory.clock.advance(hours=1).isoformat()
    memory.clock.advance(hours=1)
    [gone] = [item["evidence_id"] for item in (await memory.recall(team.ben, QUERY))["results"] if "MySQL" in item["context"]]
    await memory.retract(team.ben, gone)
    later = memory.clock.advance(hours=1).isoformat()
    both, one = (["MySQL", "PostgreSQL"], [("open", ["candidate", "candidate"])]), (["PostgreSQL"], [])

    assert both == await views_of_case(memory, team.ann, known_at=opened) == await views_of_case(memory, team.ann, valid_at=opened)
    assert both == await views_of_case(memory, team.ann, valid_at=later, known_at=opened)
    assert one == await views_of_case(memory, team.ann) == await views_of_case(memory, team.ann, known_at=later)
    assert one == await views_of_case(memory, team.ann, valid_at=later) == await views_of_case(memory, team.ann, valid_at=opened, known_at=later)


async def test_what_was_replaced_is_found_by_its_meaning(memory: Memory) -> None:
    """Vectors and documents stay: no word of the query stands in the text or the relationship."""
    embedder = PlannedEmbedder({"mysql": 0.9, "zig": 0.5})
    memory = memory.with_embedder(embedder)
    ann = await memory.key(binding="shared_only")
    await memory.relate(ann, "Orion primary database is MySQL.", "Orion", "primary_database", "MySQL", kinds=KINDS)
    told = memory.clock.advance(hours=1).isoformat()
    await memory.relate(ann, "Orion primary database is Zig.", "Orion", "primary_database", "Zig", kinds=KINDS)
    memory.clock.advance(hours=1)
    await memory.remember(ann, content="An unrelated pelican.")

    async def found(**times: str) -> tuple[list[str], list[str]]:
        answer = await memory.recall(ann, "marmalade", **times)
        beside = await memory.recall(ann, "marmalade", known_evidence_ids=[], limit=1, **times)
        return contexts(answer), [item["object"]["name"] for item in beside["related_relationships"]]

    texts, _ = await found(known_at=told)
    assert ["Orion primary database is MySQL."] == texts
    assert {"An unrelated pelican.", "Orion primary database is Zig."} == set((await found())[0])
    assert ["Zig"] == (await found())[1]
    assert ["Orion primary database is MySQL."] == (await found(valid_at=told))[0][1:2]


async def test_a_time_to_come_is_now_and_a_time_before_all_is_nothing(memory: Memory) -> None:
    ann = await memory.key(binding="shared_only")
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    await memory.remember(ann, content="A pelican.")
    now, future = [await memory.recall(ann, "Mark pelican", limit=1, **times) for times in ({}, {"known_at": "2999-01-01T00:00:00Z"})]
    past = await memory.recall(ann, "Mark pelican", limit=1, known_at="0001-01-01T00:00:00Z")

    assert (now["results"], now["related_relationships"]) == (future["results"], future["related_relationships"])
    assert ([], [], []) == (past["results"], past["related_relationships"], past["conflicts"])


async def test_known_evidence_covers_only_by_paths_that_count(memory: Memory) -> None:
    """A retracted text that the caller has says nothing any more: the relationship that another text carries is shown."""
    ann = await memory.key(binding="shared_only")
    made = [
        await memory.remember(ann, content=text, relationships=[a_relationship("Mark", "works_on", "Atlas")])
        for text in ("Mark works on Atlas.", "Atlas is what Mark works on.")
    ]
    await memory.remember(ann, content="An unrelated pelican.")
    told = memory.clock.advance(hours=1).isoformat()
    gone = made[0]["evidence"][0]["evidence_id"]
    await memory.retract(ann, gone)
    memory.clock.advance(hours=1)

    async def related(**times: str) -> int:
        answer = await memory.recall(ann, "pelican unrelated", limit=1, known_evidence_ids=[gone], **times)
        return len(answer["related_relationships"])

    assert (1, 0, 0, 1) == (
        await related(),
        await related(known_at=told),
        await related(valid_at=told),
        await related(known_at=memory.clock.now.isoformat()),
    )
