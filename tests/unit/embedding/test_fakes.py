"""The fake embedders keep the port's promises, so tests that use them mean something."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from commonlore.domain.ports import Embedder, EmbeddingMalformed, EmbeddingUnavailable
from tests.support.embedders import FailingEmbedder, HashEmbedder, Malformation, MalformedEmbedder


async def test_equal_texts_have_equal_vectors_of_length_one() -> None:
    """Alone, in a batch, as query or as text."""

    embedder: Embedder = HashEmbedder()

    batch = await embedder.embed_texts(["the night porter", "!?", "the vault pin"])

    assert batch.shape == (3, 384)
    assert batch[0].tolist() == (await embedder.embed_query("the night porter")).tolist()
    assert np.allclose(1, np.linalg.norm(batch, axis=1))


async def test_shared_words_make_texts_near() -> None:
    """The only meaning that the fake knows."""

    embedder = HashEmbedder()
    porter, watch, other = await embedder.embed_texts(["the night porter", "the night watch", "seven green apples"])

    assert porter @ watch > 0.5 > abs(porter @ other)


async def test_fakes_have_contracts_of_their_own() -> None:
    """No test can mix up the vectors of two embedders unnoticed."""

    embedders = [HashEmbedder(), HashEmbedder(64), FailingEmbedder(), MalformedEmbedder("nan")]

    assert len({embedder.contract.key for embedder in embedders}) == 4


async def test_texts_beyond_the_bound_are_refused() -> None:
    """As the real one does."""

    with pytest.raises(ValueError, match="at most 254"):
        await HashEmbedder().embed_texts(["word " * 255])


@pytest.mark.parametrize("reason", ["not_configured", "unreachable", "timed_out", "rejected"])
async def test_a_failing_embedder_fails_with_its_reason(reason: str) -> None:
    """For queries and for texts."""

    embedder = FailingEmbedder(reason)

    with pytest.raises(EmbeddingUnavailable, match=reason):
        await embedder.embed_query("a")
    with pytest.raises(EmbeddingUnavailable, match=reason):
        await embedder.embed_texts(["a"])


@pytest.mark.parametrize("kind", get_args(Malformation))
async def test_a_malformed_embedder_is_always_found_out(kind: Malformation) -> None:
    """Every kind of malformation ends as the same error; texts without the marker succeed (B041)."""

    embedder = MalformedEmbedder(kind, marker="poison")

    with pytest.raises(EmbeddingMalformed):
        await embedder.embed_query("poison")
    with pytest.raises(EmbeddingMalformed):
        await embedder.embed_texts(["good", "poison"])
    assert (await embedder.embed_texts(["good"])).shape == (1, 384)
