"""The receipt of an erasure: what was erased, by whom, when and why, what the search found; signed, so that anybody can check it later.

The signature is Ed25519 over the receipt in one canonical form of JSON. A receipt holds no id and no word of what was erased.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

import msgspec

from commonlore.domain.erasure.request import TargetKind
from commonlore.domain.time import render_instant

FORMAT = 1


class Signer(Protocol):
    """A private key for signatures."""

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        ...

    def sign(self, message: bytes) -> bytes:
        """64 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class CarryingExport:
    """A file made from the rows before they went. `carries`: `found`, `possible` or `missing`."""

    export_id: UUID
    export_kind: str
    known_from: datetime
    carries: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """`deleted`: rows by table. `left`: rows that the search found, by table; empty where nothing is left. `tables`: how many were searched."""

    erasure_id: UUID
    team_id: UUID
    target_kind: TargetKind
    target_sha256: bytes
    reason: str
    actor_profile_id: UUID
    actor_credential_id: UUID
    requested_at: datetime
    finished_at: datetime
    deleted: Mapping[str, int]
    left: Mapping[str, int]
    tables: int
    samples: int
    unclassified: tuple[str, ...]
    exports: tuple[CarryingExport, ...]

    @property
    def is_complete(self) -> bool:
        return not self.left and not self.unclassified


def render(receipt: Receipt) -> dict[str, Any]:
    """The receipt as it is signed, without its signature."""
    return {
        "format": FORMAT,
        "erasure_id": str(receipt.erasure_id),
        "team_id": str(receipt.team_id),
        "target_kind": receipt.target_kind,
        "target_sha256": receipt.target_sha256.hex(),
        "reason": receipt.reason,
        "actor": {"profile_id": str(receipt.actor_profile_id), "credential_id": str(receipt.actor_credential_id)},
        "requested_at": render_instant(receipt.requested_at),
        "finished_at": render_instant(receipt.finished_at),
        "complete": receipt.is_complete,
        "deleted_rows": {table: receipt.deleted[table] for table in sorted(receipt.deleted)},
        "check": {
            "tables_searched": receipt.tables,
            "text_samples": receipt.samples,
            "rows_left": {table: receipt.left[table] for table in sorted(receipt.left)},
            "tables_unclassified": list(receipt.unclassified),
        },
        "exports_to_destroy": [
            {"export_id": str(item.export_id), "kind": item.export_kind, "made_at": render_instant(item.known_from), "carries": item.carries}
            for item in receipt.exports
        ],
    }


def canonical(content: Mapping[str, Any]) -> bytes:
    """The one form that is signed: UTF-8 JSON, keys in order, no blanks."""
    return msgspec.json.encode(content, order="sorted")


def key_id(public_key: bytes) -> str:
    """By which a key is told from others: 16 hexadecimal digits of its hash."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def sign(content: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """The content with `signature`: the algorithm, the key and the signature, in base64."""
    signature = signer.sign(canonical(content))
    return {
        **content,
        "signature": {
            "algorithm": "Ed25519",
            "key_id": key_id(signer.public_key),
            "public_key": base64.b64encode(signer.public_key).decode(),
            "value": base64.b64encode(signature).decode(),
        },
    }


def signed_parts(document: Mapping[str, Any]) -> tuple[bytes, bytes, bytes] | None:
    """The bytes that were signed, the public key named in the receipt, and the signature; None where it is no receipt."""
    signature = document.get("signature")
    if not isinstance(signature, dict) or signature.get("algorithm") != "Ed25519" or document.get("format") != FORMAT:
        return None
    try:
        public_key = base64.b64decode(str(signature.get("public_key", "")), validate=True)
        value = base64.b64decode(str(signature.get("value", "")), validate=True)
    except (binascii.Error, ValueError):
        return None
    return canonical({name: value_ for name, value_ in document.items() if name != "signature"}), public_key, value
