"""Jobs `embed_parts` and `embed_contract`: give every waiting text of one space its vector, under the served contract or another that is kept.

The texts are read in one short transaction and the vectors stored in another; the model runs between the two. A text
that the embedder cannot take is tried alone, counted, and left out after its fifth failure; the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonlore.db.backlog import SpaceBacklog, WaitingText, open_space
from commonlore.db.contracts import KeptContract, fill_backlog, kept_contracts
from commonlore.db.projection_build import conclude_generations
from commonlore.db.session import team_transaction
from commonlore.domain.jobs.kind import JobFailed
from commonlore.domain.ports import Embedder, EmbeddingMalformed, Vectors, embedder_under
from commonlore.domain.projection.embed import embed_whole
from commonlore.workers.run import JobRun, Outcome

BATCH = 64
STAGE = "embedding"


async def embed_parts(run: JobRun) -> Outcome:
    """What waits for a vector of the served contract.

    Raises:
        JobFailed: `contract_mismatch`, this process has no embedder of the contract.
        EmbeddingUnavailable: the embedder does not answer; what was stored before stays.
    """
    kept = await kept_contracts(run.adapters.pool)
    return await _work_off(run, kept[0])


async def embed_contract(run: JobRun) -> Outcome:
    """What lacks a vector of a contract that is kept beside the served one; nothing when it is not kept any more.

    Raises:
        JobFailed: as `embed_parts`.
        EmbeddingUnavailable: as `embed_parts`.
    """
    kept = await kept_contracts(run.adapters.pool)
    contract = next((contract for contract in kept if contract.contract_id == int(run.arguments["contract_id"])), None)
    if contract is None:
        return Outcome.DONE
    while not await _fill(run, contract, kept[0]):
        if run.is_over():
            return Outcome.AGAIN
    return await _work_off(run, contract)


async def _fill(run: JobRun, contract: KeptContract, served: KeptContract) -> bool:
    async with team_transaction(run.adapters.pool, run.team, timeout_ms=run.adapters.timeout_ms) as transaction:
        if not await open_space(transaction, run.space):
            return True
        return await fill_backlog(transaction, contract, served)


async def _work_off(run: JobRun, contract: KeptContract) -> Outcome:
    embedder = embedder_under(run.adapters.embedder, contract.contract_key)
    backlog = SpaceBacklog(run.adapters.pool, run.team, run.space, contract.contract_id)
    if embedder is None:
        raise JobFailed("contract_mismatch")
    # Counted from rows, and going on from an earlier turn: what is done then is the rest of what there was.
    waiting = await backlog.count()
    earlier = run.told.done if run.told.stage == STAGE else 0
    left = waiting
    while batch := await backlog.read(BATCH):
        await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
        blank = [item for item in batch if item.kind == "part" and embedder.count_tokens(item.text) == 0]
        if blank:
            await backlog.forget(blank)
        made, failed = await _embed(embedder, [item for item in batch if item not in blank])
        await backlog.store(made)
        for item in failed:
            await backlog.fail(item, "embedding_malformed", run.adapters.clock())
        left = max(0, left - len(made) - len(blank))
        if run.is_over():
            await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
            return Outcome.AGAIN
    await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
    await conclude_generations(run.adapters.pool, run.team, contract.contract_id, clock=run.adapters.clock)
    return Outcome.DONE


async def _embed(embedder: Embedder, batch: Sequence[WaitingText]) -> tuple[list[tuple[WaitingText, Vectors]], list[WaitingText]]:
    short = [item for item in batch if 0 < embedder.count_tokens(item.text) <= embedder.max_tokens]
    try:
        made = list(zip(short, await embedder.embed_texts([item.text for item in short]), strict=True)) if short else []
    except (EmbeddingMalformed, ValueError):
        made = []
    done = {item.key for item, _ in made}
    failed: list[WaitingText] = []
    for item in batch:
        if item.key in done:
            continue
        try:
            made.append((item, await embed_whole(embedder, item.text)))
        except (EmbeddingMalformed, ValueError):
            failed.append(item)
    return made, failed
