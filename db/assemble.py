"""Opens everything outside the process and hands it over as one frozen value: the composition root's only helper."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from commonlore.db.contracts import kept_contracts
from commonlore.db.embedding.cache import QueryVectorCache
from commonlore.db.embedding.configured import read_embedders
from commonlore.db.embedding.local import LocalEmbedder
from commonlore.db.embedding.remote import RemoteEmbedder
from commonlore.db.embedding.several import ContractEmbedders
from commonlore.db.erasure.signing import ReceiptKey, receipt_key
from commonlore.db.errors import stating
from commonlore.db.migrate import head_revision
from commonlore.db.residence import Residence
from commonlore.db.session import Pool, make_pool
from commonlore.db.settings import Settings
from commonlore.db.sql import statements
from commonlore.domain.errors import CommonloreError, OperatorError, Unavailable
from commonlore.domain.ids import NewId, new_id
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.ports import Embedder
from commonlore.domain.projection.vector_index import VectorIndexPolicy
from commonlore.domain.time import Clock, system_clock

_SQL = statements("installation")


@dataclass(frozen=True, slots=True)
class Adapters:
    """What the ways in and the jobs run on. `owner_conninfo` is a worker's alone, where it knows one: only the owner builds indexes."""

    pool: Pool
    embedder: Embedder
    policy: RankingPolicy
    timeout_ms: int
    clock: Clock = system_clock
    new_id: NewId = new_id
    indexes: VectorIndexPolicy = field(default_factory=VectorIndexPolicy)
    owner_conninfo: str | None = field(default=None, repr=False)
    residence: Residence | None = field(default=None, repr=False)
    home: Path | None = None

    def receipts_signed_by(self) -> ReceiptKey:
        """The key of this installation, made at first use.

        Raises:
            OperatorError: `settings_invalid`, there is no folder for it, or the file is no key of ours.
        """
        if self.home is None:
            raise OperatorError("settings_invalid", "a folder for the key that signs receipts is needed: COMMONLORE_HOME")
        return receipt_key(self.home)

    def query_counts(self) -> dict[str, int]:
        """Queries so far by where their vector came from; nothing where none are kept."""
        return asdict(self.embedder.counts) if isinstance(self.embedder, QueryVectorCache | ContractEmbedders) else {}

    async def ready(self) -> None:
        """
        Raises:
            Unavailable: the database does not answer, or is not migrated to this program's revision.
        """
        with stating():
            async with self.pool.connection() as connection:
                row = await (await connection.execute(_SQL["read_revision"])).fetchone()
        if row is None or row["version_num"] != head_revision():
            raise Unavailable("not_ready", "the database is not at this program's revision", retry_after_s=5)


@asynccontextmanager
async def assemble(
    conninfo: str, settings: Settings, *, name: str, make_embedder: Callable[[], Embedder] | None = None, owner_conninfo: str | None = None
) -> AsyncIterator[Adapters]:
    """Open the pool as a serving or worker role and load the model; both are closed afterwards.

    Raises:
        OperatorError: `role_unsafe`, the role is a superuser, owns tables or passes row security; `model_invalid`.
    """
    local = LocalEmbedder(threads=settings.embedding_threads) if make_embedder is None else None
    remote = [RemoteEmbedder(found) for found in read_embedders(settings.embedders, os.environ)] if settings.embedders else []
    embedder = _together(local or _made(make_embedder), remote, settings.query_cache_entries)
    pool = make_pool(conninfo, size=settings.pool_size, name=name, prepare=settings.prepared_statements == "on")
    try:
        await pool.open()
        await require_safe_role(pool)
        if isinstance(embedder, ContractEmbedders):
            with contextlib.suppress(CommonloreError):  # not migrated yet: the first recall finds out
                embedder.serve((await kept_contracts(pool))[0].contract_key)
        policy = RankingPolicy(evidence_contract=settings.evidence_contract, space_fusion=settings.space_fusion)
        indexes = VectorIndexPolicy(build_from=settings.vector_index_rows)
        yield Adapters(
            pool=pool,
            embedder=embedder,
            policy=policy,
            timeout_ms=settings.request_timeout_ms,
            indexes=indexes,
            owner_conninfo=owner_conninfo,
            residence=Residence(settings.resident_vectors_mb * 1_000_000) if settings.resident_vectors_mb else None,
            home=settings.home,
        )
    finally:
        await pool.close()
        for one in remote:
            await one.close()
        if local is not None:
            local.close()


def _together(bare: Embedder, remote: Sequence[RemoteEmbedder], entries: int) -> Embedder:
    """One embedder, or several by contract, each with a memory of its queries."""
    if isinstance(bare, ContractEmbedders):
        return bare
    kept: list[Embedder] = [QueryVectorCache(one, entries=entries) if entries else one for one in (bare, *remote)]
    return ContractEmbedders(kept) if remote else kept[0]


def _made(make_embedder: Callable[[], Embedder] | None) -> Embedder:
    assert make_embedder is not None
    return make_embedder()


async def require_safe_role(pool: Pool) -> None:
    """
    Raises:
        OperatorError: `role_unsafe`.
    """
    with stating():
        async with pool.connection() as connection:
            row = await (await connection.execute(_SQL["read_role"])).fetchone()
    if row is None or row["unsafe"]:
        raise OperatorError("role_unsafe", "this process may not run as a superuser, an owner of tables or a role that passes row security")
