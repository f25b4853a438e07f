"""What the statements of a recall call eligible is what the pure functions say of the same rows, in any view."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from random import Random
from uuid import UUID

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commonlore.db.histories import read_histories
from commonlore.db.recall import recall_snapshot
from commonlore.db.session import actor_transaction
from commonlore.domain.recall.eligibility import RelationshipHistory, SupportHistory, is_effective, refuse, withdrawn_in
from commonlore.domain.recall.plan import RecallIntent, parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.time import TemporalView
from tests.support.databases import TestDatabase
from tests.support.histories import DAYS, Histories, moment, store
from tests.support.memory import Holder, Memory

INSTANTS = st.builds(moment, st.integers(-1, DAYS + 1), st.sampled_from([0, 0, -1, 1]))
VIEWS = st.one_of(
    st.builds(TemporalView, INSTANTS),
    st.builds(TemporalView, INSTANTS),
    st.builds(TemporalView, st.none(), INSTANTS),
    st.builds(TemporalView, INSTANTS, INSTANTS),
)


def intent_of(view: TemporalView) -> RecallIntent:
    times = {name: value.isoformat() for name, value in (("valid_at", view.valid_at), ("known_at", view.known_at)) if value is not None}
    return parse_intent(RecallRequest(query="x", **times))


def granted(support: SupportHistory, view: TemporalView) -> bool:
    """By the decisions alone, whatever became of the text."""
    horizon = view.known_at or (view.valid_at if view.valid_at is not None and support.known_from <= view.valid_at else None)
    if view.known_at is not None and support.known_from > view.known_at:
        return False
    return [event.what for event in support.decisions if horizon is None or event.known_from <= horizon][-1] in ("grant", "reinstate")


async def check(memory: Memory, holder: Holder, made: Histories, view: TemporalView, *, withheld: bool) -> None:
    async with recall_snapshot(memory.adapters.pool, holder.key, clock=memory.clock, timeout_ms=20_000) as snapshot:
        (space,) = snapshot.actor.spaces_to_read
        groups = await snapshot.hydrate_groups(intent_of(view), {space: [item.semantic_group_key for item in made.relationships.values()]})
        rows = await snapshot.hydrate_evidence(intent_of(view), {space: {key: () for key in made.evidence}})
    counted = {item.relationship_id for item in made.relationships.values() if refuse(item, view) is None}
    assert counted == {row.relationship_id for members in groups.values() for row in members}
    shown = {row.relationship_id: set(row.evidence_ids) for members in groups.values() for row in members}
    if not view.is_present:  # now the events have their exclusions beside them, which are not made here
        supporting = {
            key: {support.evidence.evidence_id for support in made.relationships[key].supports if is_effective(support, view)} for key in counted
        }
        assert supporting == shown
        assert {key: withdrawn_in(item, view) for key, item in made.evidence.items()} == {key: row.withdrawn for key, row in rows.items()}
        assert equivalents(made, view, counted, withheld=withheld) == {key: set(row.equivalents) for key, row in rows.items()}
    assert {key: view.known_at is None or item.known_from <= view.known_at for key, item in made.evidence.items()} == {
        key: row.known_in_view for key, row in rows.items()
    }
    assert {key: paths(made, key, view, counted) for key in made.evidence} == {
        key: {(path.relationship_id, path.is_active) for path in row.paths} for key, row in rows.items()
    }


def paths(made: Histories, evidence_id: UUID, view: TemporalView, counted: set[UUID]) -> set[tuple[UUID, bool]]:
    found: Iterator[tuple[RelationshipHistory, SupportHistory]] = (
        (item, support) for item in made.relationships.values() for support in item.supports
    )
    return {
        (item.relationship_id, item.relationship_id in counted)
        for item, support in found
        if support.evidence.evidence_id == evidence_id and granted(support, view)
    }


def equivalents(made: Histories, view: TemporalView, counted: set[UUID], *, withheld: bool) -> dict[UUID, set[UUID]]:
    """Of each text the others of the same words that count in the view."""

    def counts(key: UUID) -> bool:
        item, ways = made.evidence[key], paths(made, key, view, counted)
        known = view.known_at is None or item.known_from <= view.known_at
        return known and withdrawn_in(item, view) is None and (any(active for _, active in ways) if ways else not withheld)

    eligible = {key for key in made.evidence if counts(key)}
    return {key: {other for other in eligible if made.texts[other] == text and other != key} for key, text in made.texts.items()}


async def check_histories(memory: Memory, holder: Holder, made: Histories) -> None:
    """A trace reads what was stored, each event in the order in which it counts."""
    async with actor_transaction(memory.adapters.pool, holder.key, clock=memory.clock, timeout_ms=20_000, snapshot=True) as (actor, transaction):
        found = await read_histories(transaction, actor.spaces_to_read[0], list(made.relationships))
    assert made.relationships == {item.relationship_id: item for item in found}


def test_statements_and_functions_agree(database: TestDatabase) -> None:
    """Rows, histories and views at random, at exact instants and just beside them; one team for each set of rows."""
    teams = count()

    async def one(memory: Memory, seed: int, views: list[TemporalView], withheld: bool) -> None:
        team = f"team {next(teams)}"
        holder = await memory.key(team, team, binding="shared_only")
        await memory.relate(holder, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
        made = Histories(Random(seed)).make(holder.profile_id, texts=24, relationships=120)
        store(memory, holder, made)
        memory.sql("update commonlore.team set unclaimed_evidence = %s where team_id = %s", "withheld" if withheld else "eligible", holder.team_id)
        await check_histories(memory, holder, made)
        for view in (TemporalView(), *views):
            await check(memory, holder, made, view, withheld=withheld)

    with asyncio.Runner() as runner:
        opened = Memory.open(database)
        memory = runner.run(opened.__aenter__())
        try:

            @settings(max_examples=12, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
            @given(st.integers(0, 1 << 30), st.lists(VIEWS, min_size=12, max_size=12), st.booleans())
            def run(seed: int, views: list[TemporalView], withheld: bool) -> None:
                runner.run(one(memory, seed, views, withheld))

            run()
        finally:
            runner.run(opened.__aexit__(None, None, None))
