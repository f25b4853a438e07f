"""Settings: the environment and one folder, read once into frozen values.

A contradiction stops the start; nothing is clamped. `docs/reference/settings.md` is tested against `FIELDS`.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from commonlore.domain.errors import OperatorError
from commonlore.domain.limits.admission import AdmissionPolicy
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.projection.vector_index import VectorIndexPolicy
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS
from commonlore.domain.recall.fusion import SPACE_FUSIONS

PREFIX = "COMMONLORE_"
# Read by the commands that are clients of a service; not settings of one.
CLIENT_VARIABLES = frozenset(("COMMONLORE_KEY", "COMMONLORE_URL"))


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. `valid` says the range in words; `read` raises ValueError outside it."""

    read: Callable[[str], Any]
    valid: str
    meaning: str


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError
        return number

    return read


def _url(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError
    return text


def _valkey(text: str) -> str:
    if not text.startswith(("redis://", "rediss://", "unix://", "valkey://", "valkeys://")):
        raise ValueError
    return text.replace("valkey", "redis", 1) if text.startswith("valkey") else text


def _networks(text: str) -> tuple[str, ...]:
    return tuple(str(ipaddress.ip_network(part.strip())) for part in text.split(",") if part.strip())


def _contract(text: str) -> str:
    if text not in EVIDENCE_CONTRACTS:
        raise ValueError
    return text


def _space_fusion(text: str) -> str:
    if text not in SPACE_FUSIONS:
        raise ValueError
    return text


def _switch(text: str) -> str:
    if text.lower() not in ("on", "off"):
        raise ValueError
    return text.lower()


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


FIELDS: Mapping[str, Field] = {
    "home": Field(Path, "a folder that can be made", "Where the embedded database, the role passwords and the locks live."),
    "database_url": Field(
        _url,
        "postgresql://...",
        "A PostgreSQL >= 16 with pgvector >= 0.8 to use instead of the embedded one; a role that may create roles and extensions.",
    ),
    "serving_url": Field(_url, "postgresql://...", "The serving role's own address, where `database_url` may not be known to the API."),
    "worker_url": Field(_url, "postgresql://...", "The worker role's own address."),
    "pg_bin": Field(Path, "a folder with `postgres` and `pg_ctl`", "PostgreSQL binaries for the embedded database, instead of the packaged ones."),
    "host": Field(str, "an address or host name", "Where the API listens."),
    "port": Field(_integer(0, 65535), "0 to 65535; 0 takes a free one", "Where the API listens."),
    "allowed_hosts": Field(_hosts, "host names, separated by commas", "Host headers that are answered besides the address the API listens on."),
    "pool_size": Field(_integer(1, 500), "1 to 500", "Database connections of one API process."),
    "api_processes": Field(
        _integer(1, 64),
        "1 to 64",
        "API processes that `commonlore up` serves with, on one socket; each takes about 400 MB, a pool and seats of its own. Several need Linux.",
    ),
    "calls_at_once": Field(
        _integer(1, 10_000),
        "1 to 10000",
        "Calls that one API process takes at once; beyond, it answers 503 at once and takes only what it serves without delay.",
    ),
    "prepared_statements": Field(
        _switch,
        "on or off",
        "Whether statements are prepared once for each connection; off behind a pooler in transaction mode that does not carry them over.",
    ),
    "request_timeout_ms": Field(
        _integer(100, 600_000),
        "100 to 600000",
        "The longest one request may take, in milliseconds; a long body has ten seconds more for each million bytes.",
    ),
    "redis_url": Field(
        _valkey,
        "redis://..., rediss://... or unix://...",
        "A Valkey or Redis where the API processes count calls together; without it they do in PostgreSQL.",
    ),
    "limits": Field(_switch, "on or off", "Whether calls are refused that go beyond the limits of their key or team; they are counted anyway."),
    "trusted_proxies": Field(
        _networks, "addresses or networks, separated by commas", "Proxies whose `X-Forwarded-For` says where a call comes from."
    ),
    "header_timeout_ms": Field(
        _integer(100, 600_000),
        "100 to 600000",
        "A connection that has not sent the whole head of a request within this time is closed, in milliseconds.",
    ),
    "body_limit_bytes": Field(_integer(1024, 64 * 1024 * 1024), "1024 to 67108864", "The largest request body, in bytes."),
    "embedding_threads": Field(_integer(1, 64), "1 to 64", "Threads that embed texts in one process."),
    "query_cache_entries": Field(_integer(0, 1_000_000), "0 to 1000000", "Query vectors kept in memory."),
    "embedders": Field(
        Path, "a TOML file", "Remote embedders, one `[[embedder]]` a contract, besides the local model; see how to change the embedding model."
    ),
    "evidence_contract": Field(
        _contract,
        " or ".join(f"`{name}`" for name in EVIDENCE_CONTRACTS),
        "How a recall orders evidence; `commonlore evaluate` compares them on texts of your own.",
    ),
    "space_fusion": Field(
        _space_fusion,
        " or ".join(f"`{name}`" for name in SPACE_FUSIONS),
        "How a recall fuses the evidence of several spaces: by turns, as the ranking page has it, or by signals that compare across spaces.",
    ),
    "vector_index_rows": Field(
        _integer(100, 1_000_000_000),
        "100 to 1000000000",
        "From how many vectors on a space gets a vector index of its own; below, and while it finds too little, searches are exact.",
    ),
    "resident_vectors_mb": Field(
        _integer(0, 1_000_000),
        "0 to 1000000",
        "Vectors of the spaces that are asked often, kept in an API process, in MB, and three quarters of that for words; 0 keeps none.",
    ),
    "metrics": Field(_switch, "on or off", "Whether `GET /metrics` answers to callers on this machine; see the reference of HTTP."),
    "log_level": Field(str.lower, "debug, info, warning or error", "What is logged; never content, keys or vectors."),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings. `origins` tells where each came from: `default`, `environment` or `argument`."""

    home: Path
    database_url: str | None = None
    serving_url: str | None = None
    worker_url: str | None = None
    pg_bin: Path | None = None
    host: str = "127.0.0.1"
    port: int = 7411
    allowed_hosts: tuple[str, ...] = ()
    pool_size: int = 10
    api_processes: int = 1
    calls_at_once: int = AdmissionPolicy().seats
    prepared_statements: str = "on"
    redis_url: str | None = None
    limits: str = "on"
    trusted_proxies: tuple[str, ...] = ()
    request_timeout_ms: int = 30_000
    header_timeout_ms: int = 10_000
    body_limit_bytes: int = 16 * 1024 * 1024
    embedding_threads: int = 2
    query_cache_entries: int = 10_000
    embedders: Path | None = None
    evidence_contract: str = RankingPolicy().evidence_contract
    space_fusion: str = RankingPolicy().space_fusion
    vector_index_rows: int = VectorIndexPolicy().build_from
    resident_vectors_mb: int = 64
    metrics: str = "off"
    log_level: str = "info"
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def embedded(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url is None and self.serving_url is None


def default_home(environment: Mapping[str, str]) -> Path:
    """Where the data lie unless `COMMONLORE_HOME` says otherwise.

    Root's own home is closed to the account that runs PostgreSQL for root, so root's data go to the system's place.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/commonlore")
    base = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or "~").expanduser() / ".local" / "share"
    return Path(base) / "commonlore"


def read_settings(environment: Mapping[str, str], **arguments: Any) -> Settings:
    """Settings from `COMMONLORE_*` variables; an argument that is not None wins.

    Raises:
        OperatorError: `settings_invalid`, naming the variable and its valid range.
    """
    unknown = sorted(
        name
        for name in environment
        if name.startswith(PREFIX)
        and name[len(PREFIX) :].lower() not in FIELDS
        and name not in CLIENT_VARIABLES
        and not name.startswith(f"{PREFIX}TEST_")
    )
    if unknown:
        raise OperatorError("settings_invalid", f"{unknown[0]} is not a setting; see docs/reference/settings.md")
    values: dict[str, Any] = {}
    origins: dict[str, str] = {field.name: "default" for field in fields(Settings) if field.name != "origins"}
    for name, field in FIELDS.items():
        text = environment.get(PREFIX + name.upper())
        if text:
            try:
                values[name] = field.read(text)
            except ValueError as error:
                raise OperatorError("settings_invalid", f"{PREFIX}{name.upper()} must be {field.valid}") from error
            origins[name] = "environment"
        if arguments.get(name) is not None:
            values[name], origins[name] = arguments[name], "argument"
    values.setdefault("home", default_home(environment))
    settings = Settings(**values, origins=tuple(origins.items()))
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise OperatorError("settings_invalid", f"{PREFIX}LOG_LEVEL must be {FIELDS['log_level'].valid}")
    return settings
