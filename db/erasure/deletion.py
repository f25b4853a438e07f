"""What a worker deletes: driven by the manifest, in the order of the foreign keys, a batch a transaction, counted in the transaction that deletes.

Nothing is kept in memory between two steps: a worker that is killed anywhere leaves a state from which another goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.erasure import manifest
from commonlore.db.erasure.hiding import sample_texts
from commonlore.db.erasure.manifest import Rule
from commonlore.db.erasure.projections import Frontier, forget_words, lock_folding
from commonlore.db.feedback import remove_recalls_of
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.erasure.request import ErasureState, TargetKind

_SQL = statements("erasure_deletion")
_SCOPE = statements("erasure_scope")
_ROWS = statements("erasure")
_COMMUNITIES = statements("community_run")
_TIMEOUT_MS = 300_000
BATCH = 2_000
COLLECTED, EMPTIED = "collected", "emptied"
LISTED = "export"  # the receipt is written from it
_ALL = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure as it stands."""

    erasure_id: UUID
    target_kind: TargetKind
    target_id: UUID | None
    target_sha256: bytes
    reason: str
    actor_profile_id: UUID
    actor_credential_id: UUID
    state: ErasureState
    known_from: datetime
    purge_at: datetime | None
    finished_at: datetime | None
    receipt: str | None

    @property
    def owners(self) -> tuple[UUID | None, UUID | None]:
        """The member and the key that it is of."""
        return self.target_id if self.target_kind == "profile" else None, self.target_id if self.target_kind == "credential" else None


@dataclass(frozen=True, slots=True)
class Scope:
    """An epoch that the erasure reaches into; `whole`: all of it. `steps_done`: what an earlier turn did for good."""

    space_epoch: int
    space_id: UUID
    extent: str
    steps_done: Collection[str] = ()

    @property
    def is_whole(self) -> bool:
        return self.extent == "whole"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tables of a space in the order in which they are deleted from, with the columns of each; and those that nobody classified."""

    tables: Mapping[str, tuple[str, ...]]
    unclassified: tuple[str, ...]

    def rules(self) -> list[tuple[str, Rule]]:
        return [(table, rule) for table in self.tables if (rule := manifest.rule_of(table)) is not None]


@dataclass(frozen=True, slots=True)
class Deletion:
    """One erasure of one team, with the worker's pool."""

    pool: Pool
    team_id: UUID
    erasure_id: UUID

    @asynccontextmanager
    async def opened(self, scope: Scope | None = None) -> AsyncIterator[TeamTransaction]:
        """A transaction of the team, with the epoch of a scope open."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if scope is not None:
                await transaction.enter_erased(self.erasure_id, scope.space_epoch)
            yield transaction

    async def read(self) -> Erasure | None:
        async with self.opened() as transaction:
            row = await (await transaction.execute(_SQL["read_erasure"], erasure_id=self.erasure_id)).fetchone()
        return None if row is None else Erasure(**{**row, "target_sha256": bytes(row["target_sha256"])})

    async def scopes(self) -> list[Scope]:
        """By epoch."""
        async with self.opened() as transaction:
            rows = await (await transaction.execute(_SQL["read_scopes"], erasure_id=self.erasure_id)).fetchall()
        return [Scope(**row) for row in rows]

    async def catalogue(self) -> Catalogue:
        """As the database has it now."""
        async with self.opened() as transaction:
            tables = {row["name"]: tuple(row["columns"]) for row in await (await transaction.execute(_SQL["tables"])).fetchall()}
            references = [(row["name"], row["target"]) for row in await (await transaction.execute(_SQL["references"])).fetchall()]
        tenant = {name: columns for name, columns in tables.items() if "team_id" in columns}
        spaces = [name for name in tenant if name not in manifest.TEAM_TABLES and "space_epoch" in tenant[name]]
        ordered = manifest.in_order(spaces, references)
        return Catalogue({name: tenant[name] for name in ordered}, tuple(manifest.unclassified(tenant)))

    async def set_state(self, state: ErasureState) -> None:
        async with self.opened() as transaction:
            await transaction.execute(_SQL["set_state"], erasure_id=self.erasure_id, state=state)

    async def end_deleted(self, *, now: datetime) -> bool:
        """The deletion's time is over: its spaces are fenced for good, and it is an erasure from here on. False where a hold stands against it."""
        async with self.opened() as transaction:
            await transaction.execute(_SCOPE["lock_team"])
            row = await (await transaction.execute(_SQL["read_erasure"], erasure_id=self.erasure_id)).fetchone()
            if row is None or row["state"] != "deleted" or row["purge_at"] > now:
                return row is not None and row["state"] != "deleted"
            spaces = await (await transaction.execute(_SCOPE["spaces_of_team"])).fetchall()
            wanted = [space for space in spaces if row["target_kind"] == "team" or space["space_id"] == row["target_id"]]
            if await self._is_held(transaction, wanted):
                return False
            for space in wanted:
                added = {"epoch": space["space_epoch"], "space_id": space["space_id"]}
                await transaction.execute(_ROWS["add_scope"], erasure_id=self.erasure_id, extent="whole", **added)
                await transaction.execute(_SCOPE["end_epoch"], epoch=space["space_epoch"], now=now)
                await transaction.execute(_SQL["retire_space"], **added)
            struck = [space["space_id"] for space in wanted]
            await transaction.execute(_ROWS["strike_promotions"], profile_id=None, space_ids=struck, evidence_ids=[])
            await transaction.execute(_SQL["set_state"], erasure_id=self.erasure_id, state="hidden")
        return True

    async def _is_held(self, transaction: TeamTransaction, spaces: list[dict[str, Any]]) -> bool:
        """Whether a hold stands against the spaces, or against any text in them."""
        holds = await (await transaction.execute(_SCOPE["standing_holds"])).fetchall()
        targets = {self.team_id, *(space["space_id"] for space in spaces)}
        if any(hold["target_id"] in targets for hold in holds):
            return True
        for space in spaces if holds else ():
            added = {"erasure_id": self.erasure_id, "epoch": space["space_epoch"], "space_id": space["space_id"], "extent": "whole"}
            await transaction.execute(_ROWS["add_scope"], **added)
            await transaction.enter_erased(self.erasure_id, space["space_epoch"])
            if await (await transaction.execute(_SCOPE["held_texts"], evidence_ids=None)).fetchall():
                return True
        return False

    # -- the steps inside one epoch

    async def collect(self, scope: Scope, catalogue: Catalogue) -> None:
        """What the search at the end needs: of a whole epoch words of its texts, else every id that hangs on what goes.

        Words that texts which stay hold too prove nothing, and are dropped; of a whole epoch no text stays.
        """
        async with self.opened(scope) as transaction:
            if scope.is_whole:
                await sample_texts(transaction, self.erasure_id)
                return
            await transaction.execute(_SQL["forget_common_samples"], erasure_id=self.erasure_id)
            await transaction.execute(_SQL["keep_live_sources"], erasure_id=self.erasure_id)
            while await self._collect_once(transaction, catalogue):
                pass

    async def _collect_once(self, transaction: TeamTransaction, catalogue: Catalogue) -> int:
        new = 0
        for table, rule in catalogue.rules():
            for column in self._ties(catalogue, table, rule) if rule.gives else ():
                new += await self._do(transaction, "collect_rows", table_name=table, id_column=rule.gives, key_column=column)
        return new

    def _ties(self, catalogue: Catalogue, table: str, rule: Rule) -> list[str]:
        """Columns by which rows go: those of the manifest and, on a marked table, the mark."""
        marked = "erasure_id" in catalogue.tables[table] and not rule.keeps_ids
        return list(dict.fromkeys((*rule.ties, *(("erasure_id",) if marked else ()))))

    async def unlink(self, scope: Scope, catalogue: Catalogue) -> None:
        """References that would stand in the way of a batch: of rows that go to others that go, and of rows that stay."""
        async with self.opened(scope) as transaction:
            for table, rule in catalogue.rules():
                for column in rule.lets_go:
                    own = rule.gives or (rule.ties[0] if table == "evidence_source_revision" else None)
                    is_own = (table, column) in _TO_ITSELF
                    parameters = {"table_name": table, "key_column": column, "id_column": own if is_own else None, "extent": scope.extent}
                    await self._do(transaction, "unlink_rows", **parameters)

    async def purge_feedback(self, scope: Scope) -> bool:
        """One batch of what callers said of recalls that showed what goes; whether nothing is left of it."""
        async with self.opened(scope) as transaction:
            deleted = await self._do(transaction, "purge_feedback", extent=scope.extent, most=BATCH)
            await self._count(transaction, "feedback_result", deleted)
        return deleted < BATCH

    async def note_step(self, scope: Scope, step: str) -> None:
        async with self.opened(scope) as transaction:
            await self._note_step(transaction, step)

    async def forget_collected(self) -> None:
        """Something came that nobody had collected, and a foreign key held on to it: the next turn collects anew."""
        async with self.opened() as transaction:
            await transaction.execute(_SQL["forget_step"], erasure_id=self.erasure_id, step=COLLECTED)

    async def _note_step(self, transaction: TeamTransaction, step: str) -> bool:
        """False where it was done before."""
        return await (await transaction.execute(_SQL["note_step"], erasure_id=self.erasure_id, step=step)).fetchone() is not None

    async def purge(self, scope: Scope, table: str, rule: Rule, catalogue: Catalogue) -> bool:
        """One batch of one table; whether nothing is left of it there."""
        if rule.keeps_ids:
            return True
        async with self.opened(scope) as transaction:
            if scope.is_whole:
                return await self._purge_whole(transaction, table)
            if table in _WORDS:
                return await self._purge_words(transaction, table)
            await self._count(transaction, table, await self._purge_special(transaction, table))
            left = False
            for name, most in _together(table):
                for column in self._ties(catalogue, name, manifest.SPACE_TABLES.get(name, rule)):
                    deleted = await self._do(transaction, "purge_rows", table_name=name, key_column=column, most=most)
                    await self._count(transaction, name, deleted)
                    left = left or deleted == most
        return not left

    async def _purge_whole(self, transaction: TeamTransaction, table: str) -> bool:
        left = False
        for name, most in _together(table):
            deleted = await self._do(transaction, "purge_rows", table_name=name, key_column=None, most=most)
            await self._count(transaction, name, deleted)
            left = left or deleted == most
        return not left

    async def _purge_words(self, transaction: TeamTransaction, table: str) -> bool:
        """Once: the counts of the space are corrected by what is still there to be counted."""
        if not await lock_folding(transaction):
            return False
        if await self._note_step(transaction, table):
            await self._count(transaction, table, await forget_words(transaction, self.erasure_id, _WORDS[table]))
        return True

    async def _purge_special(self, transaction: TeamTransaction, table: str) -> int:
        """Rows of tables that are not tied by an id: communities by snapshot, predicates and briefs by key."""
        if table == "predicate_definition":
            return await self._do(transaction, "purge_predicates")
        if table in _BY_SNAPSHOT:
            snapshots = [row["snapshot_id"] for row in await (await transaction.execute(_SQL["unpublished_snapshots"])).fetchall()]
            if snapshots:
                return (await transaction.execute(_COMMUNITIES[_BY_SNAPSHOT[table]], snapshot_ids=snapshots)).rowcount
        if table == "delegated_brief":
            return await self._do(transaction, "purge_briefs")
        return 0

    async def purge_epoch(self, scope: Scope) -> None:
        """The number of an epoch that is empty now. Nothing more is done there."""
        async with self.opened(scope) as transaction:
            if scope.is_whole:
                await self._count(transaction, "space_epoch", await self._do(transaction, "purge_epoch"))
            await self._note_step(transaction, EMPTIED)

    # -- what stands beside the spaces

    async def purge_team(self, table: str) -> bool:
        """One batch of a table of a team that is erased; whether nothing is left of it."""
        left = False
        async with self.opened() as transaction:
            for name, most in _together(table):
                deleted = await self._do(transaction, "purge_team_rows", table_name=name, most=most)
                await self._count(transaction, name, deleted)
                left = left or deleted == most
        return not left

    async def purge_jobs(self, job_id: UUID | None) -> bool:
        """One batch of the work of a team that is erased, save the job that does this; whether nothing is left of it."""
        async with self.opened() as transaction:
            return await self._purge_jobs(transaction, job_id)

    async def _purge_jobs(self, transaction: TeamTransaction, job_id: UUID | None) -> bool:
        deleted = (await transaction.execute(_SQL["forget_jobs"], job_id=job_id, most=BATCH)).rowcount
        await self._count(transaction, "job", deleted)
        return deleted < BATCH

    async def purge_recalls(self, erasure: Erasure) -> bool:
        """One batch of the kept recalls of a member or key that is erased; whether nothing is left of them."""
        profiles, credentials = ([key] if key else [] for key in erasure.owners)
        async with self.opened() as transaction:
            removed = await remove_recalls_of(transaction, profile_ids=profiles, credential_ids=credentials, batch=BATCH)
            await self._count(transaction, "feedback_recall", removed)
        return removed < BATCH

    async def end_names(self, transaction: TeamTransaction, erasure: Erasure, job_id: UUID | None) -> None:
        """The last words: the name of a team, or of a member with its keys, or of a key; of a team also the list of its files and jobs that came since."""
        if erasure.target_kind == "team":
            await self._purge_jobs(transaction, job_id)
            await self._count(transaction, LISTED, await self._do(transaction, "purge_team_rows", table_name=LISTED, most=_ALL))
            await transaction.execute(_SQL["strike_team"])
            return
        profile_id, credential_id = erasure.owners
        await transaction.execute(_SQL["strike_profile"], profile_id=profile_id)
        await transaction.execute(_SQL["strike_keys"], profile_id=profile_id, credential_id=credential_id)

    async def _do(self, transaction: TeamTransaction, statement: str, **parameters: object) -> int:
        row = await (await transaction.execute(_SQL[statement], erasure_id=self.erasure_id, **parameters)).fetchone()
        assert row is not None
        return int(row["row_count"])

    async def _count(self, transaction: TeamTransaction, table: str, deleted: int) -> None:
        if deleted:
            await transaction.execute(_SQL["count_rows"], erasure_id=self.erasure_id, table_name=table, row_count=deleted)


def _together(table: str) -> tuple[tuple[str, int], ...]:
    """The tables that one transaction deletes from, and how many rows at most.

    Sources and their revisions, spaces and their epochs name each other, which is checked at the end of the transaction: they go in one.
    """
    if table in _IN_ONE.values():
        return ()
    if table in _IN_ONE:
        return ((_IN_ONE[table], _ALL), (table, _ALL))
    return ((table, BATCH),)


_IN_ONE = {"evidence_source": "evidence_source_revision", "space": "space_epoch"}


# Columns that refer to the same table.
_TO_ITSELF = frozenset(
    (
        ("evidence_source_revision", "previous_revision_id"),
        ("entity", "merged_into"),
        ("entity_correction", "reverses_id"),
        ("relationship", "identity_alias_of"),
        ("relationship", "corrected_by"),
        ("relationship_support", "copied_from"),
    )
)
# Words of texts and of relationships go with their counts.
_WORDS: Mapping[str, Frontier] = {"evidence_posting": "text", "relationship_posting": "relationship"}
_BY_SNAPSHOT = {
    "community_stale_member": "forget_stale",
    "community_member": "forget_members",
    "community": "forget_communities",
    "community_snapshot": "forget_snapshots",
}
