"""What may be said of a hypothesis, how it is worded, and what a space may change of the rules."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.domain.errors import Conflict, Incorrect
from commonlore.domain.hypothesis.feedback import Standing, becomes, confirmation
from commonlore.domain.hypothesis.listing import decode_cursor, encode_cursor
from commonlore.domain.hypothesis.request import Decision, HypothesisStatus, ResolveDreamRequest, UpdateHypothesesRequest
from commonlore.domain.hypothesis.rules import Rule, composition, inverse, shared_neighbour, transitive
from commonlore.domain.hypothesis.wording import Grounds, Said, rationale
from commonlore.domain.tenancy.actor import Space

DECISIONS: tuple[Decision, ...] = ("reinforce", "stale", "reject", "confirm_true", "confirm_false")
PRIVATE, SHARED = Space(UUID(int=8), "credential_private"), Space(UUID(int=9), "team_shared")
AFTER = dict(zip(DECISIONS, ("reinforced", "stale", "rejected", "submitted", "submitted"), strict=True))


def standing(status: HypothesisStatus = "proposed") -> Standing:
    return Standing(UUID(int=1), UUID(int=2), "uses", UUID(int=3), "2026", status, 4)


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("status", ["proposed", "reinforced", "stale", "rejected", "submitted"])
def test_states_follow_each_other_as_they_may(status: HypothesisStatus, decision: Decision) -> None:
    """What stands becomes what is decided; what is over stays so, and says so unless it was decided that way."""
    after = AFTER[decision]
    if status == after:
        assert becomes(standing(status), decision) is None
    elif status in ("proposed", "reinforced"):
        assert after == becomes(standing(status), decision)
    else:
        with pytest.raises(Conflict) as refused:
            becomes(standing(status), decision)
        assert ("stale_input", {"status": status, "version": 4}) == (refused.value.code, refused.value.details)


def resolving(**fields: Any) -> ResolveDreamRequest:
    return msgspec.convert({"hypothesis_id": str(UUID(int=1)), **fields}, ResolveDreamRequest)


@pytest.mark.parametrize(("decision", "polarity"), [("confirm_true", "+"), ("confirm_false", "-")])
def test_a_confirmation_reads_the_hypothesis_in_every_text(decision: str, polarity: str) -> None:
    request = resolving(decision=decision, evidence=[{"content": "a"}, {"content": "b"}], idempotency_key="k")
    made = confirmation(standing(), request, PRIVATE)
    [said] = made.relationships

    assert ("private", "k", request.evidence) == (made.target_space, made.idempotency_key, made.evidence)
    assert (UUID(int=2), "uses", polarity, [0, 1], "2026") == (
        said.subject.known_entity_id, said.predicate.known_predicate_key, said.polarity, said.evidence_indices, said.scope,
    )  # fmt: skip
    assert said.object.entity is not None and UUID(int=3) == said.object.entity.known_entity_id


def test_relationships_of_the_caller_take_the_place_of_ours() -> None:
    own = {
        "ref": "mine",
        "subject": {"name": "Ada"},
        "predicate": {"proposed_key": "uses"},
        "object": {"entity": {"name": "Go"}},
        "evidence_indices": [0],
    }
    made = confirmation(standing(), resolving(decision="confirm_true", evidence=[{"content": "a"}], relationships=[own]), SHARED)

    assert ["mine"] == [item.ref for item in made.relationships]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"decision": "confirm_true"}, "/evidence"),
        ({"decision": "reject", "evidence": [{"content": "a"}]}, "/evidence"),
        ({"decision": "stale", "reason": " "}, "/reason"),
        ({"decision": "reject", "idempotency_key": " "}, "/idempotency_key"),
    ],
)
def test_a_wrong_decision_names_its_field(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as refused:
        resolving(**fields).validate()
    assert [pointer] == [problem.pointer for problem in refused.value.problems]


def updating(**fields: Any) -> dict[Rule, bool]:
    return msgspec.convert(fields, UpdateHypothesesRequest).rules()


def test_rules_are_named_by_what_their_kind_needs() -> None:
    """Wordings become keys, as in the registry."""
    given = [
        {"kind": "transitive", "first": "Reports to"},
        {"kind": "composition", "first": "a", "second": "b", "conclusion": "c"},
        {"kind": "shared_neighbour", "first": "a", "conclusion": "c"},
    ]
    assert {transitive("reports_to"): True, composition("a", "b", "c"): True, shared_neighbour("a", "c"): True, inverse("a", "b"): False} == updating(
        add_rules=given, remove_rules=[{"kind": "inverse", "first": "a", "second": "b"}]
    )


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, ""),
        ({"add_rules": [{"kind": "transitive", "first": "a", "second": "b"}]}, "/add_rules/0/second"),
        ({"add_rules": [{"kind": "composition", "first": "a", "second": "b"}]}, "/add_rules/0/conclusion"),
        ({"add_rules": [{"kind": "inverse", "first": "a"}]}, "/add_rules/0/second"),
        ({"remove_rules": [{"kind": "transitive", "first": "7"}]}, "/remove_rules/0/first"),
        ({"add_rules": [{"kind": "transitive", "first": "a"}], "remove_rules": [{"kind": "transitive", "first": "A"}]}, "/remove_rules/0"),
    ],
)
def test_a_wrong_rule_names_its_field(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as refused:
        updating(**fields)
    assert [pointer] == [problem.pointer for problem in refused.value.problems]


def test_a_rationale_says_the_premises_the_rule_and_the_numbers() -> None:
    premises = (Said("Ada", "works_on", "Atlas", "2026"), Said("Atlas", "uses", "Go", "2026"))
    told = rationale(Grounds("composition", "works_on", "uses", "uses", 480, 600, 800, 7, 3), premises)

    assert told == (
        'Ada works on Atlas (2026). Atlas uses Go (2026). "works on" something that "uses" something is taken as "uses". '
        "Likelihood 0.480 = 0.600 for the rule x 0.800 for the weaker premise; the rule reached 7 pairs here that could be looked at, 3 of which are stated."
    )
    untried = rationale(Grounds("transitive", "part_of", "part_of", "part_of", 420, 700, 600, 0, 0), premises)
    assert untried.endswith("the rule has not been tried here.") and '"part of" reaches through' in untried
    assert "taken to be" in rationale(Grounds("shared_neighbour", "works_on", "works_on", "works_with", 240, 400, 600, 0, 0), premises)


def test_a_cursor_is_of_one_list_of_one_team() -> None:
    team, key = UUID(int=7), UUID(int=8)
    cursor = encode_cursor(team, "proposed", key)

    assert key == decode_cursor(cursor, team, "proposed")
    for text, owner, status in ((cursor, UUID(int=9), "proposed"), (cursor, team, None), (cursor[:-2], team, "proposed"), ("é", team, None)):
        with pytest.raises(Incorrect):
            decode_cursor(text, owner, status)
