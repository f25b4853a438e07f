"""The file of remote embedders that `COMMONLORE_EMBEDDERS` names: TOML, one `[[embedder]]` a contract."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from commonlore.db.embedding.remote import RemoteSettings
from commonlore.domain.errors import CommonloreError, OperatorError
from commonlore.domain.projection.contract_change import MOST_DIMENSIONS, parse_contract

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[embedder]]`. A key is never in the file: `key_variable` names the environment variable that holds it."""

    api: Literal["openai", "embed"]
    url: str
    model: str
    dimensions: int
    provider: str | None = None
    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = 512
    timeout_s: Annotated[float, Meta(gt=0, le=120)] = 10.0
    key_variable: str | None = None
    fingerprint: str | None = None
    plain_http: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    embedder: list[Entry]


def read_embedders(path: Path, environment: Mapping[str, str]) -> list[RemoteSettings]:
    """
    Raises:
        OperatorError: `settings_invalid`, naming the entry and what is wrong with it.
    """
    try:
        found = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File)
    except OSError as error:
        raise _wrong(f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise _wrong(f"is not as it should be: {error}") from error
    return [_settings(number, entry, environment) for number, entry in enumerate(found.embedder, 1)]


def _settings(number: int, entry: Entry, environment: Mapping[str, str]) -> RemoteSettings:
    if not 1 <= entry.dimensions <= MOST_DIMENSIONS:
        raise _wrong(f"entry {number}: expected 1 to {MOST_DIMENSIONS} dimensions, more cannot be indexed; found {entry.dimensions}")
    address = urlsplit(entry.url)
    if address.scheme not in ("http", "https") or not address.hostname or address.username or address.query:
        raise _wrong(f"entry {number}: `url` must be https://host/path, without a key in it")
    if address.scheme == "http" and address.hostname not in _LOOPBACK and not entry.plain_http:
        raise _wrong(f"entry {number}: texts would go over the network unencrypted; use https, or say `plain_http = true`")
    key = None
    if entry.key_variable is not None:
        key = environment.get(entry.key_variable)
        if not key:
            raise _wrong(f"entry {number}: the environment variable {entry.key_variable} is not set")
    settings = RemoteSettings(
        entry.api, entry.url, entry.model, entry.dimensions, entry.provider or entry.api, entry.max_tokens, entry.timeout_s, key, entry.fingerprint
    )
    try:
        parse_contract(settings.contract.key)
    except CommonloreError as error:
        raise _wrong(f"entry {number}: `provider` and `model` make no key of a contract: {settings.contract.key}") from error
    return settings


def _wrong(what: str) -> OperatorError:
    return OperatorError("settings_invalid", f"the file of COMMONLORE_EMBEDDERS {what}")
