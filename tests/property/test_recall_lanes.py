"""What holds for every whole recall, over worlds of a few rows: lanes that never repeat, that fill, and that leave each other alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS
from commonlore.domain.recall.fusion import SPACE_FUSIONS
from commonlore.domain.recall.result import RecallResult
from tests.support.recall_model import World, ask, worlds

fast = settings(max_examples=80, deadline=None)
LIMIT, RELATED = st.integers(1, 14), st.integers(1, 12)


def covered(world: World, answer: RecallResult) -> set[str]:
    """The groups that the results of an answer say."""
    return {group for item in answer.results for group in world.groups_of(item.evidence_id)}


def direct(world: World, answer: RecallResult) -> list[str]:
    return [world.group_of(item.relationship_id) for item in answer.related_relationships]


def known(answers: list[RecallResult]) -> dict[str, Any]:
    return {
        "known_evidence_ids": [str(item.evidence_id) for answer in answers for item in answer.results],
        "known_relationship_ids": [str(item.relationship_id) for answer in answers for item in answer.related_relationships],
    }


@fast
@given(worlds(), LIMIT, RELATED, st.integers(1, 4))
def test_no_group_is_said_twice(world: World, limit: int, related: int, depth: int) -> None:
    """Neither in two lanes nor twice in one, whatever the limits and the depth; every member of a direct group stands with it."""
    answer = ask(world, limit=limit, relationship_limit=related, depth=depth)
    groups = direct(world, answer)

    assert len(groups) == len(set(groups))
    assert set() == set(groups) & covered(world, answer)
    for item, group in zip(answer.related_relationships, groups, strict=True):
        members = {claim.id for claim in world.claims if claim.group == group and claim.eligible}
        assert members == {item.relationship_id, *item.equivalent_relationship_ids}


@fast
@given(worlds(), LIMIT, RELATED, st.integers(1, 4))
def test_a_lane_is_full_or_nothing_is_left(world: World, limit: int, related: int, depth: int) -> None:
    """As many results as there are texts that may come, or the limit; the same of the groups that were not said yet."""
    answer = ask(world, limit=limit, relationship_limit=related, depth=depth)
    left = world.eligible_groups() - covered(world, answer)

    assert min(limit, len(world.admissible())) == len(answer.results)
    assert min(related, len(left)) == len(answer.related_relationships)
    assert all(world.is_admissible(world.texts[item.evidence_id.int - 1000]) for item in answer.results)


@fast
@given(worlds(), LIMIT, st.integers(0, 12), st.integers(0, 10), st.integers(1, 20), st.data())
def test_evidence_does_not_depend_on_other_lanes(world: World, limit: int, related: int, communities: int, members: int, data: st.DataObject) -> None:
    """Not on their limits, not on known relationships, not on entities to expand from."""
    known_ids = data.draw(st.lists(st.sampled_from([str(claim.id) for claim in world.claims] or [str(UUID(int=1))]), max_size=4))
    plain = ask(world, limit=limit).results
    other = ask(
        world,
        limit=limit,
        relationship_limit=related,
        community_limit=communities,
        community_relationship_limit=members,
        known_relationship_ids=known_ids,
        expand_from_entity_ids=[str(UUID(int=3001))],
    )

    assert plain == other.results


@pytest.mark.parametrize("contract", sorted(EVIDENCE_CONTRACTS))
@fast
@given(world=worlds(), limit=LIMIT, related=RELATED, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_answer(contract: Any, world: World, limit: int, related: int, order: Any) -> None:
    """Rows, paths and groups that come in another order, and known ids that are shuffled and repeated, give the same bytes."""
    ids = [str(text.id) for text in world.texts[::3]] + [str(UUID(int=5))]
    shuffled = ids * 2
    order.shuffle(shuffled)
    fields = {"limit": limit, "relationship_limit": related, "contract": contract}
    first = ask(world, **fields, known_evidence_ids=ids)
    again = ask(replace(world, reverse=True), **fields, known_evidence_ids=shuffled)

    assert msgspec.json.encode(first) == msgspec.json.encode(again)


@fast
@given(worlds(), LIMIT, RELATED)
def test_feeding_results_back_never_repeats_a_group(world: World, limit: int, related: int) -> None:
    """Asking on with everything said so far as known: no text and no group comes again, and in the end everything was said."""
    answers: list[RecallResult] = []
    said: set[str] = set()
    texts: set[UUID] = set()
    while True:
        answer = ask(world, limit=limit, relationship_limit=related, **known(answers))
        ids, groups = {item.evidence_id for item in answer.results}, direct(world, answer)
        assert set() == ids & texts and set() == set(groups) & said
        texts |= ids
        said |= set(groups) | covered(world, answer)
        if not (ids or groups):
            break
        answers.append(answer)

    assert world.eligible_groups() == said
    assert {text.id for text in world.texts if world.is_admissible(text)} == texts


@fast
@given(worlds(), LIMIT, RELATED)
def test_known_ids_may_be_said_as_often_as_one_likes(world: World, limit: int, related: int) -> None:
    """Ids that are repeated, unknown or of a lane that did not have them change nothing."""
    first = ask(world, limit=limit, relationship_limit=related)
    ids = known([first])
    once = ask(world, limit=limit, relationship_limit=related, **ids)
    often = {name: [*values, str(UUID(int=4)), *values] for name, values in ids.items()}

    assert msgspec.json.encode(once) == msgspec.json.encode(ask(world, limit=limit, relationship_limit=related, **often))


@fast
@given(worlds(), st.integers(1, 8), RELATED, st.sampled_from(SPACE_FUSIONS))
def test_a_smaller_limit_is_the_beginning_of_a_larger_one(world: World, limit: int, related: int, fusion: str) -> None:
    """Of the results for any limit, and of the direct relationships where the results are the same."""
    whole = ask(world, limit=14, relationship_limit=12, fusion=fusion)
    few = ask(world, limit=limit, relationship_limit=related, fusion=fusion)
    same = ask(world, limit=14, relationship_limit=related, fusion=fusion)

    assert whole.results[:limit] == few.results
    assert whole.related_relationships[:related] == same.related_relationships


@fast
@given(worlds())
def test_signals_fuse_the_same_texts_in_each_spaces_own_order(world: World) -> None:
    """Beyond the page's rule neither what is found nor the order within a space changes, and the order of rows changes nothing."""
    page, signal = ask(world, limit=50), ask(world, limit=50, fusion="spaces-signal-1")
    again = ask(replace(world, reverse=True), limit=50, fusion="spaces-signal-1")

    assert msgspec.json.encode(signal) == msgspec.json.encode(again)
    assert {item.evidence_id for item in page.results} == {item.evidence_id for item in signal.results}
    for kind in ("private", "team_shared"):
        one, other = ([item.evidence_id for item in answer.results if item.space_kind == kind] for answer in (page, signal))
        assert one == other
