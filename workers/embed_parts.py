"""Job `embed_parts`: give every waiting text of one space its vector.

The texts are read in one short transaction and the vectors stored in another; the model runs between the two. A text
that the embedder cannot take is tried alone, counted, and left out after its fifth failure; the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.backlog import SpaceBacklog, WaitingText, served_contract_key
from commonlore.domain.ports import Embedder, EmbeddingMalformed, Vectors
from commonlore.domain.projection.embed import embed_whole

BATCH = 64
log = logging.getLogger(__name__)


async def embed_parts(adapters: Adapters, *, team_id: UUID, space_id: UUID) -> int:
    """Returns how many vectors were made. Does nothing while this process runs another model than the stored vectors.

    Raises:
        EmbeddingUnavailable: the embedder does not answer; what was stored before stays.
    """
    if adapters.embedder.contract.key != await served_contract_key(adapters.pool):
        log.warning("this worker's model is not the served contract; waiting texts keep waiting")
        return 0
    backlog = SpaceBacklog(adapters.pool, team_id, space_id)
    total = 0
    while batch := await backlog.read(BATCH):
        made, failed = await _embed(adapters.embedder, batch)
        await backlog.store(made)
        for item in failed:
            await backlog.fail(item, "embedding_malformed")
        total += len(made)
    return total


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
