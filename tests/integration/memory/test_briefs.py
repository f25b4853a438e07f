"""Briefs: who sees and holds them, what a verdict applies, and what it never does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from commonlore.domain.errors import CommonloreError, Conflict, Forbidden, Incorrect, NotVisible
from tests.support.briefs import PENDING_TEXT, SAYING_TEXT, ask, claim, decide, footprint, pending, status_of, store, verification
from tests.support.communities import detect, enable
from tests.support.conflicts import contest
from tests.support.hypotheses import dream, dreaming, dreams
from tests.support.identity import an_admin, entity_id
from tests.support.memory import Holder, Memory


async def supposing(memory: Memory) -> tuple[Holder, str]:
    """A member of a team that has one hypothesis, and its id."""
    ann = await memory.key(member="Ann")
    await memory.relate(ann, "Ada works on Atlas.", "Ada", "works_on", "Atlas")
    await memory.relate(ann, "Atlas uses PostgreSQL.", "Atlas", "uses", "PostgreSQL", kinds=("project", "product"))
    await dreaming(memory, ann)
    assert "completed" == await dream(memory, ann)
    [found] = await dreams(memory, ann)
    return ann, found["hypothesis_id"]


async def refused(call: Any) -> str:
    """The code of the failure that a call ends with."""
    with pytest.raises(CommonloreError) as caught:
        await call
    return caught.value.code


# --- what is listed, and to whom


async def test_a_pending_relationship_is_a_brief_until_it_is_decided(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    brief = verification(await pending(memory, ann))

    before = (await ask(memory, ann, "list_briefs"))["briefs"]
    held = await claim(memory, ann, brief)
    during = (await ask(memory, ann, "list_briefs"))["briefs"]
    await decide(memory, ann, brief, held, "insufficient")
    after = (await ask(memory, ann, "list_briefs"))["briefs"]

    assert [(brief, "open", "Ada lives in Lisbon", None)] == [
        (item["brief_id"], item["state"], item["title"], item["claimed_until"]) for item in before
    ]
    assert ([(brief, "claimed")], []) == ([(item["brief_id"], item["state"]) for item in during], after)


async def test_a_list_shows_what_the_key_may_decide(memory: Memory) -> None:
    """Conflicts are an administrator's; a key that may only read decides nothing."""
    contested = await contest(memory)
    reader = await memory.key(scopes=("read",))

    kinds = [[item["kind"] for item in (await ask(memory, holder, "list_briefs"))["briefs"]] for holder in (contested.ann, contested.ada, reader)]

    assert [[], ["assess_conflict"], []] == kinds


async def test_pages_show_each_brief_once(memory: Memory) -> None:
    ann = await an_admin(memory)
    ids = {verification(await pending(memory, ann, f"She went to town {number}.", target=f"Town {number}")) for number in range(5)}
    await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    await memory.relate(ann, "Mark works on DenseMem.", "Mark", "works_on", "DenseMem")
    seen, cursor = [], None
    while True:
        answer = await ask(memory, ann, "list_briefs", limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [item["brief_id"] for item in answer["briefs"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break

    assert (6, 6, True) == (len(seen), len(set(seen)), ids < set(seen))


async def test_a_brief_of_another_team_is_as_absent_as_none(memory: Memory) -> None:
    ann, eve = await memory.key(member="Ann"), await memory.key(team="other")
    brief = verification(await pending(memory, ann))
    held = await claim(memory, ann, brief)
    missing = verification("01982f00-0000-7000-8000-000000000001")

    found = []
    for name in (brief, missing, "verify_relationship:nothing", brief.replace(":1", ":2")):
        calls = (ask(memory, eve, "describe_brief", brief_id=name), ask(memory, eve, "claim_brief", brief_id=name))
        found += [await refused(call) for call in calls]
    found += [await refused(decide(memory, eve, name, held, "insufficient")) for name in (brief, missing)]
    found += [await refused(ask(memory, eve, "release_brief", brief_id=name, claim_id=held, reason="x")) for name in (brief, missing)]

    assert {"not_found"} == set(found)
    assert [] == (await ask(memory, eve, "list_briefs"))["briefs"]


async def test_a_private_brief_is_its_keys_own(memory: Memory) -> None:
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    brief = verification(await pending(memory, ann, target_space="private"))

    assert [brief] == [item["brief_id"] for item in (await ask(memory, ann, "list_briefs", target_space="private"))["briefs"]]
    for space in ("private", "team_shared"):
        assert [] == (await ask(memory, ben, "list_briefs", target_space=space))["briefs"]
        assert "not_found" == await refused(ask(memory, ben, "claim_brief", brief_id=brief, target_space=space))


# --- claims


async def test_of_many_who_claim_at_once_one_gets_the_brief(memory: Memory) -> None:
    """Also with one key in many hands."""
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    brief = verification(await pending(memory, ann))

    calls = [ask(memory, holder, "claim_brief", brief_id=brief) for holder in (ann, ben) * 4]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    codes = [item.code for item in outcomes if isinstance(item, CommonloreError)]
    assert (1, ["brief_claimed"] * 7) == (sum(isinstance(item, dict) for item in outcomes), codes)
    assert [("claimed",)] == memory.sql("select action from commonlore.delegated_brief_event")


async def test_a_claim_runs_out_and_passes_on(memory: Memory) -> None:
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    brief = verification(await pending(memory, ann))
    first = await claim(memory, ann, brief, lease_seconds=60)

    early = await refused(ask(memory, ben, "claim_brief", brief_id=brief))
    memory.clock.advance(seconds=61)
    late = await refused(decide(memory, ann, brief, first, "insufficient"))
    second = await claim(memory, ben, brief)
    foreign = await refused(decide(memory, ann, brief, first, "insufficient"))
    await decide(memory, ben, brief, second, "insufficient")

    assert ("brief_claimed", "stale_input", "not_found") == (early, late, foreign)
    events = memory.sql(
        "select e.action, p.name from commonlore.delegated_brief_event e join commonlore.profile p using (profile_id) order by e.ordinal"
    )
    assert [("claimed", "Ann"), ("expired", "Ann"), ("claimed", "Ben"), ("decided", "Ben")] == events


async def test_a_claim_can_be_extended_and_given_back_by_its_holder_alone(memory: Memory) -> None:
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    brief = verification(await pending(memory, ann))
    held = await claim(memory, ann, brief, lease_seconds=60)

    memory.clock.advance(seconds=50)
    assert held == await claim(memory, ann, brief, lease_seconds=60, claim_id=held)
    memory.clock.advance(seconds=50)
    assert "not_found" == await refused(ask(memory, ben, "release_brief", brief_id=brief, claim_id=held, reason="x"))
    assert "open" == (await ask(memory, ann, "release_brief", brief_id=brief, claim_id=held, reason="no time"))["state"]
    assert "stale_input" == await refused(decide(memory, ann, brief, held, "insufficient"))
    assert held != await claim(memory, ben, brief)


# --- verdicts on pending relationships


async def test_an_entailed_verdict_activates_the_deciders_own_relationship(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    relationship_id = await pending(memory, ann)
    text = await store(memory, ann, SAYING_TEXT)
    brief = verification(relationship_id)
    shown = await ask(memory, ann, "claim_brief", brief_id=brief)

    answer = await decide(memory, ann, brief, shown["claim_id"], "entailed", quotes=[{"evidence_id": text, "quote": "Ada lives in Lisbon"}])

    assert {PENDING_TEXT, SAYING_TEXT} == {item["content"] for item in shown["brief"]["texts"]}
    assert ("remember", relationship_id, "active") == tuple(answer["applied"][name] for name in ("operation", "relationship_id", "status"))
    assert ("active", 2) == status_of(memory, relationship_id)
    trace = await memory.trace(ann, relationship_id)
    assert ["Ada lives in Lisbon"] == [item["quote"] for item in trace["evidence_supports"]]
    assert [relationship_id] == [
        item["relationship_id"] for item in (await memory.recall(ann, "Where does Ada live?"))["related_relationships"]
    ] or any(relationship_id in item["relationship_ids"] for item in (await memory.recall(ann, "Where does Ada live?"))["results"])


async def test_another_members_statement_becomes_the_deciders_own_and_stays_the_authors(memory: Memory) -> None:
    """As if the decider had remembered it: nobody else's relationship changes."""
    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    relationship_id = await pending(memory, ann)
    text = await store(memory, ben, SAYING_TEXT)
    brief = verification(relationship_id)

    answer = await decide(memory, ben, brief, await claim(memory, ben, brief), "entailed", quotes=[{"evidence_id": text, "quote": SAYING_TEXT}])

    made = answer["applied"]["relationship_id"]
    [(owner,)] = memory.sql("select owner_profile_id from commonlore.relationship where relationship_id = %s", made)
    groups = memory.sql("select count(distinct semantic_group_key) from commonlore.relationship")
    assert (("pending_evidence", 1), ("active", 1), ben.profile_id, [(1,)]) == (
        status_of(memory, relationship_id),
        status_of(memory, made),
        owner,
        groups,
    )


@pytest.mark.parametrize(
    ("quote", "field"),
    [
        ({"quote": "Ada lives in Porto"}, "/quotes/0/quote"),
        ({"quote": "ada lives in Lisbon"}, "/quotes/0/quote"),
        ({"quote": "Ada lives in Lisbon", "start": 1}, "/quotes/0/quote"),
        ({"quote": "since spring"}, "/quotes"),
        ({"quote": "Ada lives in Lisbon", "evidence_id": "01982f00-0000-7000-8000-000000000001"}, "/quotes/0/evidence_id"),
    ],
)
async def test_a_verdict_that_its_quotes_do_not_carry_is_refused_and_changes_nothing(memory: Memory, quote: dict[str, Any], field: str) -> None:
    ann = await memory.key(member="Ann")
    brief = verification(await pending(memory, ann))
    text = await store(memory, ann, SAYING_TEXT)
    held = await claim(memory, ann, brief)
    before = footprint(memory)

    with pytest.raises(Incorrect) as caught:
        await decide(memory, ann, brief, held, "entailed", quotes=[{"evidence_id": text, **quote}])

    assert (field, before) == (caught.value.problems[0].pointer, footprint(memory))
    assert "entailed" == (await decide(memory, ann, brief, held, "entailed", quotes=[{"evidence_id": text, "quote": SAYING_TEXT}]))["decision"]


async def test_a_withdrawn_held_or_foreign_text_is_quoted_by_nobody(memory: Memory) -> None:
    ann, admin, eve = await memory.key(member="Ann"), await an_admin(memory), await memory.key(team="other")
    brief = verification(await pending(memory, ann))
    gone, away = await store(memory, ann, SAYING_TEXT), await store(memory, ann, "Ada, they say, lives in Lisbon.")
    foreign = await store(memory, eve, SAYING_TEXT)
    private = await store(memory, ann, SAYING_TEXT, target_space="private")
    await memory.retract(ann, gone)
    await memory.quarantine(admin, away)
    held = await claim(memory, ann, brief)

    places = []
    for key in (gone, away, foreign, private):
        with pytest.raises(Incorrect) as caught:
            await decide(memory, ann, brief, held, "entailed", quotes=[{"evidence_id": key, "quote": "in Lisbon"}])
        places.append(caught.value.problems)

    assert 1 == len(set(places))
    assert "/quotes/0/evidence_id" == places[0][0].pointer


async def test_a_contradiction_rejects_the_authors_own_relationship(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    relationship_id = await pending(memory, ann)
    text = await store(memory, ann, "Ada never moved; she lives in Porto.")
    brief = verification(relationship_id)

    await decide(memory, ann, brief, await claim(memory, ann, brief), "contradicted", quotes=[{"evidence_id": text, "quote": "Ada never moved"}])

    verdicts = memory.sql("select evidence_verdict, verifier from commonlore.verification_event order by known_from, event_id")
    assert ("rejected", 2) == status_of(memory, relationship_id)
    assert [("insufficient", "grounding-1"), ("contradicted", "delegated-1")] == verdicts
    assert 2 == len((await memory.trace(ann, relationship_id))["verification_events"])


async def test_a_contradiction_of_another_members_relationship_is_an_administrators(memory: Memory) -> None:
    ann, ben, admin = await memory.key(member="Ann"), await memory.key(member="Ben"), await an_admin(memory)
    relationship_id = await pending(memory, ann)
    text = await store(memory, ben, "Ada never moved.")
    brief, quotes = verification(relationship_id), [{"evidence_id": text, "quote": "Ada never moved"}]
    held = await claim(memory, ben, brief)
    before = footprint(memory)

    with pytest.raises(Forbidden):
        await decide(memory, ben, brief, held, "contradicted", quotes=quotes)
    assert before == footprint(memory)
    await ask(memory, ben, "release_brief", brief_id=brief, claim_id=held, reason="not mine")
    await decide(memory, admin, brief, await claim(memory, admin, brief), "contradicted", quotes=quotes)

    assert ("rejected", 2) == status_of(memory, relationship_id)


async def test_a_contradiction_needs_a_quote_that_speaks_of_the_subject(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    brief = verification(await pending(memory, ann))
    text, said = await store(memory, ann, "Nobody moved."), await store(memory, ann, "I never moved.", speaker="Ada")
    held = await claim(memory, ann, brief)

    with pytest.raises(Incorrect):
        await decide(memory, ann, brief, held, "contradicted", quotes=[{"evidence_id": text, "quote": "Nobody moved"}])
    answer = await decide(memory, ann, brief, held, "contradicted", quotes=[{"evidence_id": said, "quote": "I never moved"}])

    assert "rejected" == answer["applied"]["status"]


async def test_a_brief_whose_subject_moved_on_is_refused(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    relationship_id = await pending(memory, ann)
    brief = verification(relationship_id)
    held = await claim(memory, ann, brief)
    await memory.relate(ann, SAYING_TEXT, "Ada", "lives_in", "Lisbon", kinds=("person", "place"))
    text = await store(memory, ann, "Ada now lives in Lisbon.")

    codes = [
        await refused(decide(memory, ann, brief, held, "insufficient")),
        await refused(decide(memory, ann, brief, held, "entailed", quotes=[{"evidence_id": text, "quote": "Ada now lives in Lisbon"}])),
    ]

    described = await ask(memory, ann, "describe_brief", brief_id=brief)
    assert (["stale_input"] * 2, None) == (codes, described["brief"])


# --- at most once


async def test_of_many_verdicts_at_once_one_is_applied(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    relationship_id = await pending(memory, ann)
    text = await store(memory, ann, SAYING_TEXT)
    brief = verification(relationship_id)
    held = await claim(memory, ann, brief)
    quotes = [{"evidence_id": text, "quote": SAYING_TEXT}]

    calls = [decide(memory, ann, brief, held, "entailed", quotes=quotes) for _ in range(4)]
    calls += [decide(memory, ann, brief, held, "insufficient") for _ in range(3)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    codes = [item.code for item in outcomes if isinstance(item, CommonloreError)]
    events = memory.sql("select action, count(*) from commonlore.delegated_brief_event group by 1 order by 1")
    assert (["stale_input"] * 6, 1, 1) == (codes, dict(events)["claimed"], dict(events)["decided"])
    applied = any(isinstance(item, dict) and item["applied"] for item in outcomes)
    assert (("active", 2) if applied else ("pending_evidence", 1)) == status_of(memory, relationship_id)


async def test_a_repeated_verdict_gets_its_first_answer(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    brief = verification(await pending(memory, ann))
    held = await claim(memory, ann, brief)
    first = await decide(memory, ann, brief, held, "insufficient", idempotency_key="once")

    again = await decide(memory, ann, brief, held, "insufficient", idempotency_key="once")
    other = await refused(decide(memory, ann, brief, held, "insufficient", idempotency_key="once", answered_by="me"))

    assert (first, "idempotency_conflict", [(1,)]) == (
        again,
        other,
        memory.sql("select count(*) from commonlore.delegated_brief_event where action = 'decided'"),
    )


# --- the other kinds


async def test_a_conflict_is_resolved_as_by_a_direct_call(memory: Memory) -> None:
    contested = await contest(memory)
    brief = f"assess_conflict:{contested.conflict_id}:1"
    shown = await ask(memory, contested.ada, "claim_brief", brief_id=brief)
    [text] = [item for item in shown["brief"]["texts"] if "PostgreSQL" in item["content"]]
    quotes = [{"evidence_id": text["evidence_id"], "quote": text["content"]}]

    with pytest.raises(Incorrect):
        await decide(
            memory, contested.ada, brief, shown["claim_id"], "resolve", quotes=quotes, preferred_position_id="01982f00-0000-7000-8000-000000000001"
        )
    answer = await decide(
        memory, contested.ada, brief, shown["claim_id"], "resolve", quotes=quotes, preferred_position_id=contested.positions["PostgreSQL"]
    )

    assert ("resolve_conflict", "resolved") == (answer["applied"]["operation"], answer["applied"]["status"])
    assert "superseded" == status_of(memory, contested.relationships["MySQL"])[0]
    assert [("as the text says",)] == memory.sql("select reason from commonlore.conflict_event where action = 'resolved'")


async def test_a_conflict_is_no_brief_of_a_key_that_may_not_decide_it(memory: Memory) -> None:
    contested = await contest(memory)

    with pytest.raises(Forbidden):
        await claim(memory, contested.ann, f"assess_conflict:{contested.conflict_id}:1")


async def test_entities_are_merged_as_by_a_direct_call_and_two_that_differ_are_asked_about_once(memory: Memory) -> None:
    admin = await an_admin(memory)
    for name in ("Dense-Mem", "DenseMem", "Zoé", "Zoe"):
        await memory.relate(admin, f"Mark works on {name}.", "Mark", "works_on", name)
    briefs = {item["title"]: item["brief_id"] for item in (await ask(memory, admin, "list_briefs", kinds=["merge_entities"]))["briefs"]}
    same, different = briefs["Dense-Mem and DenseMem"], briefs["Zoé and Zoe"]
    kept, gone = entity_id(memory, "Dense-Mem"), entity_id(memory, "DenseMem")

    held = await claim(memory, admin, same)
    with pytest.raises(Incorrect):
        await decide(memory, admin, same, held, "same", keep_entity_id=entity_id(memory, "Mark"))
    answer = await decide(memory, admin, same, held, "same", keep_entity_id=kept)
    await decide(memory, admin, different, await claim(memory, admin, different), "different")

    assert [("retired", kept)] == memory.sql("select status, merged_into::text from commonlore.entity where entity_id = %s", gone)
    assert ("merge_entities", []) == (answer["applied"]["operation"], (await ask(memory, admin, "list_briefs"))["briefs"])


async def test_a_community_gets_a_summary_that_its_texts_carry(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    for target in ("Orion", "Vega", "Lyra"):
        for name in ("Ada", "Ben"):
            await memory.relate(ann, f"{name} works on {target}.", name, "works_on", target)
    other = await store(memory, ann, "Rain fell.")
    await enable(memory, ann)
    assert "completed" == await detect(memory, ann)
    [entry, *_] = (await ask(memory, ann, "list_briefs", kinds=["summarise_community"]))["briefs"]
    brief = entry["brief_id"]
    shown = await ask(memory, ann, "claim_brief", brief_id=brief)
    text = shown["brief"]["texts"][0]
    good = {"evidence_id": text["evidence_id"], "quote": text["content"]}

    with pytest.raises(Incorrect):
        await decide(memory, ann, brief, shown["claim_id"], "summary", summary="They work.", quotes=[good, {"evidence_id": other, "quote": "Rain"}])
    await decide(memory, ann, brief, shown["claim_id"], "summary", summary="They share projects.", quotes=[good])
    described = await ask(memory, ann, "describe_brief", brief_id=brief)
    await memory.retract(ann, text["evidence_id"])
    after = await ask(memory, ann, "describe_brief", brief_id=brief)

    assert ("They share projects.", [text["content"]]) == (
        described["summary"]["summary"],
        [item["quote"] for item in described["summary"]["quotes"]],
    )
    assert ("decided", None) == (after["state"], after["summary"])


async def test_a_hypothesis_is_confirmed_by_a_quote_and_ends_with_it(memory: Memory) -> None:
    """A quote that does not say it is refused, and the hypothesis stands as before."""
    ann, hypothesis_id = await supposing(memory)
    brief = f"judge_hypothesis:{hypothesis_id}:1"
    text = await store(memory, ann, "Ada uses PostgreSQL at work.")
    listed = (await ask(memory, ann, "list_briefs"))["briefs"]
    shown = await ask(memory, ann, "claim_brief", brief_id=brief)
    before = (footprint(memory), memory.sql("select status, version from commonlore.hypothesis"))

    with pytest.raises(Incorrect):
        await decide(memory, ann, brief, shown["claim_id"], "confirm", quotes=[{"evidence_id": text, "quote": "at work"}])
    assert before == (footprint(memory), memory.sql("select status, version from commonlore.hypothesis"))
    answer = await decide(memory, ann, brief, shown["claim_id"], "confirm", quotes=[{"evidence_id": text, "quote": "Ada uses PostgreSQL"}])

    assert [(brief, "Ada uses PostgreSQL")] == [(item["brief_id"], item["title"]) for item in listed]
    assert {"Ada works on Atlas.", "Atlas uses PostgreSQL.", "Ada uses PostgreSQL at work."} == {item["content"] for item in shown["brief"]["texts"]}
    assert ("active", 1) == status_of(memory, answer["applied"]["relationship_id"])
    found = memory.sql("select status, version, invalidated_reason, submission_id::text from commonlore.hypothesis")
    assert [("submitted", 2, None, answer["submission_id"])] == found


@pytest.mark.parametrize(("decision", "status"), [("reject", "rejected"), ("reinforce", "reinforced"), ("unsure", "proposed")])
async def test_a_hypothesis_is_judged_as_by_a_direct_call(memory: Memory, decision: str, status: str) -> None:
    ann, hypothesis_id = await supposing(memory)
    brief = f"judge_hypothesis:{hypothesis_id}:1"
    held = await claim(memory, ann, brief)

    await decide(memory, ann, brief, held, decision)

    assert [(status,)] == memory.sql("select status from commonlore.hypothesis")
    assert "stale_input" == await refused(decide(memory, ann, brief, held, decision))


async def test_the_history_says_who_claimed_who_decided_and_what_was_applied_without_words_of_texts(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    relationship_id = await pending(memory, ann)
    text = await store(memory, ann, SAYING_TEXT)
    brief = verification(relationship_id)
    await decide(
        memory,
        ann,
        brief,
        await claim(memory, ann, brief),
        "entailed",
        quotes=[{"evidence_id": text, "quote": "Ada lives in Lisbon"}],
        answered_by="model x",
    )

    events = (await ask(memory, ann, "describe_brief", brief_id=brief))["events"]

    assert [("claimed", "Ann"), ("decided", "Ann"), ("applied", "Ann")] == [(item["action"], item["profile_name"]) for item in events]
    assert ([{"evidence_id": text, "start": 0, "end": 19}], "model x") == (events[1]["detail"]["quotes"], events[1]["detail"]["answered_by"])
    assert relationship_id == events[2]["detail"]["relationship_id"]
    assert [] == [item for item in events if "Lisbon" in str(item)]


async def test_the_errors_are_of_the_closed_list(memory: Memory) -> None:
    ann = await memory.key(member="Ann")
    brief = verification(await pending(memory, ann))
    await claim(memory, ann, brief)

    with pytest.raises(Conflict) as caught:
        await claim(memory, ann, brief)
    with pytest.raises(NotVisible):
        await decide(memory, ann, brief, "01982f00-0000-7000-8000-000000000001", "insufficient")

    assert ("brief_claimed", True) == (caught.value.code, 590 <= (caught.value.retry_after_s or 0) <= 600)
