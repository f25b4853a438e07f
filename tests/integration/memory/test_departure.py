"""A member who retires leaves its conflicts in the same transaction; nobody has to write first."""

from __future__ import annotations

import psycopg
import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.conflicts import contest, list_cases, show_case, state, views
from tests.support.databases import TestDatabase
from tests.support.identity import administer, an_admin
from tests.support.ledger_checks import Fingerprint, broken
from tests.support.memory import Memory, a_relationship, contexts


async def retire(memory: Memory, admin: object, profile_id: object) -> None:
    await administer(memory, admin, "retire_member", profile_id=str(profile_id))  # type: ignore[arg-type]


async def test_a_case_of_two_ends_with_one_of_them(memory: Memory) -> None:
    """It is dismissed by the retirement, which its last event names; a view of the time before still shows both sides."""
    case = await contest(memory)
    before = memory.clock.advance(minutes=1)

    await retire(memory, case.ada, case.ben.profile_id)

    shown = await show_case(memory, case.ada, case.conflict_id)
    assert ("dismissed", 2) == (shown["conflict"]["status"], shown["conflict"]["version"])
    assert ("dismissed", str(case.ada.profile_id)) == (shown["events"][-1]["action"], str(shown["events"][-1]["actor_profile_id"]))
    assert [] == (await list_cases(memory, case.ada, status="open"))["conflicts"]
    assert (["PostgreSQL"], []) == await views(memory, case.ann)
    assert [("open", ["candidate", "candidate"])] == (await views(memory, case.ann, known_at=before.isoformat()))[1]
    assert [] == broken(memory)


async def test_a_case_of_three_goes_on_without_it(memory: Memory) -> None:
    """Its side has no supporter any more and is not shown; the version has moved on, so a decision that saw it is stale."""
    case = await contest(memory)
    cyd = await memory.key(member="Cyd")
    await state(memory, cyd, "Oracle")

    await retire(memory, case.ada, case.ben.profile_id)

    shown = (await show_case(memory, case.ada, case.conflict_id))["conflict"]
    assert ("open", 3) == (shown["status"], shown["version"])
    assert {"PostgreSQL": ["Ann"], "MySQL": [], "Oracle": ["Cyd"]} == {
        side["object"]["name"]: [item["profile_name"] for item in side["supporters"]] for side in shown["positions"]
    }
    assert (["Oracle", "PostgreSQL"], [("open", ["candidate", "candidate"])]) == await views(memory, case.ann)
    assert [] == broken(memory)


async def test_a_text_that_only_its_statements_claimed_is_not_eligible(memory: Memory) -> None:
    """Another member's text, cited by the one who retires: the exclusion says so at once, as a recall does."""
    admin, ann, ben = await an_admin(memory), await memory.key(), await memory.key()
    text = await memory.remember(ann, content="Mark works on Atlas.")
    cites = {**a_relationship("Mark", "works_on", "Atlas"), "evidence_indices": [], "known_evidence_ids": [text["evidence"][0]["evidence_id"]]}
    await memory.remember(ben, content="See there.", relationships=[cites])
    assert "Mark works on Atlas." in contexts(await memory.recall(ann, "Mark Atlas"))

    await retire(memory, admin, ben.profile_id)

    assert "Mark works on Atlas." not in contexts(await memory.recall(ann, "Mark Atlas"))
    assert [("unsupported",)] == memory.sql("select reason from commonlore.evidence_exclusion")
    assert [] == broken(memory)


async def test_a_retirement_that_is_refused_leaves_every_case_as_it_is(memory: Memory, database: TestDatabase) -> None:
    case = await contest(memory)
    state_of = Fingerprint(database.admin_conninfo)
    before = state_of()

    with pytest.raises(CommonloreError) as caught:
        await retire(memory, case.ada, case.ada.profile_id)

    assert "last_admin" == caught.value.code and before == state_of()
    state_of.close()


async def test_a_retirement_waits_for_no_write_that_names_the_member(memory: Memory, database: TestDatabase) -> None:
    """Such a write may wait for the ledger lock that the retirement holds; waiting for it in turn would be a circle."""
    case = await contest(memory)
    quick = memory.with_timeout(3_000)
    with psycopg.connect(database.admin_conninfo) as writer:
        writer.execute("select from commonlore.profile where profile_id = %s for key share", (case.ben.profile_id,))

        await retire(quick, case.ada, case.ben.profile_id)

    assert [("dismissed",)] == memory.sql("select status from commonlore.conflict_case")
