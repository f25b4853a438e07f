"""`trace: true`: what became of every candidate, and nothing of what the caller may not see."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Forbidden
from commonlore.domain.recall.record import STEPS
from tests.support.databases import TestDatabase, clone, drop
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Memory, a_relationship

ARCHITECTURE = Path(__file__).parents[3] / "ARCHITECTURE.md"


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    """One database for the module: each test has a team of its own, and teams do not meet."""
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


COUNTED = {"returned", "covered_by_result", "covered_by_known_evidence", "covered_by_known_relationship", "shown_in_community", "beyond_limit"}


def outcomes(trace: dict[str, Any]) -> dict[str, str]:
    return {item["evidence_id"]: item["outcome"] for item in trace["evidence"]}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{path}/{name}")
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, path)
    else:
        yield path, value


def exclude(memory: Memory, evidence_id: str, reason: str) -> None:
    memory.sql(
        "insert into commonlore.evidence_exclusion select team_id, space_epoch, evidence_id, %s, now() from commonlore.evidence where evidence_id = %s",
        reason,
        evidence_id,
    )


async def test_without_it_the_answer_is_what_it_was(memory: Memory) -> None:
    """Byte for byte, and with it nothing else of the answer changes."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"Zebra number {number} runs." for number in range(30)])
    await memory.relate(ann, "Zoe likes zebras.", "Zoe", "likes", "zebras")
    plain, off, on = [await memory.recall(ann, "zebra likes", limit=5, **fields) for fields in ({}, {"trace": False}, {"trace": True})]
    for answer in (plain, off, on):
        del answer["recall_id"]

    assert on.pop("trace")["evidence"]
    assert msgspec.json.encode(plain) == msgspec.json.encode(off) == msgspec.json.encode(on)


async def test_the_candidates_do_not_depend_on_the_limit(memory: Memory) -> None:
    """B206-a: the same set in the same order for 1, 2, 5 and 20, of which the results are the beginning."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"kumquat {'apple ' * (number % 5)}row {number}" for number in range(40)])
    answers = {limit: await memory.recall(ann, "kumquat apple", limit=limit, trace=True) for limit in (1, 2, 5, 20)}
    listed = {limit: [item["evidence_id"] for item in answer["trace"]["evidence"]] for limit, answer in answers.items()}

    assert 40 == len(listed[1])
    assert [listed[1]] * 4 == list(listed.values())
    for limit, answer in answers.items():
        assert listed[limit][:limit] == [item["evidence_id"] for item in answer["results"]]
        assert {"returned": limit, "beyond_limit": 40 - limit} == {
            name: list(outcomes(answer["trace"]).values()).count(name) for name in ("returned", "beyond_limit")
        }
        assert [{"name": "limit", "value": limit, "cut": 40 - limit}] == answer["trace"]["limits"]


async def test_each_reason_is_said(memory: Memory) -> None:
    """To the author or an administrator: withdrawn evidence is named though the search left it out, and took no place; erased is not."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    gone = await memory.key()
    stays, twin, *withdrawn = await memory.remember_all(
        ann, ["zebra stays", "zebra stays ", *(f"zebra {word}" for word in ("superseded", "retracted", "erased", "quarantined", "source_revised"))]
    )
    [lost] = await memory.remember_all(gone, ["zebra of somebody gone"])
    known = (await memory.remember(ann, content="zebra that is known"))["evidence"][0]["evidence_id"]
    claimed = await memory.remember(ann, content="Zoe likes zebra.", relationships=[a_relationship("Zoe", "likes", "zebra")])
    unsupported = claimed["evidence"][0]["evidence_id"]
    relationship_id = claimed["relationship_results"][0]["splits"][0]["relationship_id"]
    reasons = ("superseded", "retracted", "erased", "quarantined", "source_revised")
    for evidence_id, reason in zip(withdrawn, reasons, strict=True):
        exclude(memory, evidence_id, reason)
    memory.sql("update commonlore.relationship set status = 'retracted' where relationship_id = %s", relationship_id)
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)
    trace = (await memory.recall(ann, "zebra", known_evidence_ids=[known], trace=True))["trace"]
    erased = withdrawn[2]

    expected = {stays: "returned", lost: "owner_inactive", known: "already_known", unsupported: "unsupported"}
    expected |= {key: reason for key, reason in zip(withdrawn, reasons, strict=True) if key != erased}
    assert expected == {key: said for key, said in outcomes(trace).items() if key != twin}
    assert {known, *withdrawn} - {erased} == {item["evidence_id"] for item in trace["evidence"] if not item["ranked"]}

    memory.sql("update commonlore.team set unclaimed_evidence = 'withheld' where team_id = %s", ann.team_id)
    withheld = (await memory.recall(ann, "zebra", trace=True))["trace"]
    assert "unclaimed" == outcomes(withheld)[stays]

    before = (await memory.recall(ann, "zebra", known_at="2020-01-01T00:00:00Z", trace=True))["trace"]
    assert "not_yet_known" == outcomes(before)[stays]


async def test_equal_texts_are_said(memory: Memory) -> None:
    ann, ben = await memory.key(), await memory.key()
    [first], [second] = [await memory.remember_all(holder, ["The same zebra."]) for holder in (ann, ben)]
    found = outcomes((await memory.recall(ann, "zebra", trace=True))["trace"])

    assert {"returned": 1, "equal_text": 1} == {name: list(found.values()).count(name) for name in ("returned", "equal_text")}
    assert {first, second} == set(found)


async def test_what_another_wrote_and_was_excluded_is_hidden(memory: Memory) -> None:
    """No name, no count and no gap in the ranks tells a reader that a withheld text matches; its author hears of it."""
    ann, ben = await memory.key(), await memory.key()
    [hidden] = await memory.remember_all(ben, ["zebra zebra zebra telescope"])
    [plain] = await memory.remember_all(ann, ["zebra in a field of grass and many other words"])
    exclude(memory, hidden, "quarantined")
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", (await memory.key()).profile_id)
    alone = memory.with_embedder(FailingEmbedder())

    def said(answer: dict[str, Any]) -> tuple[dict[str, str], int, list[int]]:
        trace = answer["trace"]
        return outcomes(trace), trace["spaces"][-1]["evidence_lexical"], [item["lexical_rank"] for item in trace["evidence"] if item["ranked"]]

    assert ({plain: "returned"}, 1, [1]) == said(await alone.recall(ann, "zebra", trace=True))
    assert ({plain: "returned", hidden: "quarantined"}, 1, [1]) == said(await alone.recall(ben, "zebra", trace=True))

    past = {"known_at": "2030-01-01T00:00:00Z", "trace": True}  # no gate in the search of a view of the past
    memory.sql("update commonlore.team set unclaimed_evidence = 'withheld' where team_id = %s", ann.team_id)
    assert ({plain: "unclaimed"}, 1, [1]) == said(await alone.recall(ann, "zebra telescope", **past))


async def test_nothing_of_foreign_or_private_rows_and_no_score(memory: Memory) -> None:
    """Every value of a trace is a known word, a whole number, a time of a step, a term of the query or an id that the caller may see."""
    ann, ben, other = await memory.key(), await memory.key(), await memory.key("other")
    texts = [f"Zebra number {number} runs." for number in range(12)]
    visible = set(await memory.remember_all(ann, texts)) | set(await memory.remember_all(ann, ["My zebra."], target_space="private"))
    await memory.remember_all(ben, ["Ben's zebra."], target_space="private")
    await memory.remember_all(other, texts)
    visible.add(await memory.relate(ann, "Zoe likes zebras.", "Zoe", "likes", "zebras"))
    await memory.relate(ben, "Bob likes zebras.", "Bob", "likes", "zebras", target_space="private")
    await memory.relate(other, "Oda likes zebras.", "Oda", "likes", "zebras")
    visible |= {str(row[0]) for row in memory.sql("select evidence_id from commonlore.evidence where content = 'Zoe likes zebras.'")}
    trace = (await memory.recall(ann, "which zebra likes running", limit=3, trace=True))["trace"]

    ids = set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", msgspec.json.encode(trace).decode()))
    floats = {path for path, value in leaves(trace) if isinstance(value, float)}
    words = {path.rpartition("/")[2] for path, _ in leaves(trace)}
    assert ids == visible & ids
    assert floats == {path for path in floats if path.startswith("/timings_ms/")}
    assert set() == {word for word in words if re.search("score|distance|weight|space_id|epoch|profile|vector$", word)} - {
        "evidence_vector",
        "relationship_vector",
    }
    assert ["private", "team_shared"] == [space["space_kind"] for space in trace["spaces"]]


async def test_groups_say_what_covered_them(memory: Memory) -> None:
    """By a result, by known evidence, by a known relationship, beyond the limit; equal statements are one group with its members."""
    ann, ben = await memory.key(), await memory.key()
    made = {}
    for name in ("Ada", "Bob", "Cid", "Dan", "Eve"):
        text = "narwhal " * 9 + f"{name} likes narwhals." if name == "Ada" else f"{name} likes narwhals."
        made[name] = await memory.remember(ann, content=text, relationships=[a_relationship(name, "likes", "narwhals")])
    twin = await memory.relate(ben, "Dan likes narwhals, I hear.", "Dan", "likes", "narwhals")
    ids = {name: answer["relationship_results"][0]["splits"][0]["relationship_id"] for name, answer in made.items()}
    known = {"known_evidence_ids": [made["Bob"]["evidence"][0]["evidence_id"]], "known_relationship_ids": [ids["Cid"]]}
    answer = await memory.recall(ann, "narwhal likes", limit=1, relationship_limit=1, trace=True, **known)
    said = {item["relationship_id"]: item for item in answer["trace"]["relationships"]}
    returned = answer["related_relationships"][0]["relationship_id"]
    result = answer["results"][0]["relationship_ids"][0]

    assert ("covered_by_result", "covered_by_known_evidence", "covered_by_known_relationship", "returned") == tuple(
        said[key]["outcome"] for key in (result, ids["Bob"], ids["Cid"], returned)
    )
    assert 1 == said[returned]["rank"]
    assert 1 == [item["outcome"] for item in said.values()].count("beyond_limit")
    assert [twin] == said[ids["Dan"]]["equivalent_relationship_ids"]
    assert {"name": "relationship_limit", "value": 1, "cut": 1} in answer["trace"]["limits"]
    assert all(item["lexical_rank"] >= 1 for item in said.values())


async def test_times_are_named_as_the_steps(memory: Memory) -> None:
    """The names are those of the table in ARCHITECTURE.md, and a trace has all that ran, in that order."""
    ann = await memory.key()
    await memory.relate(ann, "Zoe likes zebras.", "Zoe", "likes", "zebras")
    await memory.remember(ann, content="no zebra at all")
    page = ARCHITECTURE.read_text("utf-8").partition("## The recall as a straight line")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z_]+) \|", page, re.MULTILINE)
    times = (await memory.recall(ann, "no at all", limit=1, trace=True))["trace"]["timings_ms"]

    assert list(STEPS) == [row for row in rows if row != "step"]
    # No space has communities on, and nobody decodes here.
    assert [step for step in STEPS if step != "decode" and not step.endswith("_communities")] == list(times)
    assert all(isinstance(value, float) and value >= 0 for value in times.values())


async def test_the_plan_is_said(memory: Memory) -> None:
    """Policy, terms and depth; a lane that is off has none of its own."""
    ann = await memory.key()
    await memory.remember_all(ann, ["The zebra runs."])
    trace = (await memory.recall(ann, "what is the zebra", relationship_limit=0, trace=True))["trace"]

    assert ("ranking-1", "zscore-2") == (trace["policy"]["version"], trace["policy"]["evidence_contract"])
    assert {"searched": ["zebra"], "function_words": ["what", "is", "the"]} == trace["terms"]
    assert {"rows": 200, "refills": 0} == trace["depth"]["evidence"]
    assert ([], False) == (trace["relationships"], trace["truncated"])


async def test_a_refill_is_said(memory: Memory) -> None:
    """A lane that stayed short looked deeper, and the trace says how deep."""
    ann, gone = await memory.key(), await memory.key()
    await memory.remember_all(gone, [f"zebra {number}" for number in range(220)])
    [left] = await memory.remember_all(ann, ["zebra among many other words that make it weaker"])
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)
    answer = await memory.with_embedder(FailingEmbedder()).recall(ann, "zebra", limit=1, trace=True)

    assert [left] == [item["evidence_id"] for item in answer["results"]]
    assert {"rows": 400, "refills": 1} == answer["trace"]["depth"]["evidence"]
    assert {left: "returned"} == outcomes(answer["trace"])


async def test_a_team_that_holds_nothing_has_an_empty_trace(memory: Memory) -> None:
    """Nothing was searched, so there is no space and no candidate."""
    trace = (await memory.recall(await memory.key(), "anything", trace=True))["trace"]

    assert ([], [], [], []) == tuple(trace[name] for name in ("spaces", "evidence", "relationships", "limits"))


async def test_a_trace_needs_the_scope_of_a_recall(memory: Memory) -> None:
    writer = await memory.key(scopes=("write",))

    with pytest.raises(Forbidden):
        await memory.recall(writer, "x", trace=True)


async def test_each_reason_of_a_relationship_is_said(memory: Memory) -> None:
    """To its author or an administrator: what matches and does not count, with the reason in the view; erased is not."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    ben = await memory.key()
    kinds = ("project", "product")
    ids: dict[str, str] = {}

    async def tell(name: str, predicate: str, target: str, reason: str, **fields: Any) -> str:
        ids[reason] = await memory.relate(ann, f"{name} {predicate.replace('_', ' ')} {target}.", name, predicate, target, kinds=kinds, **fields)
        return str(memory.sql("select evidence_id::text from commonlore.relationship_support where relationship_id = %s", ids[reason])[0][0])

    await tell("Atlas", "primary_database", "narwhal", "superseded")
    await tell("Atlas", "primary_database", "quagga", "kept")
    gone = await tell("Borneo", "likes", "narwhal", "retracted")
    held = await tell("Ceres", "likes", "narwhal", "pending_evidence")
    erased = await tell("Dione", "likes", "narwhal", "erased")
    await tell("Europa", "likes", "narwhal", "corrected")
    await tell("Fornax", "likes", "narwhal", "no_longer_valid", valid_to="2026-01-01T00:00:00Z")
    await tell("Gaspra", "likes", "narwhal", "not_yet_valid", valid_from="2027-01-01T00:00:00Z")
    told = memory.clock.advance(hours=1).isoformat()
    await memory.retract(ann, gone)
    await memory.quarantine(ann, held)
    await memory.retract(ann, erased)
    exclude(memory, erased, "erased")
    await memory.correct(ann, ids["corrected"], patch={"scope": "office"})
    now = memory.clock.advance(hours=1).isoformat()

    async def said(holder: Any, **fields: Any) -> dict[str, str]:
        trace = (await memory.recall(holder, "narwhal likes database", limit=1, relationship_limit=20, trace=True, **fields))["trace"]
        return {item["relationship_id"]: item["outcome"] for item in trace["relationships"] if item["outcome"] not in COUNTED}

    passed = {reason: ids[reason] for reason in ("superseded", "retracted", "pending_evidence", "corrected")}
    assert {key: reason for reason, key in passed.items()} == await said(ann)
    assert {key: reason for reason, key in passed.items()} == await said(ann, known_at=now)
    assert {} == await said(ben)
    then = await said(ann, known_at=told)  # when the corrected one was not replaced yet
    assert ("superseded", {"not_yet_known"}) == (then.pop(ids["superseded"]), set(then.values()))
    outside = {ids["no_longer_valid"]: "no_longer_valid", ids["not_yet_valid"]: "not_yet_valid"}
    assert outside.items() <= (await said(ann, valid_at="2026-07-02T00:00:00Z")).items()
    everything = {ids[reason] for reason in ids} - {ids["erased"]}
    early = await said(ann, known_at="2020-01-01T00:00:00Z")
    assert ({"not_yet_known"}, set()) == (set(early.values()), everything - set(early))
    assert {ids["erased"]} & (set(early) | set(await said(ann, valid_at=told))) == set()
