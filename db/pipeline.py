"""Several statements in one round trip, through the pipeline of libpq itself.

A recall asks some sixteen statements, and a cursor for each of them took a quarter of the time that the process spends on it. Here the
statements of a pipeline are sent together, and what the server answers is read once for all of them.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any, Generic, LiteralString, Self, TypeVar

import msgspec
import psycopg
from psycopg import AsyncConnection, OperationalError, abc
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import DictRow, TupleRow
from psycopg.types.json import set_json_loads
from psycopg.waiting import Ready, Wait

from commonlore.db.arrays import array_of

Row = TypeVar("Row", DictRow, TupleRow)
_PLACE = re.compile(r"%(?:%|\((\w+)\)s(?=(?:::(\w+\[\]))?))")
# Statements that a connection keeps prepared, as many as psycopg of its own; those of a vector index hold the number of a space, so there is no end of them.
MOST_PREPARED = 100
_FAILED, _SKIPPED = (ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE), ExecStatus.PIPELINE_ABORTED


class Connection(AsyncConnection[DictRow]):
    """A connection that knows which statements of pipelines the server has prepared: by text and types of parameters, the longest unused first."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.prepared: OrderedDict[tuple[str, tuple[int, ...]], bytes] = OrderedDict()
        self.prepared_ever = 0
        set_json_loads(_json_read, self)

    @cached_property
    def transformer(self) -> abc.Transformer:
        """One for all pipelines: which class reads or writes a type is looked up once."""
        return Transformer(self)

    def _deallocate(self, name: bytes | None) -> PQGen[None]:
        """psycopg frees every statement of the session after a ROLLBACK, those that it did not prepare among them."""
        if name is None:
            self.prepared.clear()
        return super()._deallocate(name)


class Asked(Generic[Row]):
    """The rows of one statement of a pipeline, once they are read."""

    def __init__(self, pipeline: Pipeline, read: Callable[[abc.Transformer, PGresult], list[Row]]) -> None:
        self._pipeline = pipeline
        self._read: Callable[[abc.Transformer, PGresult], list[Row]] = read
        self._rows: list[Row] | None = None

    @property
    def is_read(self) -> bool:
        """Whether its rows are here: not where it or one before it failed."""
        return self._rows is not None

    async def fetchall(self) -> list[Row]:
        """
        Raises:
            psycopg.Error: of the first statement of the pipeline that failed.
        """
        if self._rows is None:
            await self._pipeline.receive()
        assert self._rows is not None
        return self._rows

    async def fetchone(self) -> Row | None:
        rows = await self.fetchall()
        return rows[0] if rows else None

    async def fetch_early(self) -> list[Row]:
        """`fetchall` while the server is at what was asked after it."""
        if self._rows is None:
            await self._pipeline.receive(until=self)
        return await self.fetchall()

    def take(self, result: PGresult) -> None:
        """Keep the rows of the statement's result."""
        self._rows = self._read(self._pipeline.transformer, result)


class Pipeline:
    """An asynchronous context on a connection that is in no other pipeline. What was not read inside is read at its end."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pgconn: PGconn = connection.pgconn
        self.transformer = connection.transformer
        # Whose each result to come is, and what is done with it.
        self._sent: deque[tuple[Asked[Any] | None, Callable[[PGresult], None]]] = deque()
        self._preparing: dict[tuple[str, tuple[int, ...]], bytes] = {}

    async def __aenter__(self) -> Self:
        self._pgconn.enter_pipeline_mode()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                await self.receive()
            elif issubclass(kind, Exception) and self._sent:
                with suppress(psycopg.Error):
                    await self._drain()
        finally:
            self.transformer.set_pgresult(None)  # which may be megabytes
            # Refused where something is still to be read: then the connection stays in the pipeline, and is of no more use.
            with suppress(OperationalError):
                self._pgconn.exit_pipeline_mode()

    def ask(self, statement: LiteralString, parameters: Mapping[str, object] | None = None) -> Asked[DictRow]:
        """Put a statement into the pipeline; its rows are dicts."""
        return self._ask(statement, parameters or {}, _dicts)

    def ask_tuples(self, statement: LiteralString, parameters: Mapping[str, object] | None = None) -> Asked[TupleRow]:
        """`ask` with plain tuples as rows."""
        return self._ask(statement, parameters or {}, _tuples)

    def send(self) -> None:
        """Let the server begin with what was asked so far. Each time costs a call of the system and wakes another process."""
        self._pgconn.flush()

    async def receive(self, until: Asked[Any] | None = None) -> None:
        """Read the rows of everything that was asked, each as it comes, or only those `until` a statement.

        Raises:
            psycopg.Error: of the first statement that failed; those after it were not run.
        """
        if not self._sent:
            return
        if until is None:
            self._pgconn.pipeline_sync()
        else:
            self._pgconn.send_flush_request()
        failed = await self.connection.wait(self._exchange(until))
        if failed is None:
            return
        if until is not None:
            await self._drain()
        raise error_from_result(failed, encoding=self.transformer.encoding)

    async def _drain(self) -> None:
        self._pgconn.pipeline_sync()
        await self.connection.wait(self._exchange(None))

    def _ask(self, statement: LiteralString, parameters: Mapping[str, object], read: Callable[[abc.Transformer, PGresult], list[Row]]) -> Asked[Row]:
        query, casts = _compiled(statement)
        asked = Asked(self, read)
        values, formats, types = self._dumped([parameters[name] for name in casts], list(casts.values())) if casts else ((), (), ())
        name = self._prepared(statement, query, types)
        if name is None:
            self._pgconn.send_query_params(query, values, param_types=types, param_formats=formats, result_format=Format.BINARY)
        else:
            self._pgconn.send_query_prepared(name, values, param_formats=formats, result_format=Format.BINARY)
        self._sent.append((asked, asked.take))
        return asked

    def _dumped(self, given: list[object], casts: list[str]) -> tuple[Sequence[Any], Sequence[Format], tuple[int, ...]]:
        """Parameters as they are sent: values, formats, and the types of those whose form says it. The cast of any other says its type."""
        arrays: dict[int, bytes] = {}
        for place, value in enumerate(given):
            if type(value) is list and (array := array_of(value, casts[place])) is not None:
                arrays[place], given[place] = array, None
        # A number in the database's own form would have a type by its size, and the statement a plan for each.
        values = list(self.transformer.dump_sequence(given, [PyFormat.TEXT if isinstance(value, (int, list)) else PyFormat.AUTO for value in given]))
        formats, types = list(self.transformer.formats or ()), list(self.transformer.types or ())
        for place, form in enumerate(formats):
            if form != Format.BINARY:
                types[place] = 0
        for place, array in arrays.items():
            values[place], formats[place], types[place] = array, Format.BINARY, 0
        return values, formats, tuple(types)

    def _prepared(self, statement: str, query: bytes, types: tuple[int, ...]) -> bytes | None:
        """The name under which the server has the statement, once it has read what was sent; None on a connection that prepares none."""
        if self.connection.prepare_threshold is None:
            return None
        key, kept = (statement, types), self.connection.prepared
        name = kept.get(key)
        if name is not None:
            kept.move_to_end(key)
            return name
        if key in self._preparing:
            return self._preparing[key]
        while len(kept) >= MOST_PREPARED:
            _, old = kept.popitem(last=False)
            self._pgconn.send_query_params(b"deallocate " + old, [])
            self._sent.append((None, _ignore))
        self.connection.prepared_ever += 1
        name = self._preparing[key] = b"pipeline_%d" % self.connection.prepared_ever
        self._pgconn.send_prepare(name, query, param_types=types)
        self._sent.append((None, lambda _: kept.__setitem__(key, self._preparing.pop(key))))
        return name

    def _exchange(self, until: Asked[Any] | None) -> Generator[Wait, Ready | int, PGresult | None]:
        """Take one result for each statement, to the end of a synchronisation or `until` a statement's; the first failure, after which none is taken."""
        pgconn, failed, between = self._pgconn, None, False
        while pgconn.flush():
            if (yield Wait.RW) & Ready.R:
                pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                yield Wait.R
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                if between or pgconn.status == ConnStatus.BAD:
                    raise OperationalError("the connection is lost")
                between = True
                continue
            between = False
            if result.status == ExecStatus.PIPELINE_SYNC:
                return failed
            if not self._sent:
                raise OperationalError("the connection is lost")
            asked, take = self._sent.popleft()
            if result.status in _FAILED:
                failed = failed or result
            elif failed is None and result.status != _SKIPPED:
                take(result)
            if asked is until is not None:
                return failed


@lru_cache(maxsize=2_000)
def _compiled(statement: LiteralString) -> tuple[bytes, dict[str, str]]:
    """The statement with numbered parameters, and the type of array that each is first cast to, where it is one."""
    numbers: dict[str, int] = {}
    casts: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        if not found[1]:
            return "%"
        casts.setdefault(found[1], found[2] or "")
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    return _PLACE.sub(numbered, statement).encode(), casts


def _tuples(transformer: abc.Transformer, result: PGresult) -> list[TupleRow]:
    if result.status != ExecStatus.TUPLES_OK:
        return []
    transformer.set_pgresult(result, set_loaders=True, format=Format.BINARY)
    return transformer.load_rows(0, result.ntuples, tuple)


def _dicts(transformer: abc.Transformer, result: PGresult) -> list[DictRow]:
    names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
    return [dict(zip(names, row, strict=True)) for row in _tuples(transformer, result)]


def _json_read(data: bytes | str) -> Any:
    """JSON of the database. What msgspec does not take, a number beyond all floats, is for the standard library to say."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)


def _ignore(_: PGresult) -> None:
    """What a statement that is no longer kept is freed with."""
