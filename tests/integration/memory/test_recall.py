"""Recall: limits that are filled, ids that are known, spaces that are fused, and one answer for one state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.db.session import TeamTransaction
from commonlore.domain.errors import Forbidden, Incorrect
from commonlore.domain.ids import new_id
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Memory, a_relationship, contexts, shown


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    """One database for the module: each test has a team of its own, and teams do not meet."""
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


# --- shape


async def test_a_team_that_holds_nothing_answers_with_empty_lists(memory: Memory) -> None:
    """Every array is there, never null; nothing is degraded (dense-mem 31)."""
    answer = await memory.recall(await memory.key(), "anything")

    assert answer.pop("recall_id").startswith("rec_")
    assert {
        "results": [],
        "conflicts": [],
        "related_relationships": [],
        "related_communities": [],
        "related_hypotheses": [],
        "search_states": {"evidence": "current", "relationships": "current"},
        "degradations": [],
        "suggested_actions": [],
    } == answer


async def test_a_result_shows_nothing_of_its_ranking(memory: Memory) -> None:
    """No score, count, vector or space id; the rank is the place."""
    ann = await memory.key()
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", target_space="private")
    answer = await memory.recall(ann, "Mark Atlas", known_evidence_ids=[], limit=50)

    names = set(answer["results"][0])
    assert [1] == [item["rank"] for item in answer["results"]]
    assert set() == names & {"score", "distance", "support_count", "space_id", "owner_profile_id", "embedding"}
    for row in memory.sql("select space_id::text from commonlore.space where team_id = %s", ann.team_id):
        assert row[0].encode() not in shown(answer)


async def test_no_relationships_wanted_is_stated_as_not_required(memory: Memory) -> None:
    ann = await memory.key()
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    answer = await memory.recall(ann, "Mark", relationship_limit=0)

    assert ([], "not_required", []) == (answer["related_relationships"], answer["search_states"]["relationships"], answer["degradations"])


async def test_a_key_without_read_may_not_recall(memory: Memory) -> None:
    writer = await memory.key(scopes=("write",))

    with pytest.raises(Forbidden):
        await memory.recall(writer, "x")


@pytest.mark.parametrize("fields", [{"query": "\u200b"}, {"query": "x", "valid_at": "now"}])
async def test_a_wrong_request_is_refused_before_the_database(memory: Memory, fields: dict[str, Any]) -> None:
    ann = await memory.key()

    with pytest.raises(Incorrect):
        await memory.recall(ann, **fields)


# --- limits


async def test_a_smaller_limit_is_a_prefix_of_a_larger_one(memory: Memory) -> None:
    """Neither lane changes the other, and neither limit changes the order."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"Zebra {'quagga ' * (number % 7)}in field {number}." for number in range(60)])
    for number in range(12):
        await memory.relate(ann, f"Zoe{number} likes zebra{number}.", f"Zoe{number}", "likes", f"zebra{number}")
    whole = await memory.recall(ann, "zebra quagga likes", limit=50, relationship_limit=20)

    assert 50 == len(whole["results"])
    for limit in (1, 3, 10, 49):
        few = await memory.recall(ann, "zebra quagga likes", limit=limit, relationship_limit=0)
        assert [item["evidence_id"] for item in whole["results"][:limit]] == [item["evidence_id"] for item in few["results"]]


async def test_known_evidence_is_left_out_and_the_lane_is_filled(memory: Memory) -> None:
    """However many are known: as many others as there are, and none of them."""
    ann = await memory.key()
    ids = await memory.remember_all(ann, [f"Zebra number {number} runs." for number in range(230)])
    whole = [item["evidence_id"] for item in (await memory.recall(ann, "zebra number", limit=50))["results"]]

    known = await memory.recall(ann, "zebra number", limit=40, known_evidence_ids=whole[:10])
    many = await memory.recall(ann, "zebra number", limit=30, known_evidence_ids=ids[:200])

    assert (40, set()) == (len(known["results"]), {item["evidence_id"] for item in known["results"]} & set(whole[:10]))
    assert set(ids[200:]) == {item["evidence_id"] for item in many["results"]}


async def test_evidence_of_a_retired_member_is_left_out_and_refilled(memory: Memory) -> None:
    """300 better texts of somebody who left do not empty the lane, nor do they hide the rest."""
    ann, gone = await memory.key(member="ann"), await memory.key(member="gone")
    await memory.remember_all(gone, [f"Zebra zebra zebra {number}." for number in range(300)])
    ours = await memory.remember_all(ann, [f"A long text with one zebra among many other words {number}." for number in range(5)])
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)

    answer = await memory.recall(ann, "zebra", limit=5)

    assert set(ours) == {item["evidence_id"] for item in answer["results"]}
    assert [] == answer["degradations"]


async def test_relationships_of_a_retired_member_are_left_out(memory: Memory) -> None:
    ann, gone = await memory.key(member="ann"), await memory.key(member="gone")
    await memory.relate(gone, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)

    answer = await memory.recall(ann, "Mark works on Atlas")

    assert ([], []) == (answer["results"], answer["related_relationships"])


async def test_covered_groups_are_passed_over_and_the_lane_is_filled(memory: Memory) -> None:
    """60 groups, most of them covered by the results or known: every other one still comes."""
    ann = await memory.key()
    for place in range(0, 60, 20):
        names = [f"Zoe{number:02d}" for number in range(place, place + 20)]
        await memory.remember(
            ann,
            evidence=[{"content": f"{name} likes zebra."} for name in names],
            relationships=[a_relationship(name, "likes", "zebra", ref=name, evidence=(index,)) for index, name in enumerate(names)],
        )
    first = await memory.recall(ann, "zebra likes", limit=30, relationship_limit=20)
    rest = await memory.recall(
        ann,
        "zebra likes",
        limit=30,
        relationship_limit=20,
        known_relationship_ids=[item["relationship_id"] for item in first["related_relationships"]],
    )

    covered = {key for item in first["results"] for key in item["relationship_ids"]}
    second, third = ({item["relationship_id"] for item in answer["related_relationships"]} for answer in (first, rest))
    assert (30, 20, 10) == (len(covered), len(second), len(third))
    assert set() == covered & second == covered & third == second & third


@pytest.mark.parametrize(("limit", "asked"), [(1, [7]), (12, [7, 4])])
async def test_groups_come_with_the_evidence_and_only_the_others_are_asked_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, limit: int, asked: list[int]
) -> None:
    """For four that are wanted the best seven are read ahead; where the results say all of them, four others are read."""
    ann = await memory.key()
    for number in range(16):
        await memory.relate(ann, f"Zoe{number:02d} likes zebra number{number}.", f"Zoe{number:02d}", "likes", "zebra")
    groups: list[int] = []

    def noting(self: TeamTransaction, statement: Any, /, **parameters: Any) -> Any:
        if "groups" in parameters:
            groups.append(len(parameters["groups"]))
        return ask(self, statement, **parameters)

    ask = TeamTransaction.ask
    monkeypatch.setattr(TeamTransaction, "ask", noting)
    answer = await memory.recall(ann, "zebra likes", limit=limit, relationship_limit=4)

    said = {key for item in answer["results"] for key in item["relationship_ids"]}
    shown_ids = [item["relationship_id"] for item in answer["related_relationships"]]
    assert (limit, 4) == (len(said), len(set(shown_ids) - said))
    assert asked == groups


async def test_no_group_is_in_two_lanes(memory: Memory) -> None:
    """What a returned text supports is not repeated, whatever the limit."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    for number in range(8):
        for holder in (ann, ben):
            await memory.relate(holder, f"{holder.profile_id} says Zoe{number} likes zebra.", f"Zoe{number}", "likes", "zebra")

    for limit in range(1, 17):
        answer = await memory.recall(ann, "zebra likes", limit=limit, relationship_limit=20)
        shown_ids = [key for item in answer["related_relationships"] for key in (item["relationship_id"], *item["equivalent_relationship_ids"])]
        covering = [key for item in answer["results"] for key in item["relationship_ids"]]
        assert set() == set(shown_ids) & set(covering)
        assert len(shown_ids) == len(set(shown_ids))


async def test_equal_texts_of_two_authors_take_one_slot(memory: Memory) -> None:
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    first, second = [(await memory.remember(holder, content="The very same zebra."))["evidence"][0]["evidence_id"] for holder in (ann, ben)]

    results = (await memory.recall(ann, "zebra"))["results"]

    assert [(first, [second], False)] == [(item["evidence_id"], item["equivalent_evidence_ids"], item["equivalents_truncated"]) for item in results]


async def test_more_equivalents_than_are_shown_are_stated(memory: Memory) -> None:
    """Twenty, newest first, and the mark that there are more."""
    ann = await memory.key()
    ids = [(await memory.remember(ann, content="The very same zebra.", force_insert=True))["evidence"][0]["evidence_id"] for _ in range(22)]

    result = (await memory.recall(ann, "zebra"))["results"][0]

    assert (ids[0], True) == (result["evidence_id"], result["equivalents_truncated"])
    assert ids[:1:-1] == result["equivalent_evidence_ids"]


# --- known ids


async def test_a_known_relationship_hides_its_whole_group(memory: Memory) -> None:
    """By the representative or by any other author's row."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    await memory.remember_all(ann, ["Unrelated pelican."])
    ids = [
        await memory.relate(holder, f"{name} says Mark works on Atlas.", "Mark", "works_on", "Atlas") for holder, name in ((ann, "Ann"), (ben, "Ben"))
    ]
    query: dict[str, Any] = {"query": "pelican unrelated", "limit": 1}

    assert [ids[0]] == [item["relationship_id"] for item in (await memory.recall(ann, **query))["related_relationships"]]
    for known in ids:
        assert [] == (await memory.recall(ann, **query, known_relationship_ids=[known]))["related_relationships"]


async def test_known_evidence_covers_its_groups(memory: Memory) -> None:
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican."])
    answer = await memory.remember(ann, content="Mark works on Atlas.", relationships=[a_relationship("Mark", "works_on", "Atlas")])

    known = await memory.recall(ann, "Mark Atlas pelican", known_evidence_ids=[answer["evidence"][0]["evidence_id"]])

    assert (["Unrelated pelican."], []) == (contexts(known), known["related_relationships"])


async def test_foreign_ids_are_ignored_as_unknown_ones_are(memory: Memory) -> None:
    """Another team's, a colleague's private and random ids give the same bytes."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    eve = await memory.key(team="eve")
    for number in range(3):
        await memory.relate(ann, f"Mark{number} works on Atlas.", f"Mark{number}", "works_on", "Atlas")
    foreign: list[tuple[str, str, str]] = []
    for holder, space in ((eve, "team_shared"), (ben, "private")):
        made = await memory.remember(
            holder, content="Mark0 works on Atlas.", target_space=space, relationships=[a_relationship("Mark0", "works_on", "Atlas")]
        )
        result = made["relationship_results"][0]
        foreign.append((made["evidence"][0]["evidence_id"], result["splits"][0]["relationship_id"], result["subject_entity_id"]))

    for names in (("known_evidence_ids", 0), ("known_relationship_ids", 1), ("expand_from_entity_ids", 2)):
        field, place = names
        plain = shown(await memory.recall(ann, "Mark Atlas", limit=1, **{field: [str(new_id())]}))
        for row in foreign:
            assert plain == shown(await memory.recall(ann, "Mark Atlas", limit=1, **{field: [row[place]]}))


async def test_expansion_is_a_filter_of_one_edge(memory: Memory) -> None:
    """Only relationships that touch the entity, incoming or outgoing; nothing is walked on, evidence stays as it was."""
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican."])
    made = [
        await memory.remember(ann, content=f"{one} likes {two}.", relationships=[a_relationship(one, "likes", two, kinds=("person", "person"))])
        for one, two in (("Ada", "Bob"), ("Bob", "Cyd"), ("Cyd", "Dan"), ("Dan", "Ada"))
    ]
    ids = [answer["relationship_results"][0]["splits"][0]["relationship_id"] for answer in made]
    ada = made[0]["relationship_results"][0]["subject_entity_id"]

    free = await memory.recall(ann, "pelican likes", limit=1)
    near = await memory.recall(ann, "pelican likes", limit=1, expand_from_entity_ids=[ada])

    assert {ids[0], ids[3]} == {item["relationship_id"] for item in near["related_relationships"]}
    assert free["results"] == near["results"]


# --- grouping


async def test_the_earliest_author_speaks_for_the_group(memory: Memory) -> None:
    """Representative by creation, the others by id, evidence united."""
    holders = [await memory.key(member=f"m{number}") for number in range(4)]
    await memory.remember_all(holders[0], ["Unrelated pelican."])
    made = [
        await memory.remember(holder, content=f"Voice {number}: Mark works on Atlas.", relationships=[a_relationship("Mark", "works_on", "Atlas")])
        for number, holder in enumerate(holders)
    ]
    ids = [answer["relationship_results"][0]["splits"][0]["relationship_id"] for answer in made]

    (item,) = (await memory.recall(holders[3], "pelican unrelated", limit=1))["related_relationships"]

    assert (ids[0], sorted(ids[1:])) == (item["relationship_id"], item["equivalent_relationship_ids"])
    assert sorted(answer["evidence"][0]["evidence_id"] for answer in made) == item["evidence_ids"]


async def test_pending_statements_are_never_shown(memory: Memory) -> None:
    ann = await memory.key()
    await memory.relate(ann, "Mark went home.", "Mark", "works_on", "Atlas")
    answer = await memory.recall(ann, "Mark works on Atlas", limit=1)

    assert [] == answer["related_relationships"]
    assert [[]] == [item["relationship_ids"] for item in answer["results"]]


async def test_a_value_is_shown_with_its_type_and_unit(memory: Memory) -> None:
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican."])
    proposal = {
        **a_relationship("Atlas", "size", "x", kinds=("project", "other")),
        "object": {"value": {"type": "number", "value": 1.50, "unit": "GB"}},
    }
    await memory.remember(ann, content="Atlas size is 1.5 GB.", relationships=[proposal])

    (item,) = (await memory.recall(ann, "pelican unrelated", limit=1))["related_relationships"]

    assert ("number", "1.5", "1.5", "GB") == tuple(item["object"][name] for name in ("type", "value", "display", "unit"))


# --- spaces


async def test_private_goes_first_on_ties_and_says_its_kind(memory: Memory) -> None:
    """The spaces take turns; each result says where it is from, and only by kind."""
    ann = await memory.key()
    for space in ("team_shared", "private"):
        await memory.remember_all(ann, [f"Zebra {'runs ' * number}{space}." for number in range(3)], target_space=space)
        await memory.relate(ann, f"Mark likes {space}.", "Mark", "likes", space, target_space=space)
    answer = await memory.recall(ann, "zebra", limit=6)

    assert ["private", "team_shared"] * 3 == [item["space_kind"] for item in answer["results"]]
    assert ["private", "team_shared"] == [item["space_kind"] for item in answer["related_relationships"]]


async def test_entities_of_two_spaces_are_never_joined(memory: Memory) -> None:
    """The same statement in both spaces: two groups, two slots, two sets of ids."""
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican."])
    for space in ("team_shared", "private"):
        await memory.relate(ann, f"In {space} Mark works on Atlas.", "Mark", "works_on", "Atlas", target_space=space)
    items = (await memory.recall(ann, "pelican", limit=1))["related_relationships"] + (await memory.recall(ann, "unrelated pelican", limit=2))[
        "results"
    ]

    kinds = {item["space_kind"]: item for item in items if "subject" in item}
    assert {"private", "team_shared"} >= set(kinds)
    subjects = {item["subject"]["entity_id"] for item in kinds.values()}
    assert len(kinds) == len(subjects)


async def test_what_was_asked_ahead_for_other_spaces_is_not_looked_at(memory: Memory) -> None:
    """The statistics go out with the check of the key, for the spaces of last time: first a private space comes, then the shared one changes its epoch."""
    ann = await memory.key()
    await memory.remember(ann, content="The pelican is shared.")
    first = await memory.recall(ann, "pelican")
    await memory.remember(ann, content="The pelican is private.", target_space="private")
    second = await memory.recall(ann, "pelican")
    memory.sql("update commonlore.space set lifecycle_state = 'retired' where space_kind = 'credential_private' and team_id = %s", ann.team_id)
    third = await memory.recall(ann, "pelican")

    assert [1, 2, 1] == [len(answer["results"]) for answer in (first, second, third)]
    assert [[], [], []] == [answer["degradations"] for answer in (first, second, third)]


async def test_a_shared_only_key_reads_the_shared_space_alone(memory: Memory) -> None:
    ann, bot = await memory.key(member="ann"), await memory.key(member="ann", binding="shared_only")
    await memory.remember_all(ann, ["Zebra secret."], target_space="private")
    await memory.remember_all(ann, ["Zebra common."])

    answer = await memory.recall(bot, "zebra")

    assert [("Zebra common.", "team_shared")] == [(item["context"], item["space_kind"]) for item in answer["results"]]


async def test_nothing_leaks_across_teams_or_private_spaces(memory: Memory) -> None:
    """In no lane, equivalent, trace or answer of remember: every id and word of another's is absent."""
    ann, ben, eve = await memory.key(member="ann"), await memory.key(member="ben"), await memory.key(team="eve")
    secret: list[str] = []
    for holder, space in ((ben, "private"), (eve, "team_shared"), (eve, "private")):
        made = await memory.remember(
            holder, content="Quokka runs Bastion.", target_space=space, relationships=[a_relationship("Quokka", "runs", "Bastion")]
        )
        result = made["relationship_results"][0]
        secret += [
            made["evidence"][0]["evidence_id"],
            result["splits"][0]["relationship_id"],
            result["subject_entity_id"],
            result["object_entity_id"],
        ]
    own = await memory.remember(ann, content="Quokka runs Bastion.", relationships=[a_relationship("Quokka", "runs", "Bastion")])
    traced = await memory.trace(ann, own["relationship_results"][0]["splits"][0]["relationship_id"])

    recalled = await memory.recall(ann, "Quokka runs Bastion", limit=50, relationship_limit=20)
    texts = b"".join(msgspec.json.encode(part) for part in (recalled, traced, own))
    assert [] == [key for key in secret if key.encode() in texts]
    assert ([], 1, []) == (recalled["results"][0]["equivalent_evidence_ids"], len(recalled["results"]), traced["cross_profile_references"])


async def test_foreign_ids_in_a_proposal_are_no_oracle(memory: Memory) -> None:
    """A colleague's private evidence and entity are as unknown as ids that nobody has."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    made = await memory.remember(
        ben, content="Quokka runs Bastion.", target_space="private", relationships=[a_relationship("Quokka", "runs", "Bastion")]
    )
    evidence_id, entity_id = made["evidence"][0]["evidence_id"], made["relationship_results"][0]["subject_entity_id"]

    async def propose(evidence: str, entity: str, text: str) -> list[dict[str, Any]]:
        cited = a_relationship("Quokka", "runs", "Bastion", evidence=(), known_evidence_ids=[evidence])
        named = {**a_relationship("Quokka", "runs", "Bastion", ref="r2"), "subject": {"known_entity_id": entity}}
        answer = await memory.remember(ann, content=text, relationships=[cited, named])
        return [
            {name: part for name, part in item.items() if name in ("disposition", "reason", "message", "remediation")}
            for item in answer["relationship_results"]
        ]

    foreign, random = await propose(evidence_id, entity_id, "one text"), await propose(str(new_id()), str(new_id()), "two text")

    assert foreign == random
    assert ["stored", "not_stored"] == [item["disposition"] for item in foreign]


# --- eligibility


async def test_withheld_leaves_only_what_a_claim_supports(memory: Memory) -> None:
    """The strict line of the page, and the lane filled behind what is left out."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"Mark zebra {number}." for number in range(30)])
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    memory.sql("update commonlore.team set unclaimed_evidence = 'withheld' where team_id = %s", ann.team_id)

    assert ["Mark works on Atlas."] == contexts(await memory.recall(ann, "Mark zebra", limit=3))


async def test_a_text_that_lost_its_only_claim_is_not_shown_and_comes_back(memory: Memory) -> None:
    """Replaced: unsupported. Stated anew: eligible again."""
    ann = await memory.key()
    kinds = ("project", "product")
    await memory.relate(ann, "Atlas primary database is MySQL.", "Atlas", "primary_database", "MySQL", kinds=kinds)
    await memory.relate(ann, "Atlas primary database is Zig.", "Atlas", "primary_database", "Zig", kinds=kinds)
    after = contexts(await memory.recall(ann, "Atlas primary database"))
    await memory.relate(ann, "Atlas primary database is MySQL again.", "Atlas", "primary_database", "MySQL", kinds=kinds)
    back = contexts(await memory.recall(ann, "Atlas primary database"))

    assert ["Atlas primary database is Zig."] == after
    assert {"Atlas primary database is MySQL.", "Atlas primary database is MySQL again."} == set(back)


async def test_what_was_replaced_within_one_request_is_no_equivalent_either(memory: Memory) -> None:
    """The text whose only claim gave way at once is as ineligible as one that did so later."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    kinds = ("project", "product")
    texts = [{"content": "Atlas primary database is MySQL."}, {"content": "Atlas primary database is Zig."}]
    proposals = [
        a_relationship("Atlas", "primary_database", name, ref=name, evidence=(place,), kinds=kinds) for place, name in enumerate(("MySQL", "Zig"))
    ]
    gone = (await memory.remember(ann, evidence=texts, relationships=proposals))["evidence"][0]["evidence_id"]
    await memory.remember_all(ben, ["Atlas primary database is MySQL."])

    results = (await memory.recall(ann, "Atlas primary database MySQL", limit=5))["results"]

    assert {"Atlas primary database is MySQL.", "Atlas primary database is Zig."} == {item["context"] for item in results}
    assert [] == [key for item in results for key in (item["evidence_id"], *item["equivalent_evidence_ids"]) if key == gone]


async def test_a_new_claim_brings_a_text_back(memory: Memory) -> None:
    """Its first claim was replaced; another statement that cites it makes it eligible again."""
    ann = await memory.key()
    kinds = ("project", "product")
    made = await memory.remember(
        ann, content="Atlas primary database is MySQL.", relationships=[a_relationship("Atlas", "primary_database", "MySQL", kinds=kinds)]
    )
    await memory.relate(ann, "Atlas primary database is Zig.", "Atlas", "primary_database", "Zig", kinds=kinds)
    cited = a_relationship("Atlas", "mentions", "MySQL", kinds=kinds, evidence=(), known_evidence_ids=[made["evidence"][0]["evidence_id"]])
    await memory.remember(ann, content="Unrelated pelican.", relationships=[cited])

    assert "Atlas primary database is MySQL." in contexts(await memory.recall(ann, "Atlas primary database"))


# --- time


async def test_known_at_shows_what_was_known_then(memory: Memory) -> None:
    """Evidence by its known time; a relationship by the status it had, also after it was replaced."""
    ann = await memory.key()
    kinds = ("project", "product")
    await memory.remember_all(ann, ["Unrelated pelican."])
    before = memory.clock.advance(hours=1)
    await memory.relate(ann, "Atlas primary database is MySQL.", "Atlas", "primary_database", "MySQL", kinds=kinds)
    between = memory.clock.advance(hours=1)
    await memory.relate(ann, "Atlas primary database is Zig.", "Atlas", "primary_database", "Zig", kinds=kinds)

    async def at(moment: Any) -> tuple[list[str], list[str]]:
        answer = await memory.recall(ann, "Atlas primary database", limit=50, **({} if moment is None else {"known_at": moment.isoformat()}))
        near = await memory.recall(ann, "pelican unrelated", limit=1, **({} if moment is None else {"known_at": moment.isoformat()}))
        return sorted(contexts(answer)), [item["object"]["name"] for item in near["related_relationships"]]

    assert (["Unrelated pelican."], []) == await at(before)
    assert (["Atlas primary database is MySQL.", "Unrelated pelican."], ["MySQL"]) == await at(between)
    assert (["Atlas primary database is Zig.", "Unrelated pelican."], ["Zig"]) == await at(None)


@pytest.mark.parametrize(
    ("moment", "is_shown"),
    [
        ("2026-06-30T23:59:59.999999Z", False),
        ("2026-07-01T00:00:00Z", True),
        ("2026-07-31T23:59:59.999999Z", True),
        ("2026-08-01T00:00:00Z", False),
    ],
)
async def test_validity_is_half_open(memory: Memory, moment: str, is_shown: bool) -> None:
    """[2026-07-01, 2026-08-01): the start counts, the end does not (dense-mem 30)."""
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican."])
    bounds = {"valid_from": "2026-07-01T00:00:00Z", "valid_to": "2026-08-01T00:00:00Z"}
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", **bounds)

    near = await memory.recall(ann, "pelican unrelated", limit=1, valid_at=moment)

    assert is_shown == bool(near["related_relationships"])


async def test_an_end_that_was_learned_later_does_not_show_earlier(memory: Memory) -> None:
    """As known before the correction the statement had no end, so it held in the year that a later word took from it."""
    ann = await memory.key()
    claim = a_relationship("Ada", "works_on", "Atlas", kinds=("person", "project"))
    await memory.remember(ann, content="Nothing but ada and atlas.")
    await memory.remember(ann, content="Ada works on Atlas.", relationships=[{**claim, "valid_from": "2020-01-01T00:00:00Z"}])
    before = memory.clock().isoformat()
    until = {**claim, "valid_from": "2020-01-01T00:00:00Z", "valid_to": "2021-01-01T00:00:00Z"}
    await memory.remember(ann, content="Ada works on Atlas until 2021.", relationships=[until])
    after = memory.clock().isoformat()

    async def ends(**view: str) -> list[str | None]:
        answer = await memory.recall(ann, "nothing but ada and atlas", limit=1, **view)
        return [item.get("valid_to") for item in answer["related_relationships"]]

    assert [[], [None], []] == [await ends(valid_at="2022-01-01T00:00:00Z", **view) for view in ({}, {"known_at": before}, {"known_at": after})]
    assert [None] == await ends(known_at=before)
    assert ["2021-01-01T00:00:00Z"] == await ends(known_at=after) == await ends()


async def test_a_text_whose_claim_does_not_hold_then_is_not_shown(memory: Memory) -> None:
    """valid_at before anything was written down: the claim of the text decides, not when it was told."""
    ann = await memory.key()
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", valid_from="2020-01-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")

    assert ["Mark works on Atlas."] == contexts(await memory.recall(ann, "Mark Atlas", valid_at="2020-06-01T00:00:00Z"))
    assert [] == contexts(await memory.recall(ann, "Mark Atlas", valid_at="2019-06-01T00:00:00Z"))
    assert [] == contexts(await memory.recall(ann, "Mark Atlas", valid_at="2026-12-01T00:00:00Z"))


async def test_lanes_are_disjoint_at_an_earlier_time_too(memory: Memory) -> None:
    """A text that is returned covers its statement, also where the time asked for lies before it was told."""
    ann = await memory.key()
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", valid_from="2020-01-01T00:00:00Z")
    answer = await memory.recall(ann, "Mark Atlas", valid_at="2020-06-01T00:00:00Z")

    assert (["Mark works on Atlas."], []) == (contexts(answer), answer["related_relationships"])
    assert 1 == len(answer["results"][0]["relationship_ids"])


# --- determinism


async def test_one_state_gives_one_answer(memory: Memory) -> None:
    """To the byte, whatever the plan, and after the tables were written anew."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"Zebra {'runs ' * (number % 5)}over field {number % 11}." for number in range(120)])
    for number in range(30):
        space = "private" if number % 3 else "team_shared"
        await memory.relate(ann, f"Zoe{number} likes zebra.", f"Zoe{number}", "likes", "zebra", target_space=space)
    queries: list[dict[str, Any]] = [
        {"query": "zebra runs field", "limit": 50, "relationship_limit": 20},
        {"query": "likes", "limit": 3, "relationship_limit": 20},
        {"query": "zebra", "known_at": (memory.clock.now - timedelta(seconds=40)).isoformat(), "limit": 20},
    ]
    first = [shown(await memory.recall(ann, **query)) for query in queries]

    assert first == [shown(await memory.recall(ann, **query)) for query in queries]
    for options in (
        "enable_seqscan=off",
        "enable_indexscan=off",
        "enable_hashagg=off",
        "enable_hashjoin=off",
        "enable_mergejoin=off",
        "enable_nestloop=off",
    ):
        async with memory.under(f"-c {options} -c enable_bitmapscan=off") as other:
            assert first == [shown(await other.recall(ann, **query)) for query in queries], options
    for table in (
        "evidence_posting",
        "evidence_vector_1",
        "relationship",
        "relationship_vector_1",
        "evidence",
        "relationship_support",
        "evidence_part",
    ):
        memory.sql(f"vacuum full commonlore.{table}")
    memory.sql("analyze")
    assert first == [shown(await memory.recall(ann, **query)) for query in queries]


async def test_the_recall_id_is_of_the_call(memory: Memory) -> None:
    ann = await memory.key()
    ids = {(await memory.recall(ann, "x"))["recall_id"] for _ in range(3)}

    assert 3 == len({UUID(key.removeprefix("rec_")) for key in ids})
