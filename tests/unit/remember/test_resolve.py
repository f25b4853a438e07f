"""Which entity, predicate and value a proposal means, and why some are refused."""

from __future__ import annotations

from uuid import UUID

from commonlore.domain.ids import new_id
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.resolve import KnownEntity, NameState, ResolvedProposal, resolve_proposals
from tests.support.memory import a_relationship, prepared


def resolved(*proposals: dict[str, object], state: NameState | None = None, changes: Changes | None = None) -> list[ResolvedProposal]:
    made = prepared("any text", list(proposals))
    return resolve_proposals(made.relationships, NameState() if state is None else state, Changes() if changes is None else changes, new_id=new_id)


def a_state(*entities: NamedEntity, key: str = "apple") -> NameState:
    state = NameState()
    for entity in entities:
        state.by_key.setdefault(key, []).append(entity)
        state.by_id[entity.entity_id] = KnownEntity(entity, (entity.canonical_name, "Pomme"))
    return state


APPLE = NamedEntity(UUID(int=1), "organization", "Apple Inc")


def test_a_name_made_by_one_proposal_is_reused_by_the_next() -> None:
    """One entity a name and kind, one predicate a key, within one request."""
    changes = Changes()
    first, second = resolved(a_relationship("Mark", "works on", "Atlas"), a_relationship("MARK", "Works-On", "Borealis", ref="r2"), changes=changes)

    assert first.statement is not None and second.statement is not None
    assert first.statement.subject_entity_id == second.statement.subject_entity_id
    assert ["Mark", "Atlas", "Borealis"] == [row.display_name for row in changes.entities]
    assert [("works_on", "seed_v1")] == [(row.predicate_key, row.policy) for row in changes.predicates]
    assert ["create", "create", "reuse", "create"] == [row.action for row in changes.resolutions]


def test_names_of_two_kinds_are_two_entities() -> None:
    changes = Changes()
    resolved(a_relationship("Apple", "likes", "Apple", kinds=("person", "organization")), changes=changes)

    assert [("Apple", "person"), ("Apple", "organization")] == [(row.display_name, row.entity_kind) for row in changes.entities]


def test_a_known_alias_keeps_the_canonical_wording_and_grounds_by_every_name() -> None:
    found = resolved(a_relationship("apple", "uses", "Zig", kinds=("organization", "product")), state=a_state(APPLE))[0]

    assert found.subject is not None
    assert ("Apple Inc", ("apple", "Apple Inc", "Pomme")) == (found.subject.wording, found.subject.names)


def test_several_of_one_name_are_refused_and_noted() -> None:
    changes = Changes()
    twin = NamedEntity(UUID(int=2), "organization", "Apple Records")
    found = resolved(a_relationship("Apple", "uses", "Zig", kinds=("organization", "product")), state=a_state(APPLE, twin), changes=changes)[0]

    assert found.statement is None and found.refusal is not None
    assert "identity_needs_review" == found.refusal.reason
    assert [("ambiguous", None)] == [(row.action, row.entity_id) for row in changes.resolutions]


def test_a_known_id_decides_and_an_unknown_one_is_refused() -> None:
    proposal = a_relationship("Apple", "uses", "Zig", kinds=("organization", "product"))
    known = {**proposal, "subject": {"known_entity_id": str(APPLE.entity_id)}}
    missing = {**proposal, "subject": {"known_entity_id": str(UUID(int=99)), "name": "Apple"}}

    good, bad = resolved(known, {**missing, "ref": "r2"}, state=a_state(APPLE))

    assert good.statement is not None and APPLE.entity_id == good.statement.subject_entity_id
    assert bad.refusal is not None and "entity_not_found" == bad.refusal.reason


def test_a_refused_proposal_leaves_no_entity_behind() -> None:
    """Nothing of it is stored but its observation: an end that nothing else names is not made."""
    changes = Changes()
    resolved({**a_relationship("Nobody Else", "uses", "Zig"), "object": {"entity": {"known_entity_id": str(UUID(int=99))}}}, changes=changes)

    assert [] == changes.entities


def test_predicates_refuse_what_they_do_not_allow() -> None:
    state = NameState()
    state.predicates["old"] = Predicate("old", lifecycle_state="deprecated")
    state.predicates["employs"] = Predicate("employs", subject_kinds=("organization",))
    unknown = {**a_relationship("Mark", "x", "Atlas"), "predicate": {"known_predicate_key": "never_seen"}}
    dated = a_relationship("Atlas", "released", "Basel", kinds=("project", "place"), ref="r4")

    found = resolved(
        unknown, a_relationship("Mark", "old", "Atlas", ref="r2"), a_relationship("Mark", "employs", "Atlas", ref="r3"), dated, state=state
    )

    assert ["predicate_not_found", "predicate_needs_review", "predicate_needs_review", "predicate_needs_review"] == [
        item.refusal.reason if item.refusal else None for item in found
    ]


def test_a_seed_is_a_known_predicate() -> None:
    found = resolved({**a_relationship("Mark", "x", "Atlas"), "predicate": {"known_predicate_key": "depends_on"}})[0]

    assert found.statement is not None and "uses" == found.statement.predicate_key


def test_equal_values_are_one_record_with_its_unit() -> None:
    changes = Changes()

    def proposal(ref: str, value: float, unit: str | None, display: str | None = None) -> dict[str, object]:
        stated = {name: part for name, part in (("unit", unit), ("display", display)) if part}
        return {
            **a_relationship("Atlas", "size", "x", ref=ref, kinds=("project", "other")),
            "object": {"value": {"type": "number", "value": value, **stated}},
        }

    found = resolved(
        proposal("1", 1.5, "GB"), proposal("2", 1.50, " GB "), proposal("3", 1.5, None), proposal("4", 1.5, "TB", "1.5 TB"), changes=changes
    )

    assert 3 == len(changes.values)
    assert ["1.5 GB", "1.5 GB", "1.5", "1.5 TB"] == [item.target.wording for item in found if item.target]


def test_a_known_id_is_grounded_by_its_own_names_and_by_one_that_nobody_carries() -> None:
    """A name that another entity carries means that one in a text, whatever the id says."""
    other = NamedEntity(UUID(int=2), "product", "Apple II")
    state = a_state(APPLE)
    state.by_key["apple ii"] = [other]
    state.by_id[other.entity_id] = KnownEntity(other, ("Apple II",))

    def names(name: str | None) -> tuple[str, ...]:
        end = {"known_entity_id": str(APPLE.entity_id), **({} if name is None else {"name": name})}
        made = resolved({**a_relationship("x", "works_on", "Atlas"), "subject": end}, state=state)[0]
        assert made.subject is not None
        return made.subject.names

    assert ("Apple Inc", "Pomme") == names(None) == names("Apple II")
    assert ("Cupertino", "Apple Inc", "Pomme") == names("Cupertino")
    assert ("apple", "Apple Inc", "Pomme") == names("apple")
