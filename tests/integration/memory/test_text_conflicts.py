"""Conflicts between texts: stated by their quotes, shown beside either text, decided by a person."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Conflict, Forbidden, Incorrect, NotVisible
from commonlore.domain.ids import new_id
from tests.support.conflicts import contest_texts, decide, launched, list_cases
from tests.support.memory import Memory


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


@pytest.mark.parametrize("place", [(0, 1 << 40), (5, 5), (9, 3)])
async def test_a_place_that_no_text_has_is_refused_as_a_field(memory: Memory, place: tuple[int, int]) -> None:
    """Too far, empty, backwards."""

    ann = await memory.key()
    own = await launched(memory, ann, 2025)
    with pytest.raises((Incorrect, msgspec.ValidationError)):
        await contest_texts(memory, ann, [(own, 0, 26), (own, *place)])


async def test_the_words_of_a_withdrawn_text_are_not_told(memory: Memory) -> None:
    """The case stays, its quote is empty."""

    ann = await memory.key()
    first, second = await launched(memory, ann, 2025), await launched(memory, ann, 2026)
    await contest_texts(memory, ann, [(first, 0, 26), (second, 0, 26)])
    memory.sql(
        "insert into commonlore.evidence_exclusion select team_id, space_epoch, evidence_id, 'quarantined', known_from"
        " from commonlore.evidence where evidence_id = %s",
        first,
    )
    [case] = (await memory.recall(ann, "When was Orion launched?"))["conflicts"]

    assert [None, "Orion was launched in 2026"] == [position["quote"] for position in case["positions"]]


async def test_whoever_may_not_read_is_told_nothing_of_quotes(memory: Memory) -> None:
    """Whether words stand in a text is an answer about the text."""
    ann = await memory.key(scopes=("write",))
    first = (await memory.remember(ann, content="The launch is in May."))["evidence"][0]["evidence_id"]
    with pytest.raises(Forbidden) as caught:
        await contest_texts(memory, ann, [(first, 0, 10), (first, 11, 20)])

    assert "unauthorized_scope" == caught.value.code
