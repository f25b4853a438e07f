"""The key that receipts are signed by: made at first use, kept beside the data, readable by its owner alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from commonlore.domain.errors import OperatorError

FILE = "receipt.key"
_SEED = 32


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    """`Signer` over an Ed25519 key."""

    private: Ed25519PrivateKey

    @property
    def public_key(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


def receipt_key(home: Path) -> ReceiptKey:
    """The key of the installation whose folder this is; made on first use (0600), whoever is first.

    Raises:
        OperatorError: `settings_invalid`, the file is no key, or others may read it.
    """
    path = home / FILE
    if not path.exists():
        _make(path)
    seed = path.read_bytes()
    if len(seed) != _SEED:
        raise OperatorError("settings_invalid", f"{path} is not a receipt key of 32 bytes")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise OperatorError("settings_invalid", f"{path} can be read by others; expected mode 0600")
    return ReceiptKey(Ed25519PrivateKey.from_private_bytes(seed))


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(Ed25519PrivateKey.generate().private_bytes_raw())
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was first: its key counts
    finally:
        temporary.unlink()


def is_signed(message: bytes, public_key: bytes, signature: bytes) -> bool:
    """Whether the key signed exactly this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
