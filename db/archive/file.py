"""The format of an archive, written and read. `docs/reference/archives.md` describes it for whoever reads one without us.

A ZIP file. Each table is a member `data/<schema>.<table>.copy`: PostgreSQL's COPY text, one line a row, UTF-8. The last
member is `manifest.json`. The archive's comment, its last bytes, has the SHA-256 of the whole file, in which those digits count
as zeros.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import msgspec
from msgspec import Struct

from commonlore.domain.errors import OperatorError

FORMAT, FORMAT_VERSION = "commonlore-archive", 1
_MANIFEST = "manifest.json"
_COMMENT = b"commonlore archive 1 sha256="
_UNSEALED = b"0" * 64
# Text of numbers compresses well at once; higher levels cost twice the time for a twentieth of the size.
_LEVEL = 3
_BLOCK = 1024 * 1024
_MODULUS = 1 << 256

# Rows so far, and how many there will be (None: unknown).
Progress = Callable[[int, int | None], None]


class TableEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table. `row_hash`: the sum of the SHA-256 of each line modulo 2^256, as 64 hexadecimal digits, so that order does not count."""

    schema_name: str
    table_name: str
    columns: tuple[str, ...]
    rows: int
    row_hash: str
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}"

    @property
    def member(self) -> str:
        return f"data/{self.name}.copy"


class SequenceEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A sequence and the last number that it had given."""

    schema_name: str
    sequence_name: str
    last_value: int


class TeamEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    team_id: str
    name: str


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an archive says of itself. `scope` `team`: `teams` has one, and of the queue only its jobs are there."""

    format: str
    format_version: int
    program: str
    scope: str
    teams: tuple[TeamEntry, ...]
    revision: str
    taken_at: datetime
    server: str
    pgvector: str
    tables: tuple[TableEntry, ...]
    sequences: tuple[SequenceEntry, ...]
    left_out: dict[str, str]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


class Tally:
    """Rows, bytes and both hashes of one table's lines, in whatever pieces they come."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        self._sum = 0
        self._whole = hashlib.sha256()
        self._rest = b""

    def add(self, piece: bytes) -> None:
        self.bytes += len(piece)
        self._whole.update(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        self.rows += len(lines)
        for line in lines:
            self._sum += int.from_bytes(hashlib.sha256(line).digest(), "big")

    @property
    def row_hash(self) -> str:
        return f"{self._sum % _MODULUS:064x}"

    @property
    def sha256(self) -> str:
        return self._whole.hexdigest()

    def matches(self, entry: TableEntry) -> bool:
        """Whether these are the entry's rows, in any order."""
        return not self._rest and (self.rows, self.row_hash) == (entry.rows, entry.row_hash)


class ArchiveWriter:
    """A new archive. Until `finish` it has the name `<file>.partial`; nothing half written ever has its own."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = ZipFile(file, "w", ZIP_DEFLATED, compresslevel=_LEVEL, strict_timestamps=False)
        self.tables: list[TableEntry] = []
        self.manifest: Manifest | None = None

    def add_table(self, schema_name: str, table_name: str, columns: tuple[str, ...], pieces: Iterator[bytes]) -> TableEntry:
        tally = Tally()
        member = ZipInfo(f"data/{schema_name}.{table_name}.copy")
        member.compress_type = ZIP_DEFLATED
        with self._zip.open(member, "w", force_zip64=True) as out:
            for piece in pieces:
                tally.add(piece)
                out.write(piece)
        entry = TableEntry(
            schema_name=schema_name,
            table_name=table_name,
            columns=columns,
            rows=tally.rows,
            row_hash=tally.row_hash,
            bytes=tally.bytes,
            sha256=tally.sha256,
        )
        self.tables.append(entry)
        return entry

    def finish(self, manifest: Manifest) -> None:
        self.manifest = manifest
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        self._zip.writestr(_MANIFEST, text)
        self._zip.comment = _COMMENT + _UNSEALED

    def close(self) -> None:
        self._zip.close()


@contextmanager
def new_archive(path: Path, whole: Callable[[Path, Manifest], None]) -> Iterator[ArchiveWriter]:
    """An archive that gets its name when the block has ended, whole and on the disk, readable by its owner alone.

    `whole` is called while it still has its other name; where that raises there is no archive.

    Raises:
        OperatorError: `backup_failed`, the name is taken, another backup is writing it, or the disk refuses.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        if path.exists():
            raise _stopped(f"{path} is there already; give another name")
        with _locked(partial) as file:
            try:
                with closing(ArchiveWriter(file)) as writer:
                    yield writer
                seal(file)
                file.flush()
                os.fsync(file.fileno())
                assert writer.manifest is not None
                whole(partial, writer.manifest)
                os.link(partial, path)  # unlike a renaming it never replaces what came in between
            finally:
                partial.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except FileExistsError as error:
        raise _stopped(f"{path} is there already; give another name") from error
    except OSError as error:
        raise _stopped(f"{path} cannot be written: {error.strerror}") from error


def seal(file: BinaryIO) -> None:
    """Write the checksum of the whole into its place at the end. `file` is open for reading and writing."""
    digest = _digest(file)
    file.seek(-len(_UNSEALED), os.SEEK_END)
    file.write(digest)


def _digest(file: BinaryIO) -> bytes:
    """Of everything but the last 64 bytes, which count as zeros."""
    left = file.seek(0, os.SEEK_END) - len(_UNSEALED)
    file.seek(0)
    found = hashlib.sha256()
    while left > 0 and (piece := file.read(min(_BLOCK, left))):
        found.update(piece)
        left -= len(piece)
    found.update(_UNSEALED)
    return found.hexdigest().encode()


@contextmanager
def _locked(partial: Path) -> Iterator[BinaryIO]:
    """The file for one process. What a killed one left is overwritten."""
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _stopped(f"{partial} is being written by another backup") from error
        os.fchmod(file.fileno(), 0o600)
        file.truncate(0)
        yield file


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stopped(message: str) -> OperatorError:
    return OperatorError("backup_failed", message)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ArchiveReader:
    """An archive that can be read. `check` reads all of it; the rows are compared with the manifest whenever they are read.

    Raises:
        OperatorError: `archive_invalid`, from every method: damaged, cut off, changed, not one of ours, or of a later format; `file_unreadable`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reading():
            self._zip = ZipFile(path)
            self.manifest = self._read_manifest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _read_manifest(self) -> Manifest:
        if not self._zip.comment.startswith(_COMMENT):
            raise self._invalid("is no archive of Commonlore, or one of a later version")
        text = self._zip.read(_MANIFEST)
        try:
            found = msgspec.json.decode(text, type=Manifest)
        except msgspec.DecodeError as error:
            raise self._invalid("has a manifest that this program cannot read") from error
        if (found.format, found.format_version) != (FORMAT, FORMAT_VERSION):
            raise self._invalid("has another format than this program reads")
        if sorted(self._zip.namelist()) != sorted([_MANIFEST, *(table.member for table in found.tables)]):
            raise self._invalid("has other members than its manifest names")
        return found

    def pieces(self, entry: TableEntry) -> Iterator[bytes]:
        """The lines of one table in blocks. After the last one they have been compared with the manifest."""
        tally = Tally()
        with self._reading(), self._zip.open(entry.member) as member:
            while piece := member.read(_BLOCK):
                tally.add(piece)
                yield piece
        if not tally.matches(entry) or (tally.bytes, tally.sha256) != (entry.bytes, entry.sha256):
            raise self._invalid(f"has other rows in {entry.name} than its manifest says")

    def check(self, progress: Progress | None = None) -> None:
        """Read everything: the file by its checksum, then each row."""
        with self._reading(), self.path.open("rb") as file:
            if _digest(file) != self._zip.comment.removeprefix(_COMMENT):
                raise self._invalid("has other bytes than its checksum says")
        done = 0
        for entry in self.manifest.tables:
            for piece in self.pieces(entry):
                done += piece.count(b"\n")
                if progress is not None:
                    progress(done, self.manifest.rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
            raise self._invalid("is damaged, cut off or no archive") from error
        except OSError as error:
            raise OperatorError("file_unreadable", f"{self.path} cannot be read: {error.strerror}") from error

    def _invalid(self, what: str) -> OperatorError:
        return OperatorError("archive_invalid", f"{self.path} {what}")
