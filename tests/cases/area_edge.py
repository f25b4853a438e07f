"""json, http, mcp, secrets: what the edge takes and refuses with the real operations behind it, and what it keeps to itself."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psutil

from tests.cases.adapter import LEAK, Actor, World, case, read_strictly, refusal, refused, split_of
from tests.support.memory import a_relationship


@case("B099-a")
def a_name_given_twice_is_refused(world: World) -> None:
    ann = world.actor()
    answers = [ann.post("/v1/recall_memory", raw=world.given["http"]["body_raw"]), ann.post("/v1/recall_memory", raw='{"query":"a","query":"a"}')]

    assert {(400, "malformed_body")} == {refusal(answer)[:2] for answer in answers}


def _answers(world: World) -> list[Any]:
    """One answer of each operation, with every kind of content."""
    ann = world.actor()
    ann.ingest("Mark still works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")])
    made = ann.ingest(
        "Mark works on Orion.",
        relationships=[a_relationship("Mark", "works_on", "Orion")],
        metadata={"n": 1.5e300, "i": 2**53, "f": 0.1, "nested": [None, True, {"ü": "\U0001f600"}]},
        occurred_at="2026-01-01T00:00:00.000001Z",
    )
    traced = ann.trace(split_of(made)["relationship_id"], page_size=1, max_depth=2)
    return [made, ann.recall("Orion"), traced, ann.mcp("recall_memory", {"query": "Orion"})]


def _numbers_named_like_ids(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers_named_like_ids(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers_named_like_ids(item, name)
    elif name.endswith(("_id", "_ids", "cursor")) and value is not None and not isinstance(value, str):
        yield name


@case("B100-b")
def ids_and_cursors_are_strings(world: World) -> None:
    answers = _answers(world)

    assert any(isinstance(answer.get("next_cursor"), str) for answer in answers)
    assert [] == [name for answer in answers for name in _numbers_named_like_ids(answer)]
    assert UUID(answers[1]["results"][0]["evidence_id"])


@case("B101-a")
def a_number_beyond_64_bits_is_refused(world: World) -> None:
    answer = world.actor().post("/v1/recall_memory", raw='{"query":"x","limit":99999999999999999999}')

    assert (422, "invalid_input", "/limit") == refusal(answer)


@case("B103-a")
def a_body_that_is_no_object_is_refused(world: World) -> None:
    ann = world.actor()
    answers = {body: ann.post("/v1/recall_memory", raw=body) for body in world.given["http"]["bodies_raw"]}

    assert {body: (400, "malformed_body") for body in answers} == {body: refusal(answer)[:2] for body, answer in answers.items()}


@case("B104-b")
def every_answer_is_strict_json(world: World) -> None:
    """Every answer that the adapter gets is read strictly; here each kind once, by its bytes."""
    ann = world.actor()
    for answer in _answers(world):
        assert answer == read_strictly(json.dumps(answer, allow_nan=False).encode())
    failures = [
        ann.post("/v1/remember", {"evidence": []}),
        ann.post("/v1/nowhere", {}),
        ann.get("/v1/recall_memory"),
        ann.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "nothing"}),
    ]
    assert [422, 404, 405, 200] == [answer.status_code for answer in failures]
    assert all(isinstance(read_strictly(answer.content), dict) for answer in failures)


@case("B189-b")
def a_misspelt_or_unknown_field_is_refused(world: World) -> None:
    ann = world.actor()
    bodies = [*world.given["http"]["bodies"], {"query": "x", "vaild_at": "2026-01-01T00:00:00Z"}]
    answers = [ann.post("/v1/recall_memory", body) for body in bodies]

    assert {(422, "invalid_input")} == {refusal(answer)[:2] for answer in answers}
    assert "did you mean valid_at" in answers[-1].text


@case("B186-a")
def a_body_beyond_the_limit_costs_no_memory(world: World) -> None:
    ann, limit = world.actor(), world.service.settings.body_limit_bytes
    process, peak, done = psutil.Process(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], process.memory_info().rss)

    def pieces() -> Iterator[bytes]:
        piece = b" " * 65536
        for _ in range(limit // len(piece)):
            yield piece
        yield b"xx"

    gc.collect()
    before = process.memory_info().rss
    watcher = threading.Thread(target=watch)
    watcher.start()
    kinds = {"json": "application/json", "form": "multipart/form-data; boundary=x"}
    headers = {"content-type": kinds["json"], "content-length": str(limit + 1)}
    try:
        chunked = ann.http.post("/v1/remember", content=pieces(), headers={"content-type": kinds["json"]})
        declared = ann.http.post("/v1/remember", content=pieces(), headers={**headers, "content-length": str(limit + 2)})
        form = ann.http.post("/v1/remember", content=pieces(), headers={"content-type": kinds["form"]})
    finally:
        done.set()
        watcher.join()

    assert [413, 413, 415] == [answer.status_code for answer in (chunked, declared, form)]
    assert peak[0] - before < 3 * limit


@case("B188-a")
def connections_that_drip_are_closed(world: World) -> None:
    """50 connections and a deadline of 1 s instead of 500 and 30 s."""
    with world.own(header_timeout_ms=1000) as own:
        ann = own.actor()
        ann.ingest("kumquat")

        async def drip() -> bool:
            """Whether the server ended it."""
            reader, writer = await asyncio.open_connection("127.0.0.1", own.service.port)
            try:
                for byte in b"POST /v1/recall_memory HTTP/1.1\r\n":
                    writer.write(bytes([byte]))
                    await writer.drain()
                    try:
                        async with asyncio.timeout(0.2):
                            await reader.read(1)
                        return True
                    except TimeoutError:
                        continue
            except ConnectionError:
                return True
            finally:
                writer.close()
            return False

        async def ask() -> float:
            start = time.monotonic()
            assert ["kumquat"] == await asyncio.to_thread(ann.contexts, "kumquat")
            return time.monotonic() - start

        async def run() -> tuple[list[bool], list[float], list[float]]:
            alone = [await ask() for _ in range(10)]
            drips = [asyncio.create_task(drip()) for _ in range(50)]
            await asyncio.sleep(0.3)
            beside = [await ask() for _ in range(10)]
            return list(await asyncio.gather(*drips)), alone, beside

        closed, alone, beside = asyncio.run(run())

    assert all(closed)
    assert min(beside) < 20 * sorted(alone)[5]


@case("B194-a")
def no_refusal_tells_of_the_machinery(world: World) -> None:
    """The adapter looks at every refusal of every case; here a round of them with content that breaks things."""
    ann = world.actor()
    odd: list[Any] = ["'; drop table evidence; --", "%s %(x)s {0}", "\\x00", "a" * 600, 2**63, -1, None, [], {}, "$1", "\u202e"]
    answers = []
    for value in odd:
        for tool, body in (
            ("recall_memory", {"query": value}),
            ("recall_memory", {"query": "x", "known_evidence_ids": [value]}),
            ("trace_memory", {"relationship_id": value}),
            ("trace_memory", {"relationship_id": str(uuid4()), "cursor": value}),
            ("remember", {"evidence": [{"content": value, "source": value}], "idempotency_key": value}),
            ("remember", {"evidence": [{"content": "x"}], "relationships": [value]}),
        ):
            answers.append(ann.post(f"/v1/{tool}", body))
            answers.append(ann.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": body}}))
    refused_ = [answer for answer in answers if answer.status_code >= 400]

    assert len(refused_) > 40
    assert [] == [answer.text for answer in answers if "result" not in answer.text and LEAK.search(answer.text)]
    failed = [answer.json()["result"] for answer in answers if "isError" in answer.text]
    assert [] == [result for result in failed if result["isError"] and LEAK.search(json.dumps(result))]
    assert {200, 422, 404} >= {answer.status_code for answer in answers}


@case("B195-b")
def a_form_of_a_foreign_page_stores_nothing(world: World) -> None:
    ann = world.actor()
    body = '{"evidence":[{"content":"stored by a foreign page"}]}'
    answers = [
        ann.post("/v1/remember", raw=body, **{"content-type": "text/plain", "origin": "https://evil.example"}),
        ann.post("/v1/remember", raw=body, **{"content-type": "text/plain"}),
        ann.post("/v1/remember", raw=body, origin="https://evil.example"),
    ]

    assert [403, 415, 403] == [answer.status_code for answer in answers]
    assert [] == ann.contexts("foreign page")


@case("B196-a")
def a_strange_address_is_the_callers_fault(world: World) -> None:
    ann = world.actor()
    paths = [path.replace("/x", "/v1/recall_memory", 1).replace("<64 KB>", "a" * 60_000) for path in world.given["http_get"]]
    statuses = [ann.get(path).status_code for path in paths]

    assert [] == [status for status in statuses if not 400 <= status < 500]
    assert statuses[-1] in (414, 431)


@case("B179-b")
def a_long_history_comes_in_pages(world: World) -> None:
    ann = world.actor()
    proposals = [a_relationship("Mark", "works_on", "Orion", ref=f"r{number}", evidence=(number,)) for number in range(20)]
    keys = set()
    for turn in range(3):
        evidence = [{"content": f"Mark works on Orion, note {turn}-{number}."} for number in range(20)]
        keys.add(split_of(ann.remember(evidence=evidence, relationships=proposals))["relationship_id"])
    (key,) = keys
    sections = ("observations", "evidence_supports", "transitions", "verification_events")
    seen: dict[str, list[str]] = {name: [] for name in sections}
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = ann.mcp("trace_memory", {"relationship_id": key, "page_size": 7} | ({"cursor": cursor} if cursor else {}))["structuredContent"]
        assert max(len(page[name]) for name in sections) <= 7
        for name in sections:
            seen[name] += [json.dumps(row, sort_keys=True) for row in page[name]]
        cursor, pages = page["next_cursor"], pages + 1

    assert 9 == pages
    assert 60 == len(seen["evidence_supports"]) == len(set(seen["evidence_supports"]))
    whole = ann.trace(key, page_size=500)
    assert {name: [json.dumps(row, sort_keys=True) for row in whole[name]] for name in sections} == seen
    assert whole["next_cursor"] is None


@case("B184-a")
def an_instruction_in_a_text_is_text(world: World) -> None:
    """It is held back until a person releases it; then it comes back as it was written, and nothing else moves."""
    ann = world.actor(scopes=("read", "write", "admin"))
    text = world.given["seed"]
    ann.ingest("an ordinary text about results")
    before = ann.mcp("recall_memory", {"query": "ordinary results"})["structuredContent"]
    stored = ann.ingest(text)["evidence"][0]
    held = ann.mcp("recall_memory", {"query": "previous instructions"})["structuredContent"]
    ann.post("/v1/admin/release_evidence", {"evidence_ids": [stored["evidence_id"]], "reason": "a test of what is shown"}).raise_for_status()
    with world.embedder_off():
        found = ann.mcp("recall_memory", {"query": "ignore previous instructions"})
    listed = ann.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).text
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    greeted = ann.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).text

    content = found["structuredContent"]
    assert "evidence_quarantined" == stored["reason"]
    assert text not in [item["context"] for item in held["results"]]
    assert [text] == [item["context"] for item in content["results"]]
    assert content == json.loads(found["content"][0]["text"])
    content["results"][0]["context"] = ""
    assert "previous instructions" not in json.dumps(content) + listed + greeted
    assert set(before) == set(content)


@refused("B175-b", "the transport is stateless (decisions.md 3): a session id is neither given nor needed, so its absence is no error")
def no_session_is_needed(world: World) -> None:
    answer = world.actor().post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert 200 == answer.status_code
    assert "mcp-session-id" not in answer.headers
    assert answer.json()["result"]["tools"]


@refused(
    "B180-a",
    "tool errors are is_error with structured content (decisions.md 3): the published client reads code and remediation there; the text names "
    "the field and the bound all the same",
)
def a_failed_call_has_text_and_structure(world: World) -> None:
    result = world.actor().mcp("recall_memory", {"query": "x", "limit": 999})

    assert result["isError"] is True
    assert result["structuredContent"] == json.loads(result["content"][0]["text"])
    assert re.search(r"/limit.*from 1 to 50", result["content"][0]["text"])


@refused(
    "B182-a",
    "both ways in refuse a wrong type alike (product.md: errors name the nearest valid value; nothing is guessed), and the refusal says which "
    "type is expected, so that an agent can repair its call",
)
def a_number_in_quotes_is_refused_alike(world: World) -> None:
    ann: Actor = world.actor()
    arguments = {"query": "x", "limit": "5"}
    http, mcp = ann.post("/v1/recall_memory", arguments), ann.mcp("recall_memory", arguments)["structuredContent"]
    listed = ann.post("/v1/recall_memory", {"query": "x", "known_evidence_ids": f'["{uuid4()}"]'})

    assert (422, "invalid_input", "/limit") == refusal(http)
    assert refusal(http)[1:] == (mcp["code"], mcp["errors"][0]["pointer"])
    assert "an integer from 1 to 50" in http.text
    assert (422, "invalid_input", "/known_evidence_ids") == refusal(listed)


@case("B198-a")
def no_secret_is_written_anywhere(world: World) -> None:
    """A round of everything at DEBUG, failures included; then all that was logged and every row of every table is searched."""
    records: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not record.name.startswith(("httpx", "httpcore")):  # the client of the test
                records.append(self.format(record))

    root, handler, level = logging.getLogger(), Keep(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with world.own() as own:
            ann, stranger = own.actor("A"), own.actor("B")
            marker = "contentmarker7731"
            _answers(own)
            ann.ingest(f"a text with {marker}", private=True)
            secret = ann.holder.text.rsplit("_", 1)[-1]
            with own.embedder_off():
                ann.ingest(f"another {marker} text")
                ann.recall(marker)
            for headers in ({"authorization": f"Bearer {ann.holder.text}x"}, {"authorization": f"Basic {ann.holder.text}"}):
                assert 401 == stranger.http.post("/v1/recall_memory", json={"query": marker}, headers=headers).status_code
            ann.post("/v1/recall_memory", {"query": marker, "limit": ann.holder.text})
            ann.get(f"/v1/recall_memory?api_key={ann.holder.text}")
            with own.admin() as admin:
                names = admin.execute(
                    "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                    "where c.relkind = 'r' and n.nspname in ('commonlore', 'procrastinate')"
                ).fetchall()
                stored = {name: admin.execute(f"select coalesce(string_agg(t::text, ' '), '') from {name} t").fetchone() for (name,) in names}
            passwords = re.findall(r"password=(\S+)", own.service.database.serving_conninfo)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)

    logged = "\n".join(records)
    assert len(records) > 5
    assert len(secret) > 20
    assert [] == [word for word in (secret, marker, *passwords) if word in logged]
    assert [] == [name for name, row in stored.items() if row and (secret in row[0] or any(word in row[0] for word in passwords))]
    assert marker in str(stored["commonlore.evidence"])
    assert marker not in str({name: row for name, row in stored.items() if name.startswith("procrastinate")})


@case("B202-a")
def no_team_no_key(world: World) -> None:
    ann = world.actor()
    with world.app() as app:
        rows = app.execute("select * from commonlore.credential").fetchall()
    with world.admin() as admin:
        stored = admin.execute("select c::text from commonlore.credential c where credential_id = %s", (ann.holder.credential_id,)).fetchone()

    assert [] == rows
    assert stored is not None
    assert ann.holder.text.rsplit("_", 1)[-1] not in stored[0]
