"""A merge that is taken back is as if it had not been, for what recall and trace show; and what was written stays as it was written."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.databases import TestDatabase
from tests.support.identity import administer, world
from tests.support.memory import Memory

Said = tuple[int, str, str, str]
NAMES = st.sampled_from(["Dense", "Mem", "Other"])
SAID = st.lists(
    st.tuples(st.integers(0, 1), NAMES, st.sampled_from(["uses", "primary_database"]), st.sampled_from(["Zig", "Mongo", "Dense", "Mem"])),
    min_size=1,
    max_size=7,
)
_HISTORY = ("relationship_observation", "verification_event", "relationship_support", "support_decision_event", "relationship_transition_event")


def test_a_merge_and_its_reversal_are_nothing(database: TestDatabase) -> None:
    """Two authors say anything of two names and of each other, also twice; then one name is merged into the other and back."""
    teams = count()

    async def check(memory: Memory, said: list[Said]) -> None:
        team = f"team {next(teams)}"
        authors = [await memory.key(team, f"{team} {number}", scopes=("read", "write", "admin"), binding="shared_only") for number in range(2)]
        for number, (author, subject, predicate, target) in enumerate([(0, "Dense", "likes", "tea"), (1, "Mem", "likes", "tea"), *said]):
            text = f"Note {number}: {subject} {predicate.replace('_', ' ')} {target}."
            await memory.relate(authors[author], text, subject, predicate, target, kinds=("project", "project"))
        ids, names, events = rows(memory, authors[0].team_id)
        before = [await world(memory, author, ids) for author in authors]

        done = await administer(memory, authors[0], "merge_entities", from_entity_id=names["Dense"], to_entity_id=names["Mem"], apply=True)
        assert [] == of_team(
            memory,
            authors[0].team_id,
            f"select 1 from commonlore.relationship where status = 'active' and '{names['Dense']}' in (subject_entity_id, object_entity_id)",
        )
        await administer(memory, authors[1], "reverse_entity_correction", correction_id=done["correction_id"])

        assert before == [await world(memory, author, ids) for author in authors]
        assert events <= rows(memory, authors[0].team_id)[2]
        assert [] == of_team(
            memory,
            authors[0].team_id,
            "select relationship_id from commonlore.relationship r join commonlore.relationship_transition_event t using (team_id, relationship_id) "
            "group by relationship_id, r.version having count(*) <> r.version or max(t.version) <> r.version",
        )

    with asyncio.Runner() as runner:
        opened = Memory.open(database)
        memory = runner.run(opened.__aenter__())
        try:
            # What was replaced with a text of its own is joined by the merge, and is replaced again after it.
            @example([(0, "Mem", "primary_database", "Mem"), (0, "Mem", "primary_database", "Dense")])
            @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
            @given(SAID)
            def run(said: list[Said]) -> None:
                runner.run(check(memory, said))

            run()
        finally:
            runner.run(opened.__aexit__(None, None, None))


def of_team(memory: Memory, team_id: object, statement: str) -> list[tuple[Any, ...]]:
    """The statement over the rows of one team: it names tables of `commonlore` only."""
    tables = {word.split(".")[1].strip("(),") for word in statement.split() if word.startswith("commonlore.")}
    views = ", ".join(f"{table} as (select * from commonlore.{table} where team_id = '{team_id}')" for table in sorted(tables))
    return memory.sql(f"with {views} {statement.replace('commonlore.', '')}")


def rows(memory: Memory, team_id: object) -> tuple[list[str], dict[str, str], set[str]]:
    """Relationships by id, entities by canonical name, and every row of history as text."""
    ids = [key for (key,) in of_team(memory, team_id, "select relationship_id::text from commonlore.relationship order by 1")]
    names = dict(of_team(memory, team_id, "select display_name, entity_id::text from commonlore.entity_name where name_kind = 'canonical'"))
    return ids, names, {text for table in _HISTORY for (text,) in of_team(memory, team_id, f"select h::text from commonlore.{table} h")}
