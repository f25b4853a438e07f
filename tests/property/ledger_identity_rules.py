"""Rules of the ledger's state machine: entities are merged, split, and both are taken back."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.ledger_base import OWNERS, PLACES, STALE, LedgerMachine
from tests.support.identity import administer


class IdentityRules(LedgerMachine):
    """What an administrator does to names."""

    def _active(self) -> list[str]:
        return [key for key, entity in self.model.entities.items() if entity.active]

    @precondition(lambda self: len(self.model.entities) > 1)
    @rule(place=PLACES, other=PLACES, by=OWNERS, apply=st.sampled_from([True, True, False]))
    def merge(self, place: int, other: int, by: int, apply: bool) -> None:
        """Two of one kind, or any other two objects; a preview changes nothing."""
        keys = list(self.model.entities)
        gone = keys[place % len(keys)]
        is_project = self.model.entities[gone].kind == "project"
        like = [key for key in keys if key != gone and (self.model.entities[key].kind == "project") == is_project]
        if not like:
            return
        kept = like[other % len(like)]
        work = administer(self.memory, self.members[by], "merge_entities", from_entity_id=gone, to_entity_id=kept, apply=apply)
        if not (self.model.entities[gone].active and self.model.entities[kept].active):
            assert STALE == self.refusal(work)
            return
        answer = self.run(work)
        if not apply:
            assert answer["correction_id"] is None
            return
        move = self.model.merge(gone, kept)
        self.moved[str(answer["correction_id"])] = move
        self.done()
        counted = [sum(item.made for item in move.items), sum(item.target is not None and not item.made for item in move.items)]
        assert counted == [answer[name]["count"] for name in ("repointed", "joined")]
        assert move.learned == set(answer["names_learned"])

    @precondition(lambda self: any(row.stands_for is None for row in self.model.rows))
    @rule(place=PLACES, most=st.integers(1, 3), by=OWNERS, at_subject=st.booleans(), apply=st.sampled_from([True, True, False]))
    def split(self, place: int, most: int, by: int, at_subject: bool, apply: bool) -> None:
        """Some relationships of an entity become those of a new one."""
        row = self.pick_row(place)
        kept = row.said.subject if at_subject or row.said.target not in self.model.entities else row.said.target
        rows = [row, *(other for other in self.model.of(kept) if other is not row)][:most]
        name = f"Part{len(self.model.moves)}"
        work = administer(
            self.memory, self.members[by], "split_entity", entity_id=kept, relationship_ids=[row.id for row in rows], name=name, apply=apply
        )
        if not self.model.entities[kept].active:
            assert STALE == self.refusal(work)
            return
        answer = self.run(work)
        if not apply:
            assert answer["correction_id"] is None
            return
        if self.model.entities[kept].kind == "project":
            self.subjects.append(name)
        self.moved[str(answer["correction_id"])] = self.model.split(kept, rows, str(answer["to_entity_id"]), name)
        self.done()

    @precondition(lambda self: bool(self.moved))
    @rule(place=PLACES, by=OWNERS)
    def take_back(self, place: int, by: int) -> None:
        """The latest first is the usual order; any other may be refused."""
        keys = list(reversed(self.moved))
        key = keys[place % len(keys)]
        move = self.moved[key]
        work = administer(self.memory, self.members[by], "reverse_entity_correction", correction_id=key)
        if not self.model.may_take_back(move):
            assert STALE == self.refusal(work)
            return
        answer = self.run(work)
        self.model.take_back(move)
        self.done()
        assert sorted(item.source.id for item in move.items) == sorted(map(str, answer["restored_relationship_ids"]))
