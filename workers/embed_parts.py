"""Job `embed_parts`: give every waiting text of one space its vector.

The texts are read in one short transaction and the vectors stored in another; the model runs between the two. A text
that the embedder cannot take is tried alone, counted, and left out after its fifth failure; the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonlore.db.backlog import SpaceBacklog, WaitingText, served_contract_key
from commonlore.domain.jobs.kind import JobFailed
from commonlore.domain.ports import Embedder, EmbeddingMalformed, Vectors
from commonlore.domain.projection.embed import embed_whole
from commonlore.workers.run import JobRun, Outcome

BATCH = 64
STAGE = "embedding"


async def embed_parts(run: JobRun) -> Outcome:
    """
    Raises:
        JobFailed: `contract_mismatch`, this process runs another model than that of the stored vectors.
        EmbeddingUnavailable: the embedder does not answer; what was stored before stays.
    """
    embedder, backlog = run.adapters.embedder, SpaceBacklog(run.adapters.pool, run.team, run.space)
    if embedder.contract.key != await served_contract_key(run.adapters.pool):
        raise JobFailed("contract_mismatch")
    # Counted from rows, and going on from an earlier turn: what is done then is the rest of what there was.
    waiting = await backlog.count()
    earlier = run.told.done if run.told.stage == STAGE else 0
    left = waiting
    while batch := await backlog.read(BATCH):
        await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
        made, failed = await _embed(embedder, batch)
        await backlog.store(made)
        for item in failed:
            await backlog.fail(item, "embedding_malformed")
        left = max(0, left - len(made))
        if run.is_over():
            await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
            return Outcome.AGAIN
    await run.tell(STAGE, earlier + waiting - left, earlier + waiting)
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
