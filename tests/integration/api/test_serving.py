"""The server that `commonlore up` starts has the bounds of the edge: how long and how large a head may be, and the address."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.support.databases import TestDatabase, clone, drop
from tests.support.server import Service, running_service


@pytest.fixture(scope="module")
def service(template: str) -> Iterator[Service]:
    made: TestDatabase = clone(template)
    with running_service(made, header_timeout_ms=1000) as running:
        yield running
    drop(made.name)


HEAD = b"GET /v1/health/live HTTP/1.1\r\nhost: localhost\r\n"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (HEAD + b"\r\n", b"200"),
        (HEAD, b"408"),
        (HEAD + b"x: " + b"a" * 140_000, b"431"),
        (HEAD.replace(b"live", b"live" + b"a" * 9000) + b"\r\n", b"414"),
    ],
    ids=["a whole head", "an unfinished head", "a large head", "a long address"],
)
def test_a_head_is_bounded(service: Service, sent: bytes, expected: bytes) -> None:
    """The status says which bound it was."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(sent)
        status = connection.recv(64).split(b" ")[1]

    assert expected == status
