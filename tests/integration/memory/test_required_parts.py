"""What a recall cannot do without fails it with a stated failure; a step that takes too long ends it; nothing is answered by half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from commonlore.api.service import MemoryOperations
from commonlore.domain.errors import CommonloreError, DeadlineExceeded, Unauthenticated
from commonlore.domain.policy import RankingPolicy
from tests.support.conflicts import KINDS, QUERY, contest
from tests.support.faults import break_space, mend
from tests.support.memory import Holder, Memory, a_relationship, contexts, shown

# Each step of a recall that reads, by a table that it alone or it first reads.
STEPS = {
    "read_statistics": "evidence_statistic",
    "fetch: evidence by words": "evidence_posting",
    "fetch: evidence by meaning": "evidence_vector_1",
    "fetch: relationships by words": "relationship_posting",
    "fetch: relationships by meaning": "relationship_vector_1",
    "hydrate": "evidence_part",
    "hydrate: paths": "support_decision_event",
    "fall_back": "entity_name",
    "say_conflicts: which": "conflict_member",
    "say_conflicts: what": "conflict_event",
}
HYDRATING = ("evidence_part", "support_decision_event", "entity_name", "conflict_member", "conflict_event")


def codes(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(item["frontier"], item["code"]) for item in answer["degradations"]]


def with_policy(memory: Memory, policy: RankingPolicy) -> Memory:
    adapters = replace(memory.adapters, policy=policy)
    return replace(memory, adapters=adapters, operations=MemoryOperations(adapters))


async def a_world(memory: Memory) -> tuple[Holder, str]:
    """Both spaces hold texts and more relationships than the results say, the shared one a conflict; the query touches all of it."""
    team = await contest(memory)
    for space in ("team_shared", "private"):
        for name in ("Zoe", "Yan", "Xia", "Wim"):
            await memory.relate(team.ann, f"{name} likes {space}.", name, "likes", space, target_space=space)
        await memory.remember(team.ann, content=f"Orion in {space}.", target_space=space)
    return team.ann, QUERY + " Who likes it?"


async def ask(memory: Memory, holder: Holder, query: str, **request: Any) -> dict[str, Any]:
    """So few results that relationships remain, and what touches them."""
    return await memory.recall(holder, query, **{"limit": 4, "known_relationship_ids": [str(holder.profile_id)], **request})


# --- rows that cannot be read


@pytest.mark.parametrize("table", HYDRATING)
@pytest.mark.parametrize("view", [{}, {"known_at": "2030-01-01T00:00:00Z"}], ids=["now", "then"])
async def test_rows_that_cannot_be_read_fail_the_recall(memory: Memory, table: str, view: dict[str, str]) -> None:
    """Neither knowledge nor a conflict is ever put together from search text, or left out in silence."""
    ann, query = await a_world(memory)
    whole = shown(await ask(memory, ann, query, **view))
    break_space(memory, table, "team_shared")

    with pytest.raises(CommonloreError) as caught:
        await ask(memory, ann, query, **view)

    assert ("hydration_failed", False) == (caught.value.code, caught.value.entry.retryable)
    assert "test" not in caught.value.message
    mend(memory, table)
    assert whole == shown(await ask(memory, ann, query, **view))


@pytest.mark.parametrize("table", ["evidence_part", "support_decision_event"])
async def test_private_rows_that_cannot_be_read_are_missing_alone(memory: Memory, table: str) -> None:
    """Stated without a detail; the rest is as for somebody who has no private space. The search for meanings reads parts as well."""
    ann, query = await a_world(memory)
    bot = await memory.key(binding="shared_only")
    break_space(memory, table, "credential_private")

    answer, alone = await ask(memory, ann, query), await ask(memory, bot, query)

    assert {("evidence", "space_branch_unavailable")} == set(codes(answer)) - {("evidence", "evidence_vector_failed")}
    for lane in ("results", "conflicts"):
        assert answer[lane] == alone[lane] != [], lane
    # A private relationship is read without the parts of its texts.
    shared = [item for item in answer["related_relationships"] if item["space_kind"] == "team_shared"]
    assert shared == alone["related_relationships"][: len(shared)] != []
    assert table == "evidence_part" or shared == answer["related_relationships"]


async def test_private_relationships_that_cannot_be_read_leave_everything_else(memory: Memory) -> None:
    """Private texts stay, and the lane is filled from the shared space."""
    ann, query = await a_world(memory)
    whole = await ask(memory, ann, query)
    break_space(memory, "entity_name", "credential_private")

    answer = await ask(memory, ann, query)

    assert [("evidence", "space_branch_unavailable")] == codes(answer)
    assert (whole["results"], whole["conflicts"]) == (answer["results"], answer["conflicts"])
    assert {"private", "team_shared"} == {item["space_kind"] for item in whole["related_relationships"]}
    assert {"team_shared"} == {item["space_kind"] for item in answer["related_relationships"]}


async def test_a_broken_private_space_changes_no_order(memory: Memory) -> None:
    """Turns of a session and the scale of meaning count as they do otherwise."""
    ann = await memory.key()
    bot = await memory.key(binding="shared_only")
    for number in range(12):
        text = f"Turn {number}: {'zebra ' * (number % 4)}and {'quagga' if number % 3 else 'pelican'}."
        await memory.remember(ann, content=text, session="s", sequence=number)
    await memory.remember(ann, content="A private zebra.", target_space="private")
    break_space(memory, "evidence_posting", "credential_private")

    answer, alone = await memory.recall(ann, "zebra quagga"), await memory.recall(bot, "zebra quagga")

    assert [("evidence", "space_branch_unavailable")] == codes(answer)
    assert alone["results"] == answer["results"]


# --- steps that take too long


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["team_shared", "credential_private"])
async def test_a_step_that_takes_too_long_ends_the_recall(memory: Memory, step: str, kind: str) -> None:
    """With the failure of a deadline, never with a shorter answer, whichever space is slow; the connection serves the next call."""
    if kind == "credential_private" and step.startswith("say_conflicts"):
        pytest.skip("the private space has no case")
    ann, query = await a_world(memory)
    whole = shown(await ask(memory, ann, query))
    async with memory.under("", size=1) as single:
        impatient = single.with_timeout(250)
        break_space(memory, STEPS[step], kind, action="perform pg_sleep(5)")

        with pytest.raises(DeadlineExceeded) as caught:
            await ask(impatient, ann, query)

        assert ("request_timeout", True) == (caught.value.code, caught.value.entry.retryable)
        mend(memory, STEPS[step])
        assert whole == shown(await ask(single, ann, query))


async def test_explaining_and_tracing_end_in_time_as_well(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    impatient = memory.with_timeout(250)
    break_space(memory, "relationship_transition_event", "team_shared", action="perform pg_sleep(5)")

    for work in (memory.with_timeout(250).recall(ann, "Mark", known_at="2030-01-01T00:00:00Z", trace=True), impatient.trace(ann, relationship_id)):
        with pytest.raises(DeadlineExceeded):
            await work


async def test_a_key_that_cannot_be_checked_opens_nothing(memory: Memory) -> None:
    """A failure to look is never taken for a valid key."""
    ann, query = await a_world(memory)
    memory.sql("create policy broken on commonlore.credential as restrictive for select using (1 / (length(name) - length(name)) = 0)")

    with pytest.raises(CommonloreError) as caught:
        await memory.recall(ann, query)

    assert not isinstance(caught.value, Unauthenticated) and "internal_failure" == caught.value.code
    mend(memory, "credential")
    memory.sql("update commonlore.credential set revoked_at = now() where credential_id = %s", ann.credential_id)
    with pytest.raises(Unauthenticated):
        await memory.recall(ann, query)


# --- bounds


async def test_relationships_beyond_the_cap_are_stated(memory: Memory) -> None:
    """The caller has what the deepest look finds; there may be more, and the answer says so."""
    ann = await memory.key()
    ids = [await memory.relate(ann, f"Zoe{number} likes zebra.", f"Zoe{number}", "likes", "zebra") for number in range(8)]
    await memory.remember(ann, content="A pelican.")
    shallow = with_policy(memory, RankingPolicy(depth_rows=2, depth_cap_rows=4))
    first = await memory.recall(ann, "zebra likes", limit=1, relationship_limit=20)
    near = [item["relationship_id"] for item in first["related_relationships"]]

    capped = await shallow.recall(ann, "zebra likes", limit=1, relationship_limit=5, known_relationship_ids=near[:5])
    enough = await with_policy(memory, RankingPolicy(depth_rows=2, depth_cap_rows=16)).recall(
        ann, "zebra likes", limit=1, relationship_limit=2, known_relationship_ids=near[:5]
    )

    assert ("relationships", "relationship_bound_reached") in codes(capped)
    assert [] == codes(enough)
    assert set(ids) >= {item["relationship_id"] for item in enough["related_relationships"]} > set()


async def test_more_conflicts_than_are_shown_are_stated(memory: Memory) -> None:
    """22 cases touch the results: twenty are shown, none of them preferred, and the answer says that there are more."""
    ann, ben = await memory.key(), await memory.key()
    names = [f"Orion{number}" for number in range(22)]

    def claims(some: Sequence[str], target: str) -> list[dict[str, Any]]:
        return [a_relationship(name, "primary_database", target, ref=name, kinds=KINDS) for name in some]

    for holder, target in ((ann, "PostgreSQL"), (ben, "MySQL")):
        for some in (names[:11], names[11:]):
            await memory.remember(holder, content=f"The primary database of {', '.join(some)} is {target}.", relationships=claims(some, target))

    answer = await memory.recall(ann, "Which primary database?", limit=4)

    assert (4, 20, [("conflicts", "conflict_bound_reached")]) == (len(contexts(answer)), len(answer["conflicts"]), codes(answer))
    assert {(None, "open")} == {(case["preferred_position_id"], case["status"]) for case in answer["conflicts"]}
