"""A stub of an OpenAI-compatible chat endpoint on a free loopback port, which answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Raw:
    """An answer that is no completion: its status, body and headers, after a delay."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


Answer = str | dict[str, Any] | Raw
Script = Callable[[dict[str, Any], list[dict[str, str]]], Answer]


@dataclass
class ChatEndpoint:
    """`answer` gets the brief and the whole conversation. `asked` keeps every request with its headers."""

    port: int
    answer: Script
    asked: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def chat_endpoint(answer: Script) -> Iterator[ChatEndpoint]:
    """Serves until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.asked.append(({**dict(self.headers), "path": self.path}, request))
            brief = json.loads(request["messages"][1]["content"])
            found = endpoint.answer(brief, request["messages"])
            if not isinstance(found, Raw):
                content = found if isinstance(found, str) else json.dumps(found)
                found = Raw(body=json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())
            time.sleep(found.delay_s)
            try:
                self.send_response(found.status)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(found.body)))
                self.end_headers()
                self.wfile.write(found.body)
            except OSError:
                pass  # who asked has gone

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = ChatEndpoint(server.server_port, answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
