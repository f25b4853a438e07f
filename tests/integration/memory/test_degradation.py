"""What an answer lacks is stated exactly, the rest of it is whole, and recovery needs nothing but the next call."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from commonlore.domain.errors import CommonloreError, DeadlineExceeded
from commonlore.domain.ports import EmbeddingContract
from tests.support.embedders import FailingEmbedder, HashEmbedder, MalformedEmbedder
from tests.support.faults import break_space, mend
from tests.support.memory import CONTRACT, Holder, Memory, ServedHashEmbedder, contexts, shown


def codes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    assert all(item["optional"] and item["message"] for item in answer["degradations"])
    return [(item["frontier"], item["code"]) for item in answer["degradations"]]


class ServedFailing(FailingEmbedder):
    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


class ServedMalformed(MalformedEmbedder):
    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


async def a_populated(memory: Memory, **fields: Any) -> Holder:
    """Texts that share words with one another, and three relationships none of which a text of the first place covers."""
    ann = await memory.key()
    await memory.remember_all(ann, ["Unrelated pelican.", "Pelican pelican colony.", "Quartz."], **fields)
    for name in ("Uma", "Vic", "Wes"):
        await memory.relate(ann, f"{name} likes zebra.", name, "likes", "zebra", **fields)
    return ann


# --- generations


@pytest.mark.parametrize(
    ("state", "shown_state", "code"),
    [
        ("projecting_text", "pending", "relationship_vector_warming"),
        ("embedding", "pending", "relationship_vector_warming"),
        ("failed", "failed", "relationship_vector_failed"),
    ],
)
async def test_a_generation_that_is_not_current_turns_vectors_off_and_says_so(memory: Memory, state: str, shown_state: str, code: str) -> None:
    """Words still find; the meaning of words that are not there does not. Evidence is untouched."""
    ann = await a_populated(memory)
    before = await memory.recall(ann, "pelican vic", limit=1)
    memory.sql("update commonlore.projection_generation set state = %s", state)

    by_words, by_meaning = await memory.recall(ann, "pelican vic", limit=1), await memory.recall(ann, "pelican", limit=1)

    assert {"evidence": "current", "relationships": shown_state} == by_words["search_states"]
    assert [("relationships", code)] == codes(by_words) == codes(by_meaning)
    assert before["results"] == by_words["results"]
    assert (["Vic"], []) == tuple([item["subject"]["name"] for item in answer["related_relationships"]] for answer in (by_words, by_meaning))
    assert 3 == len(before["related_relationships"])


@pytest.mark.parametrize("state", ["projecting_text", "embedding", "failed"])
async def test_what_is_written_meanwhile_is_found_by_its_words(memory: Memory, state: str) -> None:
    """A generation that is not current keeps nobody from remembering."""
    ann = await memory.key()
    memory.sql("update commonlore.projection_generation set state = %s", state)
    await memory.remember_all(ann, ["Unrelated pelican."])
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    found = await memory.recall(ann, "pelican unrelated mark", limit=1)

    assert ["Mark"] == [item["subject"]["name"] for item in found["related_relationships"]]


async def test_back_to_current_is_back_to_vectors(memory: Memory) -> None:
    ann = await a_populated(memory)
    before = shown(await memory.recall(ann, "pelican", limit=1))
    memory.sql("update commonlore.projection_generation set state = 'embedding'")
    await memory.recall(ann, "pelican", limit=1)
    memory.sql("update commonlore.projection_generation set state = 'current'")

    assert before == shown(await memory.recall(ann, "pelican", limit=1))


async def test_a_current_generation_serves_while_another_is_built(memory: Memory) -> None:
    ann = await a_populated(memory)
    before = shown(await memory.recall(ann, "pelican vic", limit=1))
    memory.sql(
        "insert into commonlore.projection_generation select team_id, source_kind, 2, format_version, contract_id, 'embedding', known_from, null "
        "from commonlore.projection_generation"
    )

    assert before == shown(await memory.recall(ann, "pelican vic", limit=1))


async def test_what_waits_alone_does_not_reopen_the_gate(memory: Memory) -> None:
    """A relationship without its vector is found by its words; the lane stays current and says pending of that one."""
    ann = await a_populated(memory)
    down = memory.with_embedder(ServedFailing())
    await down.relate(ann, "Yan likes zebra.", "Yan", "likes", "zebra")

    found = await memory.recall(ann, "pelican yan", limit=1)

    assert ("current", []) == (found["search_states"]["relationships"], codes(found))
    assert {"Yan": "pending", "Uma": "current", "Vic": "current", "Wes": "current"} == {
        item["subject"]["name"]: item["search_state"] for item in found["related_relationships"]
    }
    assert "pending" == found["search_states"]["evidence"]


# --- the embedder at recall


@pytest.mark.parametrize(
    ("embedder", "code"),
    [
        (ServedFailing("not_configured"), "provider_unavailable"),
        (ServedFailing("timed_out"), "provider_unavailable"),
        *((ServedMalformed(kind), "provider_malformed") for kind in ("nan", "short", "zero", "empty")),
        (HashEmbedder(provider="another"), "embedding_contract_mismatch"),
        (HashEmbedder(dimensions=8, provider="another"), "embedding_contract_mismatch"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_without_a_query_vector_both_lanes_go_by_words(memory: Memory, embedder: Any, code: str) -> None:
    """Stated for both frontiers; the states of what is stored stay; the next call with a good embedder is whole."""
    ann = await a_populated(memory)
    whole = shown(await memory.recall(ann, "pelican vic", limit=1))

    answer = await memory.with_embedder(embedder).recall(ann, "pelican vic")

    assert [("evidence", code), ("relationships", "relationship_vector_warming")] == codes(answer)
    assert {"evidence": "current", "relationships": "current"} == answer["search_states"]
    assert {"Unrelated pelican.", "Pelican pelican colony.", "Vic likes zebra."} == set(contexts(answer))
    assert whole == shown(await memory.recall(ann, "pelican vic", limit=1))


async def test_one_failed_call_does_not_fail_the_next(memory: Memory) -> None:
    """The same process: degraded once, whole at once afterwards."""
    ann = await a_populated(memory)
    flaky = memory.with_embedder(ServedFailing(times=1))
    first, second = await flaky.recall(ann, "pelican"), await flaky.recall(ann, "pelican")

    assert ([("evidence", "provider_unavailable"), ("relationships", "relationship_vector_warming")], []) == (codes(first), codes(second))


async def test_no_relationships_wanted_no_word_of_them(memory: Memory) -> None:
    ann = await a_populated(memory)
    memory.sql("update commonlore.projection_generation set state = 'failed'")
    answer = await memory.with_embedder(ServedFailing()).recall(ann, "pelican", relationship_limit=0)

    assert [("evidence", "provider_unavailable")] == codes(answer)


async def test_a_failed_generation_outweighs_a_missing_vector(memory: Memory) -> None:
    ann = await a_populated(memory)
    memory.sql("update commonlore.projection_generation set state = 'failed'")
    answer = await memory.with_embedder(ServedFailing()).recall(ann, "pelican")

    assert [("evidence", "provider_unavailable"), ("relationships", "relationship_vector_failed")] == codes(answer)


# --- the embedder at remember


@pytest.mark.parametrize("embedder", [ServedFailing(), ServedMalformed("nan"), ServedMalformed("few"), HashEmbedder(provider="another")])
async def test_a_text_is_kept_whatever_the_embedder_does(memory: Memory, embedder: Any) -> None:
    """Found by its words at once, by its meaning after the job; the answer says pending and why."""
    ann = await memory.key()
    broken = memory.with_embedder(embedder)
    answer = await broken.remember(ann, content="The porter keeps the vault code.")
    related = await broken.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    before = await memory.recall(ann, "vault code porter")

    assert ("pending", "pending", 1) == (answer["search_state"], answer["evidence"][0]["search_state"], len(answer["warnings"]))
    assert "The porter keeps the vault code." == contexts(before)[0]
    assert "pending" == before["search_states"]["evidence"]
    assert 1 == memory.sql("select count(*) from procrastinate.procrastinate_jobs where status = 'todo'")[0][0]
    assert 3 == await memory.run_embedding(ann)
    after = await memory.recall(ann, "vault", limit=1)
    assert ("current", related, "current") == (
        after["search_states"]["evidence"],
        after["related_relationships"][0]["relationship_id"],
        after["related_relationships"][0]["search_state"],
    )


async def test_a_text_that_failed_for_good_is_stated_as_failed(memory: Memory) -> None:
    """Five tries, then failed; it stays findable by its words."""
    ann = await memory.key()
    broken = memory.with_embedder(ServedMalformed("nan", marker="cursed"))
    await broken.remember_all(ann, ["A cursed zebra."])
    await broken.run_embedding(ann)
    answer = await memory.recall(ann, "zebra")

    assert ("failed", ["A cursed zebra."]) == (answer["search_states"]["evidence"], contexts(answer))


async def test_one_failed_text_among_many_that_wait_is_stated_as_failed(memory: Memory) -> None:
    """failed comes before pending, however many wait."""
    ann = await memory.key()
    down = memory.with_embedder(ServedFailing())
    await down.remember_all(ann, [f"Zebra {number}." for number in range(40)])
    evidence = memory.sql("select team_id, space_epoch, evidence_id from commonlore.evidence order by evidence_id desc limit 1")[0]
    memory.sql(
        "insert into commonlore.evidence_part select %s, %s, %s, n, 0, 1, 'x' from generate_series(1, 1500) n",
        *evidence,
    )
    memory.sql(
        "insert into commonlore.evidence_embedding_backlog select %s, %s, %s, n, 1, case n when 1500 then 'failed' else 'pending' end "
        "from generate_series(1, 1500) n",
        *evidence,
    )

    assert "failed" == (await memory.recall(ann, "zebra"))["search_states"]["evidence"]


# --- branches that fail


async def both_spaces(memory: Memory) -> Holder:
    ann = await memory.key()
    for space in ("team_shared", "private"):
        await memory.remember_all(ann, [f"Pelican in {space}."], target_space=space)
        await memory.relate(ann, f"Zoe likes {space}.", "Zoe", "likes", space, target_space=space)
    return ann


async def test_a_broken_private_space_leaves_the_shared_one_whole(memory: Memory) -> None:
    """Stated in one line without a detail; the same results as a caller without a private space gets."""
    ann = await both_spaces(memory)
    bot = await memory.key(binding="shared_only")
    break_space(memory, "evidence_posting", "credential_private")

    answer, alone = await memory.recall(ann, "pelican"), await memory.recall(bot, "pelican")

    assert [("evidence", "space_branch_unavailable")] == codes(answer)
    assert alone["results"] == answer["results"]
    assert [("Pelican in team_shared.", "team_shared")] == [(item["context"], item["space_kind"]) for item in answer["results"][:1]]


@pytest.mark.parametrize("table", ["evidence_posting", "evidence_statistic", "relationship_posting", "evidence_vector_1"])
async def test_a_trace_does_not_mind_a_broken_space(memory: Memory, table: str) -> None:
    """It says what the answer says, with withdrawn evidence to look up or without."""
    ann = await both_spaces(memory)
    [gone] = await memory.remember_all(ann, ["Pelican in retreat."])
    await memory.retract(ann, gone)
    break_space(memory, table, "credential_private")

    plain, traced = await memory.recall(ann, "pelican"), await memory.recall(ann, "pelican", trace=True)
    trace = traced.pop("trace")

    assert {**plain, "recall_id": ""} == {**traced, "recall_id": ""}
    assert [item["evidence_id"] for item in plain["results"]] == [item["evidence_id"] for item in trace["evidence"] if item["outcome"] == "returned"]
    assert "retracted" == next(item["outcome"] for item in trace["evidence"] if item["evidence_id"] == gone)


async def test_a_private_space_whose_counts_cannot_be_read_is_missing_alone(memory: Memory) -> None:
    """Whatever of it fails, a private space takes nothing of the shared one with it."""
    ann = await both_spaces(memory)
    break_space(memory, "evidence_statistic", "credential_private")

    answer = await memory.recall(ann, "pelican")

    assert [("evidence", "space_branch_unavailable")] == codes(answer)
    assert "Pelican in team_shared." == contexts(answer)[0]


async def test_a_broken_shared_space_is_an_error(memory: Memory) -> None:
    ann = await both_spaces(memory)
    break_space(memory, "evidence_posting", "team_shared")

    with pytest.raises(CommonloreError):
        await memory.recall(ann, "pelican")


async def test_broken_evidence_vectors_leave_the_words(memory: Memory) -> None:
    ann = await both_spaces(memory)
    break_space(memory, "evidence_vector_1", "team_shared")

    answer = await memory.recall(ann, "pelican")

    assert [("evidence", "evidence_vector_failed")] == codes(answer)
    assert "Pelican in team_shared." in contexts(answer)


@pytest.mark.parametrize("table", ["relationship_posting", "relationship_vector_1"])
async def test_a_broken_relationship_lane_leaves_the_evidence(memory: Memory, table: str) -> None:
    ann = await both_spaces(memory)
    whole = await memory.recall(ann, "pelican zoe")
    break_space(memory, table, "team_shared")

    answer = await memory.recall(ann, "pelican zoe")

    assert [("relationships", "relationship_discovery_unavailable")] == codes(answer)
    assert ("failed", whole["results"]) == (answer["search_states"]["relationships"], answer["results"])


@pytest.mark.parametrize("table", ["evidence", "relationship_support"])
async def test_rows_behind_candidates_that_cannot_be_read_are_an_error(memory: Memory, table: str) -> None:
    """Knowledge is never put together from search text."""
    ann = await both_spaces(memory)
    break_space(memory, table, "team_shared")

    with pytest.raises(CommonloreError) as caught:
        await memory.recall(ann, "pelican")

    # Whether a space has sessions is asked of `evidence` before; which plan meets the broken rows there is not promised.
    assert caught.value.code in (("internal_failure", "hydration_failed") if table == "evidence" else ("hydration_failed",))


async def test_a_broken_branch_is_whole_again_at_once(memory: Memory) -> None:
    """The connection that failed carries nothing over."""
    ann = await both_spaces(memory)
    whole = shown(await memory.recall(ann, "pelican zoe"))
    break_space(memory, "evidence_posting", "credential_private")
    for _ in range(6):
        await memory.recall(ann, "pelican zoe")
    mend(memory, "evidence_posting")

    assert {whole} == {shown(await memory.recall(ann, "pelican zoe")) for _ in range(6)}


@pytest.mark.parametrize("table", ["evidence", "evidence_posting", "evidence_part"])
async def test_a_failure_does_not_stay_with_its_connection(memory: Memory, table: str) -> None:
    """However often its statements ran before, one connection answers in full after one that failed half-way."""
    ann = await both_spaces(memory)
    whole = shown(await memory.recall(ann, "pelican zoe"))
    for calls in range(7):
        async with memory.under("", size=1) as single:
            with contextlib.suppress(CommonloreError):
                await single.trace(ann, str(ann.profile_id))  # a rollback before anything else
            for _ in range(calls):
                await single.recall(ann, "pelican zoe")
            break_space(memory, table, "credential_private")
            with contextlib.suppress(CommonloreError):
                await single.recall(ann, "pelican zoe")
            mend(memory, table)

            assert whole == shown(await single.recall(ann, "pelican zoe")), calls


async def test_a_statement_that_takes_too_long_ends_the_recall(memory: Memory) -> None:
    """The bound is the request's, and the connection is fit for the next one."""
    ann = await both_spaces(memory)
    break_space(memory, "evidence_posting", "credential_private", action="perform pg_sleep(5)")
    impatient = memory.with_timeout(300)

    with pytest.raises(DeadlineExceeded):
        await impatient.recall(ann, "pelican")

    mend(memory, "evidence_posting")
    assert "Pelican in private." in contexts(await impatient.recall(ann, "pelican"))


async def test_a_trace_that_cannot_be_read_fails(memory: Memory) -> None:
    """History is never made up."""
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    break_space(memory, "relationship_transition_event", "team_shared")

    with pytest.raises(CommonloreError):
        await memory.trace(ann, relationship_id)


async def test_the_served_contract_changing_turns_old_vectors_off(memory: Memory) -> None:
    """A process with the old model never compares its query with vectors of another."""
    ann = await a_populated(memory)
    memory.sql("update commonlore.embedding_contract set contract_key = 'another:model:384:cosine:unit:doc1:query1'")
    answer = await memory.recall(ann, "pelican")

    assert ("evidence", "embedding_contract_mismatch") in codes(answer)
    assert ServedHashEmbedder().contract.key != "another:model:384:cosine:unit:doc1:query1"
