"""Seals: whatever is changed, added, removed or moved is seen, and nothing that was not."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.audit.entry import NO_SEAL, AuditEntry, Seal, check_seal, make_seal

TEAM, NOW = UUID(int=7), datetime(2026, 7, 1, tzinfo=UTC)
words = st.text('abc_,"[] \\', min_size=1, max_size=6)
ids = st.integers(1, 1 << 100).map(lambda number: UUID(int=number))
entries = st.builds(
    AuditEntry,
    entry_id=ids,
    act=words,
    actor_kind=st.sampled_from(("credential", "operator", "worker")),
    profile_id=st.none() | ids,
    credential_id=st.none() | ids,
    subject_kind=words,
    subject=words,
    outcome=st.sampled_from(("done", "denied", "refused")),
    code=st.none() | words,
    reason=st.none() | words,
    correlation=words,
    known_from=st.integers(0, 10**9).map(lambda number: NOW + timedelta(microseconds=number)),
)
batches = st.lists(st.lists(entries, min_size=1, max_size=4, unique_by=lambda entry: entry.entry_id), min_size=1, max_size=4)


def chain(kept: list[list[AuditEntry]]) -> list[Seal]:
    seals: list[Seal] = []
    for batch in kept:
        seals.append(make_seal(TEAM, batch, seals[-1] if seals else None, now=NOW))
    return seals


def states(seals: list[Seal], kept: list[list[AuditEntry]], removed_to: int = 0) -> list[str]:
    befores = [NO_SEAL, *(seal.seal_sha256 for seal in seals)]
    return [check_seal(TEAM, seal, batch, before, removed_to=removed_to) for seal, batch, before in zip(seals, kept, befores, strict=False)]


@given(batches)
def test_what_nobody_touched_is_whole(kept: list[list[AuditEntry]]) -> None:
    assert {"whole"} == set(states(chain(kept), kept))


@given(batches, st.data())
def test_a_change_of_any_field_of_any_entry_is_seen_in_its_seal_alone(kept: list[list[AuditEntry]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kept) - 1))
    entry = data.draw(st.sampled_from(kept[place]))
    name = data.draw(st.sampled_from([item.name for item in fields(AuditEntry)]))
    other = data.draw(entries.filter(lambda found: getattr(found, name) != getattr(entry, name)))
    changed = [[replace(item, **{name: getattr(other, name)}) if item is entry else item for item in batch] for batch in kept]

    assert ["broken" if number == place else "whole" for number in range(len(kept))] == states(chain(kept), changed)


@given(batches, st.data())
def test_an_entry_that_is_gone_is_seen(kept: list[list[AuditEntry]], data: st.DataObject) -> None:
    """Also where the whole batch is gone, unless the team's own retention says that it went."""
    place = data.draw(st.integers(0, len(kept) - 1))
    seals = chain(kept)
    fewer = [batch[1:] if number == place else batch for number, batch in enumerate(kept)]
    none = [[] if number == place else batch for number, batch in enumerate(kept)]

    assert "broken" == states(seals, fewer)[place]
    assert "broken" == states(seals, none, removed_to=place)[place]
    assert "removed" == states(seals, none, removed_to=place + 1)[place]


@given(batches.filter(lambda kept: len(kept) > 1), st.data())
def test_a_seal_that_is_gone_breaks_the_next(kept: list[list[AuditEntry]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kept) - 2))
    seals = chain(kept)
    without = seals[:place] + seals[place + 1 :]

    assert "broken" == states(without, kept[:place] + kept[place + 1 :])[place]


@given(st.lists(entries, min_size=2, max_size=4, unique_by=lambda entry: entry.entry_id))
def test_the_order_counts(batch: list[AuditEntry]) -> None:
    assert ["broken"] == states(chain([batch]), [batch[::-1]])
