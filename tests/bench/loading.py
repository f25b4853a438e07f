"""Fill a team without waiting for the model: vectors that are there already, and rows that are copied instead of written one by one.

Texts with a relationship go the service's own way of writing, in this process. The others are prepared by the same function and
copied into the tables of evidence as the superuser: the same rows, without the checks of a write.
Vectors of the first `embedded` texts are the model's, kept in a file for the next run, and so are those of the documents of
relationships. Every other text gets a mixture of two of them with noise: as crowded as real texts are, but it says nothing of what
it means. So known items are drawn from the first texts alone, and the table says how many those were.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import msgspec
import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from commonlore.api.service import MemoryOperations
from commonlore.db.assemble import Adapters
from commonlore.db.embedding.local import CONTRACT, LocalEmbedder
from commonlore.db.session import make_pool
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.evidence import duplicate_sha256
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.ports import EmbeddingContract, Vectors
from commonlore.domain.projection.posting import PostedText, blocks, text_postings
from commonlore.domain.remember.prepare import Part, PreparedEvidence, prepare
from commonlore.domain.remember.request import EvidenceProposal, RememberRequest
from commonlore.domain.tenancy.key import parse

# A mixture lies at about 0.8 from each of its two, as a text lies from its nearest in the evaluation sets.
_NOISE = 0.35
_TEXTS_A_CALL = 20


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def embedded_vectors(texts: Sequence[str], cache: Path | None) -> dict[str, Vectors]:
    """The model's vectors by text; those in the file are not made again."""
    known: dict[str, Vectors] = {}
    if cache is not None and cache.exists():
        with np.load(cache) as file:
            known = dict(zip(file["keys"].tolist(), file["vectors"], strict=True))
    missing = [text for text in texts if _digest(text) not in known]
    if missing:
        embedder = LocalEmbedder(threads=2)
        try:
            made = asyncio.run(embedder.embed_texts(missing))
        finally:
            embedder.close()
        known |= {_digest(text): vector for text, vector in zip(missing, made, strict=True)}
        if cache is not None:
            np.savez(cache, keys=np.array(list(known)), vectors=np.array(list(known.values())))
    return {text: known[_digest(text)] for text in texts}


class TableEmbedder:
    """The served contract out of a table. A text that is `mixed` is a mixture that it chooses itself; any other the model embeds."""

    def __init__(self, table: Mapping[str, Vectors], mixed: Iterable[str], model: LocalEmbedder) -> None:
        self._table = dict(table)
        self._known = np.array(list(table.values()))
        self._mixed = frozenset(mixed).difference(self._table)
        self._model = model

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT

    @property
    def max_tokens(self) -> int:
        return 254

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return await self._model.embed_query(text)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        others = [text for text in texts if text not in self._table and text not in self._mixed]
        made = dict(zip(others, await self._model.embed_texts(others), strict=True)) if others else {}
        return np.array([made[text] if text in made else self.vector(text) for text in texts])

    def vector(self, text: str) -> Vectors:
        """Of a text that is in the table or mixed."""
        found = self._table.get(text)
        return self._mixture(text) if found is None else found

    def _mixture(self, text: str) -> Vectors:
        chooser = np.random.default_rng(int(_digest(text)[:16], 16))
        first, second = self._known[chooser.integers(len(self._known), size=2)]
        share = chooser.uniform(0.5, 1.0)
        mixed = share * first + (1 - share) * second + _NOISE * chooser.standard_normal(384) / np.sqrt(384)
        return (mixed / np.linalg.norm(mixed)).astype(np.float32)


async def fill(conninfo: str, key: str, texts: Sequence[str], requests: Callable[[Sequence[str]], dict[str, Any]], embedder: TableEmbedder) -> float:
    """Seconds to remember all texts as the key's holder, in calls of twenty whose body `requests` makes."""
    presented = parse(key)
    assert presented is not None
    pool = make_pool(conninfo, size=4, name="bench")
    await pool.open()
    try:
        operations = MemoryOperations(Adapters(pool=pool, embedder=embedder, policy=RankingPolicy(), timeout_ms=120_000))
        gate = asyncio.Semaphore(4)

        async def one(batch: Sequence[str]) -> None:
            async with gate:
                await operations.remember(presented, msgspec.convert(requests(batch), RememberRequest), correlation_id="bench")

        began = time.perf_counter()
        await asyncio.gather(*(one(texts[start : start + _TEXTS_A_CALL]) for start in range(0, len(texts), _TEXTS_A_CALL)))
        return time.perf_counter() - began
    finally:
        await pool.close()


def copy_texts(admin: str, key: str, texts: Sequence[str], embedder: TableEmbedder, *, batch: int = 5_000) -> float:
    """Seconds to copy new texts without relationships into the shared space of the key's team, which has one member."""
    presented = parse(key)
    assert presented is not None
    began = time.perf_counter()
    with psycopg.connect(admin) as connection:
        connection.execute("set search_path = commonlore, public")
        # Neither checks of foreign keys nor row security for the superuser: what is copied is known to fit.
        connection.execute("set session_replication_role = replica")
        register_vector(connection)
        for start in range(0, len(texts), batch):
            _copy_batch(connection, presented.team_id, texts[start : start + batch], embedder)
            connection.commit()
    return time.perf_counter() - began


def _copy_batch(connection: psycopg.Connection, team_id: UUID, texts: Sequence[str], embedder: TableEmbedder) -> None:
    row = connection.execute(
        "select s.space_epoch, c.profile_id, c.credential_id from space s join credential c using (team_id) "
        "where s.team_id = %s::uuid and s.space_kind = 'team_shared' and s.name is null",
        (team_id,),
    ).fetchone()
    assert row is not None
    epoch, profile_id, credential_id = row
    scope, submission_id, now = (team_id, epoch), new_id(), datetime.now(UTC)
    connection.execute(
        "insert into submission (team_id, space_epoch, submission_id, submission_kind, profile_id, credential_id, request_sha256, known_from) "
        "values (%s, %s, %s, 'remember', %s, %s, sha256('copied'), %s)",
        (*scope, submission_id, profile_id, credential_id, now),
    )
    request = RememberRequest(evidence=[EvidenceProposal(content=text) for text in texts])
    items = [prepare(msgspec.structs.replace(request, evidence=[item]), count_tokens=embedder.count_tokens).evidence[0] for item in request.evidence]
    made = [(new_id(), item) for item in items]
    _copy(
        connection,
        "copy evidence (team_id, space_epoch, evidence_id, submission_id, evidence_index, owner_profile_id, content, content_sha256, "
        "duplicate_sha256, source_type, authority, labels, part_count, known_from) from stdin",
        (
            (
                *scope,
                key,
                submission_id,
                index,
                profile_id,
                item.proposal.content,
                item.content_sha256,
                duplicate_sha256(profile_id, item.proposal),
                item.proposal.source_type,
                item.proposal.authority,
                [],
                len(item.parts),
                now,
            )
            for index, (key, item) in enumerate(made)
        ),
    )
    parts = [(key, item, part) for key, item in made for part in item.parts]
    _copy_search_rows(connection, scope, parts, embedder)


def _copy_search_rows(
    connection: psycopg.Connection, scope: tuple[UUID, int], parts: Sequence[tuple[UUID, PreparedEvidence, Part]], embedder: TableEmbedder
) -> None:
    def text_of(item: PreparedEvidence, part: Part) -> str | None:
        return item.proposal.content[part.start : part.end] if len(item.parts) > 1 else None

    _copy(
        connection,
        "copy evidence_part from stdin",
        ((*scope, key, part.part_no, part.start, part.end, text_of(item, part)) for key, item, part in parts),
    )
    made = blocks(text_postings(PostedText(str(key), part.part_no, part.length, part.frequencies) for key, _, part in parts))
    _copy(
        connection,
        "copy evidence_posting (team_id, space_epoch, term, entries, evidence_ids, codes) from stdin",
        ((*scope, block.term, len(block.keys), [UUID(item) for item in block.keys], list(block.codes)) for block in made),
    )
    statistic_id = new_id()
    _copy(
        connection,
        "copy evidence_statistic from stdin",
        [(*scope, statistic_id, len(parts), sum(part.length for _, _, part in parts), sum(part.part_no == 0 for _, _, part in parts))],
    )
    _copy(
        connection,
        "copy evidence_vector_1 (team_id, space_epoch, evidence_id, part_no, embedding) from stdin",
        ((*scope, key, part.part_no, HalfVector(embedder.vector(part.search_text))) for key, _, part in parts),
    )


def _copy(connection: psycopg.Connection, statement: LiteralString, rows: Iterable[Sequence[object]]) -> None:
    with connection.cursor().copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
