"""Decisions about conflicts, and what each view shows after them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import pytest

from commonlore.api.administration import TeamAdministration
from commonlore.domain.conflict.request import ContestEvidenceRequest, DescribeConflictRequest, ListConflictsRequest, ResolveConflictRequest
from commonlore.domain.errors import CommonloreError, Conflict, Incorrect, NotVisible
from commonlore.domain.ids import new_id
from tests.support.memory import Holder, Memory, contexts

KINDS = ("project", "product")
QUERY = "Which primary database has Orion?"


async def state(memory: Memory, holder: Holder, database: str, text: str | None = None, **fields: Any) -> str:
    """`holder` says which database Orion has; the relationship's id."""
    return await memory.relate(
        holder, text or f"The primary database of Orion is {database}.", "Orion", "primary_database", database, kinds=KINDS, **fields
    )


async def decide(memory: Memory, holder: Holder, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert({"reason": "asked the team", **request}, ResolveConflictRequest)
    return await memory.operations.resolve_conflict(holder.key, decoded, correlation_id="test")


def administration(memory: Memory) -> TeamAdministration:
    return TeamAdministration(memory.adapters, memory.operations.note)


async def show_case(memory: Memory, holder: Holder, conflict_id: str) -> dict[str, Any]:
    decoded = msgspec.convert({"conflict_id": conflict_id}, DescribeConflictRequest)
    return dict(await administration(memory).describe_conflict(holder.key, decoded, correlation_id="test"))


async def list_cases(memory: Memory, holder: Holder, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert(request, ListConflictsRequest)
    return dict(await administration(memory).list_conflicts(holder.key, decoded, correlation_id="test"))


@dataclass
class Contested:
    """Ann says PostgreSQL and Ben says MySQL; Ada administers."""

    ann: Holder
    ben: Holder
    ada: Holder
    relationships: dict[str, str]
    conflict_id: str
    positions: dict[str, str]
    opened: datetime

    def request(self, preferred: str = "PostgreSQL", **fields: Any) -> dict[str, Any]:
        return {
            "conflict_id": self.conflict_id,
            "expected_version": 1,
            "action": "resolve",
            "preferred_position_id": self.positions[preferred],
            **fields,
        }


async def contest(memory: Memory, **fields: Any) -> Contested:
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    ada = await memory.key(member="Ada", scopes=("read", "write", "admin"))
    relationships = {"PostgreSQL": await state(memory, ann, "PostgreSQL", **fields), "MySQL": await state(memory, ben, "MySQL", **fields)}
    [(conflict_id,)] = memory.sql("select conflict_id::text from commonlore.conflict_case")
    shown = (await show_case(memory, ada, conflict_id))["conflict"]
    positions = {item["object"]["name"]: item["position_id"] for item in shown["positions"]}
    return Contested(ann, ben, ada, relationships, conflict_id, positions, memory.clock.now)


def rows(memory: Memory) -> list[tuple[Any, ...]]:
    """Everything that a decision may touch."""
    counts = [
        memory.sql(f"select count(*) from commonlore.{table}")[0]
        for table in ("conflict_event", "submission", "relationship_transition_event", "evidence_exclusion")
    ]
    return [
        *memory.sql("select status, version from commonlore.conflict_case order by 1, 2"),
        *memory.sql("select status, version from commonlore.relationship order by 1, 2"),
        *counts,
    ]


async def views(memory: Memory, holder: Holder, **view: Any) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The databases that a view's texts name, and the cases with their dispositions."""
    answer = await memory.recall(holder, QUERY, **view)
    named = [name for text in contexts(answer) for name in ("PostgreSQL", "MySQL", "Oracle") if name in text]
    return sorted(named), [(case["status"], [position["disposition"] for position in case["positions"]]) for case in answer["conflicts"]]


async def test_a_resolved_case_keeps_the_preferred_and_hides_the_rest(memory: Memory) -> None:
    """The losing statement is superseded with a version and a transition; its author's text, which says nothing else, is not recalled."""

    team = await contest(memory)
    before = await views(memory, team.ann)
    result = await decide(memory, team.ada, **team.request())

    assert (["MySQL", "PostgreSQL"], [("open", ["candidate", "candidate"])]) == before
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann)
    assert ("resolved", 2, [{"relationship_id": team.relationships["MySQL"], "relationship_version": 2}], []) == (
        result["status"],
        result["version"],
        result["superseded_relationships"],
        result["opened_conflict_ids"],
    )
    assert [("active", "superseded", "conflict_resolved")] == memory.sql(
        "select from_status, to_status, reason from commonlore.relationship_transition_event where version = 2"
    )


async def test_a_text_with_another_path_stays(memory: Memory) -> None:
    """A decision ends a path, never a text."""

    team = await contest(memory)
    await memory.remember(
        team.ben,
        content="Orion runs MySQL as its primary database and uses Redis.",
        relationships=[
            {
                "ref": ref,
                "subject": {"name": "Orion", "entity_kind": "project"},
                "predicate": {"proposed_key": predicate},
                "object": {"entity": {"name": name, "entity_kind": "product"}},
                "evidence_indices": [0],
            }
            for ref, predicate, name in (("a", "primary_database", "MySQL"), ("b", "uses", "Redis"))
        ],
    )
    await decide(memory, team.ada, **team.request(expected_version=2))

    assert ["MySQL", "PostgreSQL"] == (await views(memory, team.ann))[0]


async def test_views_of_the_past_see_the_past(memory: Memory) -> None:
    """Before the case, while it was open, and after the decision; and the time before the decision counts."""

    team = await contest(memory)
    opened = memory.clock.now.isoformat()
    memory.clock.advance(days=1)
    await decide(memory, team.ada, **team.request(effective_at="2026-07-01T12:00:00Z"))
    decided = memory.clock.now.isoformat()
    open_case, both = [("open", ["candidate", "candidate"])], ["MySQL", "PostgreSQL"]

    assert (both, open_case) == await views(memory, team.ann, known_at=opened)
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann, known_at=decided)
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T11:59:59Z")
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann, valid_at="2026-07-01T12:00:00Z")
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T11:59:59Z", known_at=decided)
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T12:00:00Z", known_at=opened)


async def test_the_decision_counts_from_when_the_preferred_holds(memory: Memory) -> None:
    """From its start if it states one, else from the acceptance of its first support."""

    dated = await contest(memory, valid_from="2026-06-01T00:00:00Z")
    result = await decide(memory, dated.ada, **dated.request())

    assert ("2026-06-01T00:00:00Z", "valid_from") == (result["effective_at"], result["effective_time_basis"])


async def test_a_dismissed_case_is_ordinary_again(memory: Memory) -> None:
    """Both statements stand, no case is shown, and the next write on either side asks nothing."""

    team = await contest(memory)
    await decide(memory, team.ada, conflict_id=team.conflict_id, expected_version=1, action="dismiss")
    shown = await views(memory, team.ann)
    await state(memory, team.ann, "PostgreSQL", text="PostgreSQL serves Orion as its primary database.")

    assert (["MySQL", "PostgreSQL"], []) == shown
    assert [("dismissed", "person")] == memory.sql("select status, closed_by from commonlore.conflict_case")


async def test_another_object_after_a_dismissal_is_a_new_case(memory: Memory) -> None:
    """Of all three; what a person let stand was about two."""

    team = await contest(memory)
    await decide(memory, team.ada, conflict_id=team.conflict_id, expected_version=1, action="dismiss")
    await state(memory, await memory.key(), "Oracle")

    assert [("dismissed",), ("open",)] == memory.sql("select status from commonlore.conflict_case order by known_from")
    assert [("open", ["candidate"] * 3)] == (await views(memory, team.ann))[1]


async def test_fresh_evidence_of_the_losing_side_asks_again(memory: Memory) -> None:
    """The old case stays resolved in the history, and the new one is undecided and comes first."""

    team = await contest(memory)
    await decide(memory, team.ada, **team.request())
    await state(memory, team.ben, "MySQL", text="Since Tuesday MySQL is the primary database of Orion.")
    named, found = await views(memory, team.ann)

    assert [("open", ["candidate", "candidate"]), ("resolved", ["preferred", "suppressed_current"])] == found
    assert "MySQL" in named


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"expected_version": 2}, "stale_input"),
        ({"conflict_id": str(new_id())}, "not_found"),
        ({"preferred_position_id": str(new_id())}, "invalid_input"),
        ({"preferred_position_id": None}, "invalid_input"),
        ({"effective_at": "2030-01-01T00:00:00Z"}, "invalid_input"),
        ({"effective_at": "yesterday"}, "invalid_input"),
        ({"action": "dismiss"}, "invalid_input"),
        ({"reason": " "}, "invalid_input"),
    ],
)
async def test_a_decision_that_cannot_be_made_changes_nothing(memory: Memory, fields: dict[str, Any], code: str) -> None:
    """Stale, absent, of no position, without a position, to come, no time, with a position, without a reason."""

    team = await contest(memory)
    before = rows(memory)
    with pytest.raises(CommonloreError) as refused:
        await decide(memory, team.ada, **team.request(**fields))

    assert (code, before) == (refused.value.code, rows(memory))


async def test_only_an_administrator_decides(memory: Memory) -> None:
    """And one of another team learns nothing: the same answer as for an id of nothing."""

    team = await contest(memory)
    eve = await memory.key("borealis", scopes=("read", "write", "admin"))
    before = rows(memory)
    answers = []
    for holder, conflict_id in ((team.ann, team.conflict_id), (eve, team.conflict_id), (eve, str(new_id()))):
        with pytest.raises(CommonloreError) as refused:
            await decide(memory, holder, **team.request(conflict_id=conflict_id))
        answers.append((refused.value.code, refused.value.message))

    assert (["unauthorized_scope", "not_found"], answers[1], before) == ([code for code, _ in answers[:2]], answers[2], rows(memory))
    assert [] == (await list_cases(memory, eve))["conflicts"]
    with pytest.raises(NotVisible):
        await show_case(memory, eve, team.conflict_id)


async def test_a_case_of_a_private_space_is_its_holders(memory: Memory) -> None:
    """An administrator decides in the spaces that the key reads, and sees no other."""

    text = "Orion was launched in 2025. Orion was launched in 2026."
    ann = await memory.key(scopes=("read", "write", "admin"))
    ada = await memory.key(scopes=("read", "write", "admin"))
    stored = await memory.remember(ann, content=text, target_space="private")
    evidence_id = stored["evidence"][0]["evidence_id"]
    made = await contest_texts(memory, ann, [(evidence_id, 0, 27), (evidence_id, 28, 55)], target_space="private")
    with pytest.raises(NotVisible):
        await decide(memory, ada, conflict_id=made["conflict_id"], expected_version=1, action="dismiss")

    assert ([], 1) == ((await list_cases(memory, ada))["conflicts"], len((await list_cases(memory, ann))["conflicts"]))


async def test_the_same_decision_again_is_the_same_answer(memory: Memory) -> None:
    """By its key; another decision with that key is refused."""

    team = await contest(memory)
    first = await decide(memory, team.ada, **team.request(idempotency_key="k"))
    before = rows(memory)
    again = await decide(memory, team.ada, **team.request(idempotency_key="k"))
    with pytest.raises(Conflict) as refused:
        await decide(memory, team.ada, **team.request("MySQL", idempotency_key="k"))

    assert (first, before, "idempotency_conflict") == (again, rows(memory), refused.value.code)


async def test_one_of_two_decisions_at_once_is_stale(memory: Memory) -> None:
    """And the other one stands whole."""

    team = await contest(memory)
    other = await memory.key(member="Abe", scopes=("read", "write", "admin"))
    outcomes = await asyncio.gather(
        decide(memory, team.ada, **team.request("PostgreSQL")), decide(memory, other, **team.request("MySQL")), return_exceptions=True
    )

    assert ["stale_input"] == [item.code for item in outcomes if isinstance(item, Conflict)]
    assert [("active", 1), ("superseded", 1)] == memory.sql("select status, count(*) from commonlore.relationship group by 1 order by 1")


@pytest.mark.parametrize("round_no", range(3))
async def test_a_decision_against_a_joining_write_keeps_the_versions(memory: Memory, round_no: int) -> None:
    """Either the write came first and the decision is stale, or it came later and asks anew; never a side that nobody weighed."""

    team = await contest(memory)
    decision, _ = await asyncio.gather(
        decide(memory, team.ada, **team.request()), state(memory, await memory.key(), "Oracle"), return_exceptions=True
    )

    expected = [("open",)] if isinstance(decision, Conflict) else [("resolved",), ("open",)]
    assert expected == memory.sql("select status from commonlore.conflict_case order by known_from")


async def test_cases_are_listed_in_pages(memory: Memory) -> None:
    """In the order in which they were opened, by status, and a cursor belongs to its list."""

    ann, ben = await memory.key(), await memory.key()
    ada = await memory.key(scopes=("read", "admin"))
    for project in ("Orion", "Vega", "Lyra"):
        for holder, database in ((ann, "PostgreSQL"), (ben, "MySQL")):
            await memory.relate(holder, f"{project} has {database} as its primary database.", project, "primary_database", database, kinds=KINDS)
    first = await list_cases(memory, ada, status="open", limit=2)
    second = await list_cases(memory, ada, status="open", limit=2, cursor=first["next_cursor"])
    with pytest.raises(Incorrect):
        await list_cases(memory, ada, status="resolved", cursor=first["next_cursor"])

    questions = [case["question"] for case in [*first["conflicts"], *second["conflicts"]]]
    assert [f"What is the current primary database of {name}?" for name in ("Orion", "Vega", "Lyra")] == questions
    assert (None, []) == (second["next_cursor"], (await list_cases(memory, ada, status="dismissed"))["conflicts"])


async def test_a_case_tells_its_history(memory: Memory) -> None:
    """Who decided what, why and from when."""

    team = await contest(memory)
    await decide(memory, team.ada, **team.request(effective_at="2026-07-01T00:00:00Z"))
    events = (await show_case(memory, team.ada, team.conflict_id))["events"]

    assert ["opened", "position_added", "position_added", "resolved"] == [event["action"] for event in events]
    assert ("asked the team", str(team.ada.profile_id), team.positions["PostgreSQL"]) == tuple(
        events[-1][name] for name in ("reason", "actor_profile_id", "position_id")
    )


# -- conflicts between texts


async def contest_texts(memory: Memory, holder: Holder, places: list[tuple[str, int, int]], **fields: Any) -> dict[str, Any]:
    request = {
        "case_key": "orion-launch",
        "question": "When was Orion launched?",
        "positions": [{"evidence_id": key, "start": start, "end": end} for key, start, end in places],
        "reason": "two years",
        **fields,
    }
    return await memory.operations.contest_evidence(holder.key, msgspec.convert(request, ContestEvidenceRequest), correlation_id="test")


async def launched(memory: Memory, holder: Holder, year: int) -> str:
    answer = await memory.remember(holder, content=f"Orion was launched in {year}.")
    return str(answer["evidence"][0]["evidence_id"])


async def test_quotes_that_contradict_each_other_are_shown_until_decided(memory: Memory) -> None:
    """A recall of either text shows the case with both quotes; a decision is told and hides no text."""

    ann, ben = await memory.key(), await memory.key()
    ada = await memory.key(scopes=("read", "write", "admin"))
    places = [(await launched(memory, ann, 2025), 0, 26), (await launched(memory, ben, 2026), 0, 26)]
    made = await contest_texts(memory, ann, places)
    [case] = (await memory.recall(ben, "When was Orion launched?"))["conflicts"]
    await decide(
        memory, ada, conflict_id=made["conflict_id"], expected_version=1, action="resolve", preferred_position_id=case["positions"][1]["position_id"]
    )
    answer = await memory.recall(ben, "When was Orion launched?")

    assert ("evidence_conflict", "open", [("Orion was launched in 2025", True), ("Orion was launched in 2026", False)]) == (
        case["kind"],
        case["status"],
        [(position["quote"], position["submitted"]) for position in case["positions"]],
    )
    assert (["suppressed_current", "preferred"], 2) == (
        [position["disposition"] for position in answer["conflicts"][0]["positions"]],
        len(answer["results"]),
    )


async def test_the_same_quotes_again_are_recited(memory: Memory) -> None:
    """As one more version; other quotes under the key, or a closed case, are refused."""

    ann = await memory.key(scopes=("read", "write", "admin"))
    places = [(await launched(memory, ann, 2025), 0, 26), (await launched(memory, ann, 2026), 0, 26)]
    first, second = await contest_texts(memory, ann, places), await contest_texts(memory, ann, places)
    with pytest.raises(Conflict) as other:
        await contest_texts(memory, ann, [places[0], (await launched(memory, ann, 2027), 0, 26)])
    await decide(memory, ann, conflict_id=first["conflict_id"], expected_version=2, action="dismiss")
    with pytest.raises(Conflict) as closed:
        await contest_texts(memory, ann, places)

    assert (("opened", 1), ("recited", 2), ("name_taken", "name_taken")) == (
        (first["disposition"], first["version"]),
        (second["disposition"], second["version"]),
        (other.value.code, closed.value.code),
    )


async def test_new_evidence_is_brought_to_a_case_of_texts(memory: Memory) -> None:
    """With the version that was seen; the case notes the text."""

    ann = await memory.key()
    places = [(await launched(memory, ann, 2025), 0, 26), (await launched(memory, ann, 2026), 0, 26)]
    made = await contest_texts(memory, ann, places)
    await memory.relate(
        ann, "Orion flew past Saturn.", "Orion", "flew_past", "Saturn", conflict_context={"conflict_id": made["conflict_id"], "expected_version": 1}
    )

    assert [("opened", 1), ("recited", 2)] == memory.sql("select action, version from commonlore.conflict_event order by ordinal")


@pytest.mark.parametrize("change", ["absent", "foreign", "beyond", "quote"])
async def test_a_quote_that_is_not_there_opens_nothing(memory: Memory, change: str) -> None:
    """Absent and foreign texts are told in the same words."""

    ann, eve = await memory.key(), await memory.key("borealis")
    own, other, foreign = await launched(memory, ann, 2025), await launched(memory, ann, 2026), await launched(memory, eve, 2027)
    second: dict[str, Any] = {"evidence_id": other, "start": 0, "end": 26}
    second |= {
        "absent": {"evidence_id": str(new_id())},
        "foreign": {"evidence_id": foreign},
        "beyond": {"end": 40},
        "quote": {"quote": "Orion"},
    }[change]
    with pytest.raises(Incorrect) as refused:
        await contest_texts(memory, ann, [], positions=[{"evidence_id": own, "start": 0, "end": 26}, second])

    assert ("/positions/1" + ("/quote" if change == "quote" else ""), [(0,)]) == (
        refused.value.problems[0].pointer,
        memory.sql("select count(*) from commonlore.conflict_case"),
    )
