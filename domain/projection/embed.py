"""The vectors that a write makes before its transaction begins: no model runs inside one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from commonlore.domain.ports import Embedder, EmbeddingMalformed, EmbeddingUnavailable, Vectors, embedder_under
from commonlore.domain.remember.prepare import MAX_PART_TOKENS
from commonlore.domain.text.parts import split_parts

INLINE_VECTORS = 32


class InlineVectors(dict[str, Vectors]):
    """Vectors by text, with the contract that they were made under: another one may serve by the time they are written."""

    def __init__(self, made: Mapping[str, Vectors], contract_key: str) -> None:
        super().__init__(made)
        self.contract_key = contract_key


async def embed_inline(
    texts: Sequence[str], embedder: Embedder, served: str | None, *, most: int = INLINE_VECTORS
) -> tuple[dict[str, Vectors], list[str]]:
    """Vectors of the first `most` texts; the rest, or all where the embedder fails, are left to a job."""
    chosen = embedder_under(embedder, served)
    if chosen is None:
        return {}, ["This process runs another embedding model than the stored vectors; the texts are searchable by their words alone."]
    inline = texts[:most]
    try:
        short = [text for text in inline if chosen.count_tokens(text) <= chosen.max_tokens]
        made = dict(zip(short, await chosen.embed_texts(short), strict=True)) if short else {}
        for text in inline:
            if text not in made:
                made[text] = await embed_whole(chosen, text)
    except (EmbeddingUnavailable, EmbeddingMalformed):
        return {}, ["The embedder did not answer; the texts are searchable by their words and get their vectors by a job."]
    return InlineVectors(made, chosen.contract.key), []


async def embed_whole(embedder: Embedder, text: str) -> Vectors:
    """The vector of a text of any length: the mean over its pieces, unit length. Nothing is cut."""
    pieces = [text[span.start : span.end] for span in split_parts(text, embedder.count_tokens, max_tokens=min(MAX_PART_TOKENS, embedder.max_tokens))]
    mean = (await embedder.embed_texts([piece for piece in pieces if piece.strip()])).mean(axis=0)
    length = float(np.linalg.norm(mean))
    if not np.isfinite(length) or length < 1e-6:
        raise EmbeddingMalformed("the mean of the pieces has no direction")
    return np.asarray(mean / length, dtype=np.float32)
