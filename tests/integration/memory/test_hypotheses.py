"""Hypotheses in a real memory: proposed by the worker, shown beside an answer, ended by the writes of their sources, decided by people."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from commonlore.db.hypothesis_runs import SpaceRuns
from commonlore.db.pipeline import Pipeline
from commonlore.domain.errors import Conflict, Forbidden, Incorrect, NotVisible
from commonlore.domain.hypothesis.policy import HypothesisPolicy
from commonlore.domain.hypothesis.request import ListDreamsRequest
from commonlore.domain.ids import new_id
from commonlore.workers.propose_hypotheses import run_proposal
from tests.support.communities import as_worker, codes
from tests.support.hypotheses import detail, dream, dreaming, dreams, resolve, said
from tests.support.memory import Holder, Memory, a_relationship, contexts

WORKS, USES = "Ada works on Atlas.", "Atlas uses PostgreSQL."
SUPPOSED = "Ada uses PostgreSQL"


async def tell(memory: Memory, holder: Holder, **fields: Any) -> tuple[str, str]:
    """The two premises; the ids of their texts."""
    ids = []
    for text, relationship in (
        (WORKS, a_relationship("Ada", "works_on", "Atlas")),
        (USES, a_relationship("Atlas", "uses", "PostgreSQL", kinds=("project", "product"))),
    ):
        answer = await memory.remember(holder, content=text, relationships=[relationship], **fields)
        ids.append(answer["evidence"][0]["evidence_id"])
    return ids[0], ids[1]


async def supposing(memory: Memory, **fields: Any) -> tuple[Holder, str, tuple[str, str]]:
    """A team that has one hypothesis: who told it, its id, the texts."""
    ada = await memory.key(**fields)
    texts = await tell(memory, ada)
    await dreaming(memory, ada)
    assert "completed" == await dream(memory, ada)
    [found] = await dreams(memory, ada)
    assert (SUPPOSED, "proposed") == (found["statement"], found["status"])
    return ada, found["hypothesis_id"], texts


def standing(memory: Memory, holder: Holder) -> list[tuple[Any, ...]]:
    return memory.sql(
        "select status, invalidated_reason, version from commonlore.hypothesis where team_id = %s order by hypothesis_id", holder.team_id
    )


async def test_two_statements_suggest_a_third_beside_the_answer(memory: Memory) -> None:
    """With its sources, their texts, and a number; evidence and relationships are byte for byte what they were without it."""
    ada = await memory.key()
    texts = await tell(memory, ada)
    await dreaming(memory, ada)
    before = await memory.recall(ada, "What does Ada use?")
    await dream(memory, ada)
    answer = await memory.recall(ada, "What does Ada use?")
    [item] = answer["related_hypotheses"]

    assert [] == before["related_hypotheses"]
    assert (SUPPOSED, "proposed", 1, 0.36, "graph", "deterministic", "team_shared") == tuple(
        item[name] for name in ("statement", "status", "rank", "likelihood", "lane", "generator_kind", "space_kind")
    )
    assert list(texts) == item["source_evidence_ids"] and 2 == len(set(item["source_relationship_ids"]))
    hidden = ("recall_id", "related_hypotheses")
    assert {name: value for name, value in before.items() if name not in hidden} == {
        name: value for name, value in answer.items() if name not in hidden
    }
    assert SUPPOSED not in " ".join(contexts(answer))


async def test_a_hypothesis_shows_its_premises_their_quotes_and_the_formula(memory: Memory) -> None:
    ada, key, texts = await supposing(memory)
    found = await detail(memory, ada, key)

    assert [(1, "Ada works on Atlas", WORKS, True, texts[0]), (2, "Atlas uses PostgreSQL", USES, True, texts[1])] == [
        tuple(item[name] for name in ("premise_position", "statement", "quote", "is_current", "evidence_id")) for item in found["derivations"]
    ]
    assert "0.360 = 0.600 for the rule x 0.600 for the weaker premise" in found["rationale"]
    assert [(1, "proposed")] == [(event["version"], event["status"]) for event in found["events"]]


async def test_off_by_default_and_nothing_is_asked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run, and no statement more in a recall; switched off again, hypotheses are kept and not shown."""
    ada = await memory.key()
    await tell(memory, ada)
    assert await dream(memory, ada) is None
    asked: list[str] = []
    original, ask = psycopg.AsyncConnection.execute, Pipeline._ask

    async def counted(self: Any, query: Any, *given: Any, **options: Any) -> Any:
        asked.append(str(query))
        return await original(self, query, *given, **options)

    def piped(self: Any, query: Any, *given: Any) -> Any:
        asked.append(str(query))
        return ask(self, query, *given)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
    monkeypatch.setattr(Pipeline, "_ask", piped)
    assert [] == said(await memory.recall(ada, "Ada Atlas"))
    assert asked
    assert not [query for query in asked if "hypothesis_source" in query]
    await dreaming(memory, ada)
    await dream(memory, ada)
    assert [SUPPOSED] == said(await memory.recall(ada, "Ada Atlas"))
    await dreaming(memory, ada, enabled=False)
    assert [] == said(await memory.recall(ada, "Ada Atlas"))


async def test_a_retracted_premise_ends_it_and_a_new_one_brings_another(memory: Memory) -> None:
    ada, key, texts = await supposing(memory)
    await memory.retract(ada, texts[1])

    assert [("stale", "source_changed", 2)] == standing(memory, ada)
    assert [] == said(await memory.recall(ada, "What does Ada use?"))
    found = await detail(memory, ada, key)
    assert [(True, WORKS), (False, None)] == [(item["is_current"], item.get("quote")) for item in found["derivations"]]
    await dream(memory, ada)
    assert 1 == len(standing(memory, ada))
    await memory.relate(ada, "Indeed Atlas uses PostgreSQL.", "Atlas", "uses", "PostgreSQL", kinds=("project", "product"))
    await dream(memory, ada)
    assert [("stale", "source_changed", 2), ("proposed", None, 1)] == standing(memory, ada)
    assert [SUPPOSED] == said(await memory.recall(ada, "What does Ada use?"))


async def test_a_corrected_premise_ends_it(memory: Memory) -> None:
    """Its successor is another statement, from which another hypothesis follows."""
    ada = await memory.key()
    works = await memory.relate(ada, "Ada works on Atlas in Porto.", "Ada", "works_on", "Atlas")
    for project in ("Atlas", "Porto"):
        await memory.relate(ada, f"{project} uses {project}DB.", project, "uses", f"{project}DB", kinds=("project", "product"))
    await dreaming(memory, ada)
    await dream(memory, ada)
    assert ["Ada uses AtlasDB"] == said(await memory.recall(ada, "Ada"))
    answer = await memory.correct(ada, works, patch={"object_entity": {"name": "Porto", "entity_kind": "project"}})

    assert "completed" == answer["processing_state"]
    assert [("stale", "source_changed", 2)] == standing(memory, ada)
    await dream(memory, ada)
    assert ["Ada uses PortoDB"] == said(await memory.recall(ada, "Ada"))


async def test_what_no_write_noted_is_left_out_all_the_same(memory: Memory) -> None:
    """The lane looks at every premise itself: a version that is not the one that was read does not count."""
    ada, _, _ = await supposing(memory)
    memory.sql("update commonlore.relationship set version = version + 1 where team_id = %s and predicate_key = 'uses'", ada.team_id)

    assert [("proposed", None, 1)] == standing(memory, ada)
    assert [] == said(await memory.recall(ada, "What does Ada use?"))
    memory.sql("update commonlore.relationship set version = version - 1 where team_id = %s and predicate_key = 'uses'", ada.team_id)
    assert [SUPPOSED] == said(await memory.recall(ada, "What does Ada use?"))


@pytest.mark.parametrize("polarity", ["+", "-"])
async def test_what_somebody_says_or_denies_is_no_hypothesis_any_more(memory: Memory, polarity: str) -> None:
    ada, _, _ = await supposing(memory)
    bob = await memory.key(member="bob")
    text = "Ada uses PostgreSQL." if polarity == "+" else "Ada does not use PostgreSQL."
    relationship = a_relationship("Ada", "uses", "PostgreSQL", kinds=("person", "product"), polarity=polarity)
    answer = await memory.remember(bob, content=text, relationships=[relationship])
    if polarity == "-" and answer["relationship_results"][0]["splits"][0]["status"] != "active":
        pytest.skip("the grounding of denials does not carry this text")

    assert [("stale", "already_known", 2)] == standing(memory, ada)
    assert [] == said(await memory.recall(ada, "What does Ada use?"))


async def test_a_rejected_one_never_comes_back(memory: Memory) -> None:
    """Not from the same premises, and not from others; saying so twice changes nothing."""
    ada, key, _ = await supposing(memory)
    answer = await resolve(memory, ada, key, "reject", reason="she does not")

    assert ("changed", "rejected") == (answer["disposition"], answer["hypothesis"]["status"])
    assert "unchanged" == (await resolve(memory, ada, key, "reject"))["disposition"]
    await memory.relate(ada, "Ada works on Babel.", "Ada", "works_on", "Babel")
    await memory.relate(ada, "Babel uses PostgreSQL.", "Babel", "uses", "PostgreSQL", kinds=("project", "product"))
    await dream(memory, ada)
    assert [("rejected", None, 2)] == [row for row in standing(memory, ada) if row[0] == "rejected"]
    assert SUPPOSED not in said(await memory.recall(ada, "What does Ada use?"))
    assert 1 == len([item for item in await dreams(memory, ada) if item["statement"] == SUPPOSED])
    for decision in ("reinforce", "stale", "confirm_true"):
        with pytest.raises(Conflict):
            await resolve(memory, ada, key, decision, **({"evidence": [{"content": "Ada uses PostgreSQL."}]} if decision == "confirm_true" else {}))


async def test_reinforced_is_shown_and_stale_by_feedback_is_not(memory: Memory) -> None:
    ada, key, _ = await supposing(memory)
    assert "reinforced" == (await resolve(memory, ada, key, "reinforce"))["hypothesis"]["status"]
    assert ["reinforced"] == [item["status"] for item in (await memory.recall(ada, "Ada"))["related_hypotheses"]]
    assert "stale" == (await resolve(memory, ada, key, "stale", reason="nobody asks"))["hypothesis"]["status"]

    assert [] == said(await memory.recall(ada, "Ada"))
    events = (await detail(memory, ada, key))["events"]
    assert [("proposed", None), ("reinforced", "reinforce"), ("stale", "stale")] == [(event["status"], event.get("decision")) for event in events]
    await dream(memory, ada)
    assert [("stale", "feedback", 3)] == standing(memory, ada)


async def test_a_confirmation_is_remembered_and_decides_in_one_write(memory: Memory) -> None:
    """The text becomes evidence, the statement a relationship with a trace; the same call again stores nothing twice."""
    ada, key, _ = await supposing(memory)
    request = {"evidence": [{"content": "Ada uses PostgreSQL every day."}], "reason": "she said so", "idempotency_key": "once"}
    answer = await resolve(memory, ada, key, "confirm_true", **request)
    again = await resolve(memory, ada, key, "confirm_true", **request)

    [split] = answer["submission"]["relationship_results"][0]["splits"]
    assert ("changed", "submitted", "active") == (answer["disposition"], answer["hypothesis"]["status"], split["status"])
    assert ("unchanged", answer["submission"]) == (again["disposition"], again["submission"])
    shown = await detail(memory, ada, key)
    assert [("proposed", None), ("submitted", answer["submission"]["submission_id"])] == [
        (event["status"], event.get("submission_id")) for event in shown["events"]
    ]
    recalled = await memory.recall(ada, "What does Ada use?")
    assert "Ada uses PostgreSQL every day." in contexts(recalled) and [] == said(recalled)
    assert "uses" == (await memory.trace(ada, split["relationship_id"]))["relationship"]["predicate"]
    await dream(memory, ada)
    assert [("submitted", None, 2)] == standing(memory, ada)


async def test_a_text_that_does_not_carry_it_decides_nothing(memory: Memory) -> None:
    """It is stored like any other text, and the hypothesis stands as it did."""
    ada, key, _ = await supposing(memory)
    answer = await resolve(memory, ada, key, "confirm_true", evidence=[{"content": "The weather is fine."}])

    assert ("not_stored", "proposed") == (answer["disposition"], answer["hypothesis"]["status"])
    assert [("proposed", None, 1)] == standing(memory, ada)
    assert [SUPPOSED] == said(await memory.recall(ada, "What does Ada use?"))


async def test_a_confirmation_that_fails_leaves_both_as_they_were(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, key, _ = await supposing(memory)

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a test")

    with monkeypatch.context() as patch:
        patch.setattr("commonlore.db.hypothesis_views._decide", fail)
        with pytest.raises(RuntimeError):
            await resolve(memory, ada, key, "confirm_true", evidence=[{"content": "Ada uses PostgreSQL every day."}])

    assert [("proposed", None, 1)] == standing(memory, ada)
    assert "Ada uses PostgreSQL every day." not in contexts(await memory.recall(ada, "What does Ada use?"))


async def test_a_decision_needs_its_scope_its_fields_and_its_space(memory: Memory) -> None:
    ada, key, _ = await supposing(memory)
    reader = await memory.key(member="reader", scopes=("read",))
    eve = await memory.key("other")

    with pytest.raises(Forbidden):
        await resolve(memory, reader, key, "reject")
    for request in ({"evidence": [{"content": "x"}]}, {"reason": " "}):
        with pytest.raises(Incorrect):
            await resolve(memory, ada, key, "reject", **request)
    with pytest.raises(Incorrect):
        await resolve(memory, ada, key, "confirm_true")
    for holder, name in ((eve, key), (ada, str(new_id()))):
        for decision in ("reject", "confirm_true"):
            with pytest.raises(NotVisible):
                await resolve(memory, holder, name, decision, **({"evidence": [{"content": "x"}]} if decision == "confirm_true" else {}))
        with pytest.raises(NotVisible):
            await detail(memory, holder, name)
    assert [] == await dreams(memory, eve)
    assert [("proposed", None, 1)] == standing(memory, ada)


async def test_a_private_space_has_its_own_and_nobody_else_sees_it(memory: Memory) -> None:
    """Premises of two spaces are never joined; the other member of the team sees neither the hypothesis nor that there is one."""
    ada, bob = await memory.key(member="ada"), await memory.key(member="bob")
    await memory.remember(ada, content=WORKS, relationships=[a_relationship("Ada", "works_on", "Atlas")], target_space="private")
    uses = a_relationship("Atlas", "uses", "PostgreSQL", kinds=("project", "product"))
    await memory.remember(ada, content=USES, relationships=[uses])
    for kind in ("team_shared", "credential_private"):
        await dreaming(memory, ada, kind)
        await dream(memory, ada, kind)
    assert [] == await dreams(memory, ada)
    await memory.remember(ada, content=USES, relationships=[uses], target_space="private")
    await dream(memory, ada, "credential_private")

    [found] = (await memory.recall(ada, "What does Ada use?"))["related_hypotheses"]
    assert (SUPPOSED, "private") == (found["statement"], found["space_kind"])
    assert ([], []) == (await dreams(memory, bob), said(await memory.recall(bob, "What does Ada use?")))
    with pytest.raises(NotVisible):
        await detail(memory, bob, found["hypothesis_id"])


async def test_views_of_another_time_and_narrowed_recalls_have_none(memory: Memory) -> None:
    ada, _, _ = await supposing(memory)
    past = await memory.recall(ada, "What does Ada use?", valid_at="2026-07-02T00:00:00Z")
    narrowed = await memory.recall(ada, "What does Ada use?", filter={"predicates": ["uses"]})

    assert ([], ["hypothesis_temporal_not_supported"]) == (said(past), codes(past, "hypotheses"))
    assert ([], []) == (said(narrowed), codes(narrowed, "hypotheses"))


async def test_a_lane_that_cannot_be_read_leaves_the_others(memory: Memory) -> None:
    ada, _, _ = await supposing(memory)
    whole = await memory.recall(ada, "What does Ada use?")
    memory.sql("revoke select on commonlore.hypothesis_term from commonlore_app")
    answer = await memory.recall(ada, "What does Ada use?")

    assert ([], ["related_hypotheses_unavailable"]) == (said(answer), codes(answer, "hypotheses"))
    assert [contexts(whole), whole["related_relationships"]] == [contexts(answer), answer["related_relationships"]]


async def test_the_nearest_comes_first(memory: Memory) -> None:
    """A premise in the answer, then an end in it, then words of the query in the name of an end."""
    ada = await memory.key()
    await tell(memory, ada)
    for person, project, product in (("Zoe Ada", "Zephyr", "Redis"), ("Max", "Mars", "Kafka")):
        await memory.relate(ada, f"{person} works on {project}.", person, "works_on", project)
        await memory.relate(ada, f"{project} uses {product}.", project, "uses", product, kinds=("project", "product"))
    await dreaming(memory, ada)
    await dream(memory, ada)
    answer = await memory.recall(ada, WORKS, limit=1, relationship_limit=0, community_limit=0)

    assert [SUPPOSED, "Zoe Ada uses Redis"] == said(answer)
    assert [1, 2] == [item["rank"] for item in answer["related_hypotheses"]]
    by_end = await memory.recall(ada, "Kafka", limit=1, relationship_limit=1, community_limit=0)
    assert "Max uses Kafka" == said(by_end)[0]


async def test_a_list_has_pages_and_a_cursor_of_its_own(memory: Memory) -> None:
    ada = await memory.key()
    await tell(memory, ada)
    for number in range(4):
        await memory.relate(ada, f"Atlas uses Tool{number}.", "Atlas", "uses", f"Tool{number}", kinds=("project", "product"))
    await dreaming(memory, ada, outputs=5)
    await dream(memory, ada)
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        request = ListDreamsRequest(limit=2, cursor=cursor)
        page: Any = await memory.operations.list_dreams(ada.key, request, correlation_id="test")
        seen += [item["hypothesis_id"] for item in page["dreams"]]
        cursor = page["next_cursor"]

    assert (sorted(seen, reverse=True), 5, None) == (seen, len(set(seen)), cursor)
    with pytest.raises(Incorrect):
        await dreams(memory, ada, cursor="bm90aGluZw")


async def test_a_run_bounds_what_it_reads_proposes_and_keeps(memory: Memory) -> None:
    ada = await memory.key()
    await tell(memory, ada)
    for number in range(4):
        await memory.relate(ada, f"Atlas uses Tool{number}.", "Atlas", "uses", f"Tool{number}", kinds=("project", "product"))
    await dreaming(memory, ada, outputs=1)

    assert "too_large" == await dream(memory, ada, policy=HypothesisPolicy(most_relationships=5))
    assert "completed" == await dream(memory, ada)
    assert 1 == len(standing(memory, ada))
    assert "completed" == await dream(memory, ada, policy=HypothesisPolicy(most_live=1))
    assert 1 == len(standing(memory, ada))
    async with as_worker(memory) as adapters:
        assert await run_proposal(adapters, team_id=ada.team_id, space_id=new_id()) is None
    statuses = memory.sql("select status, path_count, proposed_count from commonlore.hypothesis_run where team_id = %s order by run_id", ada.team_id)
    assert [("too_large", None, None), ("completed", 5, 1), ("completed", 5, 0)] == statuses


@pytest.mark.parametrize("between", ["retracted", "supported", "said"])
async def test_a_write_between_reading_and_proposing_wins(memory: Memory, between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed or was said after the source was read is not proposed: each proposal is looked at again under the ledger lock."""
    ada = await memory.key()
    texts = await tell(memory, ada)
    await dreaming(memory, ada)
    original = SpaceRuns.read

    async def read(self: SpaceRuns, **given: Any) -> Any:
        found = await original(self, **given)
        if between == "retracted":
            await memory.retract(ada, texts[0])
        elif between == "supported":
            await memory.relate(ada, "Indeed Ada works on Atlas.", "Ada", "works_on", "Atlas")
        else:
            await memory.relate(ada, "Ada uses PostgreSQL.", "Ada", "uses", "PostgreSQL", kinds=("person", "product"))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(SpaceRuns, "read", read)
        assert "completed" == await dream(memory, ada)
    assert [] == standing(memory, ada)
    await dream(memory, ada)
    assert ([("proposed", None, 1)] if between == "supported" else []) == standing(memory, ada)
