"""Administration over REST on the whole service: the serving role, a real database, a real socket."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from commonlore.api.admin import ADMIN
from commonlore.api.mcp_server import LISTED
from commonlore.api.operations import TOOLS
from commonlore.domain.tenancy.key import parse
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Holder
from tests.support.server import Service, running_service

ALL = ("read", "write", "admin")
VALID: dict[str, dict[str, Any]] = {name: dict(spec.example) for name, spec in ADMIN.items()}


@pytest.fixture(scope="module")
def module_database(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture(scope="module")
def service(module_database: TestDatabase) -> Iterator[Service]:
    with running_service(module_database) as running:
        yield running


class Admin:
    """A team of a test's own and its administrator."""

    def __init__(self, service: Service, **options: Any) -> None:
        self.service, self.team = service, f"team-{uuid4().hex[:8]}"
        self.holder: Holder = service.key(self.team, "boss", **{"scopes": ALL, **options})
        self.client = service.client(self.holder)

    def ask(self, name: str, /, **body: Any) -> httpx.Response:
        return self.client.post(f"/v1/admin/{name}", json=body)

    def get(self, name: str, /, **body: Any) -> dict[str, Any]:
        answer = self.ask(name, **body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def walk(self, name: str, limit: int, between: Callable[[int], None] = lambda page: None) -> list[dict[str, Any]]:
        """Every entry of a list, page by page; `between` runs after each page."""
        field, cursor, found = name.removeprefix("list_"), None, []
        for page in range(1000):
            answer = self.get(name, limit=limit, cursor=cursor)
            found += answer[field]
            cursor = answer["next_cursor"]
            if cursor is None:
                return found
            between(page)
        raise AssertionError("the list has no end")


@pytest.fixture
def admin(service: Service) -> Admin:
    return Admin(service)


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and the first pointer."""
    body = answer.json()
    return answer.status_code, body["code"], body.get("errors", [{}])[0].get("pointer")


def alike(answer: httpx.Response) -> tuple[Any, ...]:
    """All of a refusal but what differs from request to request."""
    body = {name: value for name, value in answer.json().items() if name != "correlation_id"}
    headers = {name: value for name, value in answer.headers.items() if name not in ("x-correlation-id", "date", "ratelimit")}
    return answer.status_code, body, headers


def test_a_team_is_set_up_and_ended_without_the_command_line(admin: Admin) -> None:
    """A member, a key that works, its end, and the member's end, which is what the lists say afterwards."""

    bob = admin.get("add_member", name="  Bob\u0301 ", profile_kind="agent")
    issued = admin.get("create_key", profile_id=bob["profile_id"], name="bot", expires="1h")
    bot = admin.service.client(authorization=f"Bearer {issued['key']}")
    before = bot.post("/v1/recall_memory", json={"query": "x"}).status_code
    revoked = admin.get("revoke_key", credential_id=issued["credential_id"])
    after = bot.post("/v1/recall_memory", json={"query": "x"}).status_code
    retired = admin.get("retire_member", profile_id=bob["profile_id"])

    listed = admin.walk("list_members", 1)[-1]
    assert (200, 401, "active", "revoked") == (before, after, issued["state"], revoked["state"])
    assert (listed, "Bob\u0301", True) == (retired, listed["name"], listed["retired_at"].endswith("Z"))


def test_a_key_is_shown_once_and_is_in_no_list(admin: Admin) -> None:
    """The answers of create and rotate forbid caching; no list and no later answer holds the secret or its hash."""

    made = admin.ask("create_key", profile_id=str(admin.holder.profile_id), scopes=["read"])
    rotated = admin.ask("rotate_key", credential_id=made.json()["credential_id"])
    texts = [made.json()["key"], rotated.json()["key"]]
    shown = "".join(admin.ask(name, limit=100).text for name in ("list_keys", "list_members", "list_spaces"))
    shown += admin.ask("describe_team").text + admin.ask("revoke_key", credential_id=made.json()["credential_id"]).text
    hidden = [part for text in texts if (key := parse(text)) for part in (text, text.rsplit("_", 1)[1], key.secret_sha256.hex())]

    assert ["no-store"] * 2 == [answer.headers["cache-control"] for answer in (made, rotated)]
    assert (2, []) == (len(set(texts)), [part for part in hidden if part in shown])
    assert "sha256" not in shown


def test_rotation_ends_the_old_text_and_keeps_the_memory(admin: Admin) -> None:
    """The new text reads what the old one wrote into the key's own space."""
    issued = admin.get("create_key", profile_id=str(admin.holder.profile_id))
    old = admin.service.client(authorization=f"Bearer {issued['key']}")
    old.post("/v1/remember", json={"target_space": "private", "evidence": [{"content": "the safe is behind the zebra"}]}).raise_for_status()

    rotated = admin.get("rotate_key", credential_id=issued["credential_id"])

    new = admin.service.client(authorization=f"Bearer {rotated['key']}")
    found = new.post("/v1/recall_memory", json={"query": "zebra"}).json()["results"]
    assert (401, ["the safe is behind the zebra"]) == (
        old.post("/v1/recall_memory", json={"query": "zebra"}).status_code,
        [result["context"] for result in found],
    )


@pytest.mark.parametrize("name", ADMIN)
def test_every_operation_needs_the_scope(service: Service, name: str) -> None:
    """A key for reading and writing is refused with the scope that it lacks; no key and a wrong key with 401."""
    agent = service.key(f"scopes-{name}")
    wrong = agent.text[:-1] + ("b" if agent.text.endswith("a") else "a")

    answers = [
        service.client(holder).post(f"/v1/admin/{name}", json=VALID[name], headers=extra)
        for holder, extra in ((agent, {}), (None, {}), (None, {"authorization": f"Bearer {wrong}"}))
    ]

    assert [(403, "unauthorized_scope"), (401, "credential_invalid"), (401, "credential_invalid")] == [refusal(answer)[:2] for answer in answers]
    assert {"scope": ADMIN[name].scope} == answers[0].json()["details"]


@pytest.mark.parametrize("name", ADMIN)
def test_no_payload_names_a_team(admin: Admin, name: str) -> None:
    """B008: the team is the key's; a field for it is unknown."""

    assert [(422, "invalid_input")] * 2 == [refusal(admin.ask(name, **VALID[name], **{field: str(uuid4())}))[:2] for field in ("team_id", "team")]


@pytest.mark.parametrize(
    ("name", "field", "more"),
    [
        ("retire_member", "profile_id", {}),
        ("create_key", "profile_id", {}),
        ("create_key", "profile_id", {"memory_binding": "profile_private"}),
        ("rotate_key", "credential_id", {}),
        ("revoke_key", "credential_id", {}),
    ],
)
def test_foreign_and_missing_ids_are_answered_alike(admin: Admin, name: str, field: str, more: dict[str, Any]) -> None:
    """B030: status, body and headers are equal, and the foreign team is as it was."""
    other = Admin(admin.service)
    before = [other.get(listed) for listed in ("list_members", "list_keys")]

    foreign, missing = (admin.ask(name, **{field: value}, **more) for value in (str(getattr(other.holder, field)), str(uuid4())))

    assert alike(missing) == alike(foreign)
    assert (404, "not_found") == refusal(foreign)[:2]
    assert [[{**entry, "last_used_at": None} for entry in page[kind]] for page, kind in zip(before, ("members", "keys"), strict=True)] == [
        [{**entry, "last_used_at": None} for entry in other.get(f"list_{kind}")[kind]] for kind in ("members", "keys")
    ]


def test_a_key_hands_on_only_scopes_that_it_has(service: Service) -> None:
    """Neither by making a key nor by rotating one that has more."""
    admin = Admin(service, scopes=("read", "admin"))
    wider = service.key(admin.team, "boss", scopes=("read", "destroy"))

    answers = [
        admin.ask("create_key", profile_id=str(admin.holder.profile_id), scopes=["read", "write"]),
        admin.ask("rotate_key", credential_id=str(wider.credential_id)),
    ]

    assert [("unauthorized_scope", "write"), ("unauthorized_scope", "destroy")] == [
        (answer.json()["code"], answer.json()["details"]["scope"]) for answer in answers
    ]
    assert 200 == service.client(wider).post("/v1/recall_memory", json={"query": "x"}).status_code


def test_another_members_private_space_stays_closed(admin: Admin) -> None:
    """Its keys can be revoked, not rotated, and no new one opens the space; the refused calls leave everything as it was."""
    ann = admin.service.key(admin.team, "ann", binding="profile_private")
    ann_client = admin.service.client(ann)
    ann_client.post("/v1/remember", json={"target_space": "private", "evidence": [{"content": "zebra of ann"}]}).raise_for_status()

    minted = admin.ask("create_key", profile_id=str(ann.profile_id), memory_binding="profile_private")
    rotated = admin.ask("rotate_key", credential_id=str(ann.credential_id))
    other = admin.get("create_key", profile_id=str(ann.profile_id), memory_binding="credential_private")
    other_client = admin.service.client(authorization=f"Bearer {other['key']}")

    assert [(422, "invalid_input", "/memory_binding"), (422, "invalid_input", "/credential_id")] == [refusal(minted), refusal(rotated)]
    assert (1, 0) == tuple(len(client.post("/v1/recall_memory", json={"query": "zebra"}).json()["results"]) for client in (ann_client, other_client))
    assert "revoked" == admin.get("revoke_key", credential_id=str(ann.credential_id))["state"]


def test_the_last_admin_key_stays(admin: Admin) -> None:
    """Until there is another one."""
    me = {"credential_id": str(admin.holder.credential_id)}

    refused = [admin.ask("revoke_key", **me), admin.ask("retire_member", profile_id=str(admin.holder.profile_id))]
    admin.get("create_key", profile_id=str(admin.holder.profile_id), scopes=["admin"])
    revoked = admin.ask("revoke_key", **me)

    assert ([(409, "last_admin")] * 2, 200, 401) == (
        [refusal(answer)[:2] for answer in refused],
        revoked.status_code,
        admin.ask("list_keys").status_code,
    )


def test_the_last_administrator_keeps_its_role(admin: Admin) -> None:
    """Until another member has an admin key; then a lower role takes from every key what it may beyond it, at once and for good."""
    me = {"profile_id": str(admin.holder.profile_id)}
    refused = [admin.ask("change_member_role", **me, role=role) for role in ("member", "reader")]
    bob = admin.service.key(admin.team, "bob", scopes=ALL)
    only_admin = admin.service.key(admin.team, "boss", scopes=("admin",))
    changed = admin.service.client(bob).post("/v1/admin/change_member_role", json={**me, "role": "reader"}).json()

    keys = {item["credential_id"]: item for item in Admin.walk(_by(admin, bob), "list_keys", 50)}
    assert ([(409, "last_admin")] * 2, "reader") == ([refusal(answer)[:2] for answer in refused], changed["role"])
    assert (["read"], "active") == (keys[str(admin.holder.credential_id)]["scopes"], keys[str(admin.holder.credential_id)]["state"])
    assert "revoked" == keys[str(only_admin.credential_id)]["state"]
    assert [403, 403, 200] == [
        admin.client.post(path, json=body).status_code
        for path, body in (
            ("/v1/admin/list_keys", {}),
            ("/v1/remember", {"evidence": [{"content": "no"}]}),
            ("/v1/recall_memory", {"query": "x"}),
        )
    ]
    assert (409, "last_admin") == refusal(
        admin.service.client(bob).post("/v1/admin/change_member_role", json={"profile_id": str(bob.profile_id), "role": "member"})
    )[:2]


def _by(admin: Admin, holder: Holder) -> Admin:
    """The same team by another administrator."""
    other = object.__new__(Admin)
    other.service, other.team, other.holder, other.client = admin.service, admin.team, holder, admin.service.client(holder)
    return other


def test_a_key_that_may_more_raises_the_role(admin: Admin) -> None:
    """A member is what its keys may at most; a role alone makes no key."""
    bob = admin.get("add_member", name="bob", role="reader")
    issued = admin.get("create_key", profile_id=bob["profile_id"], scopes=["read", "write"])

    assert ("reader", ["read", "write"]) == (bob["role"], issued["scopes"])
    assert "member" == next(item["role"] for item in admin.walk("list_members", 50) if item["profile_id"] == bob["profile_id"])


@pytest.mark.parametrize(("expires", "expected"), [("2020-01-01T00:00:00Z", "/expires"), ("soon", "/expires"), ("0d", "/expires")])
def test_an_end_that_is_none_is_refused(admin: Admin, expires: str, expected: str) -> None:
    """By the field, for a new key and for a rotated one."""

    answers = [
        admin.ask("create_key", profile_id=str(admin.holder.profile_id), expires=expires),
        admin.ask("rotate_key", credential_id=str(admin.holder.credential_id), expires=expires),
    ]

    assert [(422, "invalid_input", expected)] * 2 == [refusal(answer) for answer in answers]


def test_a_name_is_taken_once(admin: Admin) -> None:
    """Also when it is written in another normal form."""
    admin.get("add_member", name="Zo\u00eb")

    assert (409, "name_taken") == refusal(admin.ask("add_member", name="Zoe\u0308"))[:2]


def test_a_team_withholds_what_nothing_was_claimed_from(admin: Admin) -> None:
    """The next recall follows the setting; the name is shown and cannot be changed."""
    admin.client.post("/v1/remember", json={"evidence": [{"content": "unclaimed zebra"}]}).raise_for_status()

    def found() -> int:
        return len(admin.client.post("/v1/recall_memory", json={"query": "zebra"}).json()["results"])

    counts = [found()]
    for value in ("withheld", "eligible"):
        assert admin.get("update_team", unclaimed_evidence=value) == admin.get("describe_team")
        counts.append(found())
    described = admin.get("describe_team")

    assert [1, 0, 1] == counts
    assert (str(admin.holder.team_id), admin.team, "eligible") == (described["team_id"], described["name"], described["unclaimed_evidence"])


def test_the_serving_role_changes_nothing_else_of_a_team(admin: Admin, module_database: TestDatabase) -> None:
    """Not its name, its key or its past, and no other team's rule. Its end is what a deletion changes."""
    other = Admin(admin.service)
    refused, changed = [], []
    with psycopg.connect(module_database.serving_conninfo, autocommit=True) as connection:
        connection.execute("select set_config('commonlore.team_id', %s, false)", (str(admin.holder.team_id),))
        for change in ("name = 'x'", "team_id = gen_random_uuid()", "known_from = now()"):
            try:
                connection.execute(f"update commonlore.team set {change}".encode())
            except psycopg.errors.InsufficientPrivilege:
                refused.append(change)
        changed.append(connection.execute("update commonlore.team set unclaimed_evidence = 'withheld'").rowcount)

    assert (3, [1], "eligible") == (len(refused), changed, other.get("describe_team")["unclaimed_evidence"])


@pytest.mark.parametrize(("name", "id_field"), [("list_members", "profile_id"), ("list_keys", "credential_id"), ("list_spaces", "space_id")])
def test_a_list_is_walked_in_pages_of_any_size(admin: Admin, name: str, id_field: str) -> None:
    """Every entry once, in the order of its id, whatever the size; the last page has no cursor."""
    for number in range(7):
        member = admin.get("add_member", name=f"m{number}")
        admin.get("create_key", profile_id=member["profile_id"], name="same")

    walks = [[entry[id_field] for entry in admin.walk(name, limit)] for limit in (1, 3, 8, 9, 100)]

    assert [sorted(set(walks[0]))] * 5 == walks
    assert {"list_members": 8, "list_keys": 8, "list_spaces": 9}[name] == len(walks[0])


@pytest.mark.parametrize(("name", "id_field"), [("list_members", "profile_id"), ("list_keys", "credential_id")])
def test_a_walk_misses_and_repeats_nothing_while_rows_come_and_go(admin: Admin, module_database: TestDatabase, name: str, id_field: str) -> None:
    """B191: rows are removed from the database and added by the service between the pages; what is there at both ends is shown once."""
    table = {"list_members": "profile", "list_keys": "credential"}[name]
    for number in range(20):
        member = admin.get("add_member", name=f"m{number}")
        if name == "list_keys":
            admin.get("create_key", profile_id=member["profile_id"], memory_binding="shared_only")
    start = [entry[id_field] for entry in admin.walk(name, 100)]
    doomed = [start[place] for place in (2, 5, 9, 15, 18)]

    with psycopg.connect(module_database.admin_conninfo, autocommit=True) as connection:

        def disturb(page: int) -> None:
            admin.get("add_member", name=f"new{page}")
            admin.get("create_key", profile_id=str(admin.holder.profile_id), memory_binding="shared_only")
            if page < len(doomed):
                connection.execute(f"delete from commonlore.{table} where {id_field} = %s".encode(), (doomed[page],))

        walked = [entry[id_field] for entry in admin.walk(name, 3, lambda page: disturb(page) if page < 12 else None)]

    kept = [entry for entry in start if entry not in doomed]
    assert kept == [entry for entry in walked if entry in kept]
    assert len(walked) == len(set(walked))


def test_a_cursor_counts_for_its_list_and_team_alone(admin: Admin) -> None:
    """Another list's, another team's, a changed one and noise are wrong input."""
    other = Admin(admin.service)
    for owner in (admin, other):
        owner.get("add_member", name="second")
    mine, theirs = (owner.get("list_members", limit=1)["next_cursor"] for owner in (admin, other))

    answers = [
        admin.ask("list_keys", cursor=mine),
        admin.ask("list_members", cursor=theirs),
        admin.ask("list_members", cursor=mine[:-1] + ("A" if mine[-1] != "A" else "B")),
        admin.ask("list_members", cursor="!"),
    ]

    assert [(422, "invalid_input", "/cursor")] * 4 == [refusal(answer) for answer in answers]
    assert "second" == admin.get("list_members", cursor=mine)["members"][0]["name"]


def test_a_list_shows_its_own_team_only(admin: Admin) -> None:
    """However many others there are."""
    Admin(admin.service)

    assert [["boss"], ["boss"]] == [
        [entry["name"] for entry in admin.walk("list_members", 100)],
        [entry["profile_name"] for entry in admin.walk("list_keys", 100)],
    ]


def test_the_use_of_a_key_is_noted(database: TestDatabase) -> None:
    """By remembering, by an MCP message that touches no memory and by an administrator's request; a key that nobody used has no last use."""
    with running_service(database) as own:
        admin = Admin(own)
        writer, listener, unused = (own.key(admin.team, name) for name in ("writer", "listener", "unused"))
        own.client(writer).post("/v1/remember", json={"evidence": [{"content": "x"}]}).raise_for_status()
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        own.client(listener, accept="application/json").post("/mcp", json=ping).raise_for_status()
        admin.get("describe_team")
    with psycopg.connect(database.admin_conninfo) as connection:
        rows = connection.execute("select credential_id from commonlore.credential where last_used_at is not null").fetchall()

    assert {writer.credential_id, listener.credential_id, admin.holder.credential_id} == {row[0] for row in rows}
    assert unused.credential_id not in {row[0] for row in rows}


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list"])
def test_a_revoked_key_is_refused_before_any_tool(admin: Admin, method: str) -> None:
    """MCP messages that touch no memory check the key against the database."""
    agent = admin.service.key(admin.team)
    client = admin.service.client(agent, accept="application/json")
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}} if method == "initialize" else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    before = client.post("/mcp", json=message)
    admin.get("revoke_key", credential_id=str(agent.credential_id))
    after = client.post("/mcp", json=message)

    assert (200, 401, "credential_invalid") == (before.status_code, after.status_code, after.json()["code"])


def test_administration_is_no_tool(admin: Admin) -> None:
    """The agents' list has the listed tools and nothing else, also for an administrator's key; the names are apart."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    listed = admin.client.post("/mcp", json=message, headers={"accept": "application/json"}).json()["result"]["tools"]

    assert ([name for name in TOOLS if name in LISTED], set()) == ([tool["name"] for tool in listed], set(ADMIN) & set(TOOLS))


def test_the_document_has_every_operation_and_refers_to_what_is_there(service: Service) -> None:
    """One path for each, tagged, closed requests, unique ids, no dangling reference; GET on a path is 405."""
    text = service.client().get("/schema/openapi.json").text
    document = json.loads(text)
    operations = {path: operation for path, methods in document["paths"].items() for operation in methods.values() if path.startswith("/v1/admin/")}
    missing = []
    for reference in set(re.findall(r'"\$ref":"#/([^"]+)"', text)):
        at: Any = document
        for token in reference.split("/"):
            at = at.get(token) if isinstance(at, dict) else None
        missing += [reference] if at is None else []
    ids = [operation.get("operationId") for methods in document["paths"].values() for operation in methods.values() if "operationId" in operation]

    assert ([], len(ids)) == (missing, len(set(ids)))
    assert {spec.path for spec in ADMIN.values()} == set(operations)
    assert {("admin",)} == {tuple(operation["tags"]) for operation in operations.values()}
    assert {False} == {document["components"]["schemas"][spec.request.__name__]["additionalProperties"] for spec in ADMIN.values()}
    assert {405} == {service.client().get(path).status_code for path in operations}


def curated(admin: Admin, name: str) -> dict[str, Any]:
    """The ids of a new statement in the fields that each operation on entities and predicates takes."""
    first, second, predicate = (f"X{uuid4().hex[:12]}" for _ in range(3))
    proposal = {
        "ref": "r",
        "subject": {"name": first},
        "predicate": {"proposed_key": predicate},
        "object": {"entity": {"name": second}},
        "evidence_indices": [0],
    }
    asked = {"evidence": [{"content": f"{first} {predicate} {second}."}], "relationships": [proposal]}
    told = admin.client.post("/v1/remember", json=asked).json()["relationship_results"][0]
    subject, target, relationship_id = told["subject_entity_id"], told["object_entity_id"], told["splits"][0]["relationship_id"]
    merge = {"from_entity_id": subject, "to_entity_id": target}
    if name == "reverse_entity_correction":
        return {"correction_id": admin.get("merge_entities", **merge, apply=True, reason="x")["correction_id"]}
    return {
        "merge_entities": merge,
        "split_entity": {"entity_id": subject, "relationship_ids": [relationship_id]},
        "rename_entity": {"entity_id": subject},
        "add_entity_alias": {"entity_id": subject},
        "define_predicate": {"key": predicate},
    }.get(name, {})


def contested(admin: Admin) -> str:
    """The id of a conflict between two texts."""
    texts = ["the door is green", "the door is blue"]
    stored = admin.client.post("/v1/remember", json={"evidence": [{"content": text} for text in texts]}).json()["evidence"]
    positions = [{"evidence_id": item["evidence_id"], "start": 0, "end": len(text)} for item, text in zip(stored, texts, strict=True)]
    asked = {"case_key": "door", "question": "Which colour?", "reason": "they differ", "positions": positions}
    answer: str = admin.client.post("/v1/contest_evidence", json=asked).raise_for_status().json()["conflict_id"]
    return answer


def worked(service: Service, admin: Admin, name: str) -> dict[str, Any]:
    """What must be there before work of the background is asked for or steered, and the fields that name it."""
    if name in ("run_communities", "run_hypotheses"):
        admin.get(name.replace("run", "update"), **VALID[name.replace("run", "update")])
    if (
        name not in ("describe_job", "cancel_job", "retry_job")
        and not name.endswith("_projection")
        or name in ("describe_projection", "start_projection")
    ):
        return {}
    generation = admin.get("start_projection", activate=False)["generation"]
    if name.endswith("_job"):
        job_id = admin.get("list_jobs")["jobs"][0]["job_id"]
        if name == "retry_job":
            admin.get("cancel_job", job_id=job_id)
        return {"job_id": job_id}
    if name == "resume_projection":
        admin.get("pause_projection", generation=generation)
    if name not in ("pause_projection", "resume_projection"):
        with psycopg.connect(service.database.admin_conninfo, autocommit=True) as connection:
            built = "update commonlore.projection_generation set state = %s where team_id = %s and generation = %s"
            connection.execute(built, ("failed" if name == "retry_projection" else "standby", admin.holder.team_id, generation))
    if name == "roll_back_projection":
        admin.get("activate_projection", generation=generation)
        return {}
    return {"generation": generation}


_OF_ERASURE = (
    "preview_erasure", "erase", "delete_space_or_team", "restore", "describe_erasure", "read_receipt", "place_hold", "release_hold", "destroy_export"
)  # fmt: skip


def erased(service: Service, admin: Admin, name: str) -> dict[str, Any]:
    """What there is to erase, to hold or to restore, and the fields that name it."""
    space_id = admin.get("create_space", name="a space")["space_id"]
    space = {"target_kind": "space", "target_id": space_id}
    stored = admin.client.post("/v1/remember", json={"evidence": [{"content": "to be erased"}]}).json()
    text = {"target_kind": "evidence", "target_id": stored["evidence"][0]["evidence_id"]}

    def confirmed(target: dict[str, str]) -> dict[str, str]:
        seen = admin.get("preview_erasure", **target)
        return {**target, "reason": "a test", "confirmation": seen["confirmation"], "confirmation_token": seen["confirmation_token"]}

    if name in ("preview_erasure", "erase"):
        return text if name == "preview_erasure" else confirmed(text)
    if name in ("delete_space_or_team", "restore"):
        return confirmed(space) if name != "restore" else {"erasure_id": admin.get("delete_space_or_team", **confirmed(space))["erasure_id"]}
    if name in ("place_hold", "release_hold"):
        held = {**space, "reason": "case 7"}
        return held if name == "place_hold" else {"hold_id": admin.get("place_hold", **held)["hold_id"]}
    with psycopg.connect(service.database.admin_conninfo, autocommit=True) as connection:
        if name == "destroy_export":
            row = connection.execute(
                "insert into commonlore.export (team_id, export_id, export_kind, file_path, known_from) values (%s, gen_random_uuid(), 'backup', 'x', now()) "
                "returning export_id",
                (admin.holder.team_id,),
            ).fetchone()
            assert row is not None
            return {"export_id": str(row[0])}
        erasure_id = admin.get("erase", **confirmed(text))["erasure_id"]
        if name == "read_receipt":
            over = "update commonlore.erasure set state = 'done', receipt = '{\"erasure_id\": 1}', finished_at = now() where erasure_id = %s"
            connection.execute(over, (erasure_id,))
    return {"erasure_id": erasure_id}


@pytest.mark.parametrize("name", ADMIN)
def test_an_answer_has_the_keys_of_its_schema(service: Service, admin: Admin, name: str) -> None:
    """What the document promises is what comes."""
    body = {**VALID[name]}
    if name in ("retire_member", "create_key", "set_space_access", "change_member_role", "why_not"):
        body["profile_id"] = admin.get("add_member", name="victim")["profile_id"]
    if name in ("rotate_key", "revoke_key", "describe_limits", "update_limits"):
        body["credential_id"] = admin.get("create_key", profile_id=str(admin.holder.profile_id))["credential_id"]
    if name in ("quarantine_evidence", "release_evidence"):
        stored = admin.client.post("/v1/remember", json={"evidence": [{"content": "to be held"}]}).json()
        body["evidence_ids"] = [stored["evidence"][0]["evidence_id"]]
    if name in ("rename_space", "list_space_access", "set_space_access"):
        body["space_id"] = admin.get("create_space", name="a space")["space_id"]
    if name == "describe_conflict":
        body["conflict_id"] = contested(admin)
    if "entity" in name or "entities" in name or "predicate" in name:
        body |= curated(admin, name)
    body |= worked(service, admin, name)
    if name in _OF_ERASURE:
        admin = Admin(service, scopes=(*ALL, "destroy"))
        body |= erased(service, admin, name)
    schemas = service.client().get("/schema/openapi.json").json()["components"]["schemas"]

    answer = admin.get(name, **body)

    schema = schemas[ADMIN[name].result.__name__]
    assert set(schema["required"]) == set(schema["properties"]) == set(answer)


def test_an_act_on_names_is_repeated_by_its_header(admin: Admin) -> None:
    """The header or the field, the same act and answer; two keys and another act under the key are refused, and nothing is done twice."""
    told = admin.client.post("/v1/remember", json={"evidence": [{"content": "Mark works on Atlas."}], "relationships": [_WORKS]}).json()
    act = {"entity_id": told["relationship_results"][0]["object_entity_id"], "name": "Atlas Prime", "reason": "so called now"}
    path, header = "/v1/admin/rename_entity", {"idempotency-key": "k"}

    first = admin.client.post(path, json=act, headers=header)
    again = [admin.client.post(path, json=act, headers=header), admin.ask("rename_entity", **act, idempotency_key="k")]
    refused = [
        admin.client.post(path, json={**act, "idempotency_key": "j"}, headers=header),
        admin.ask("rename_entity", **{**act, "name": "Atlas Second"}, idempotency_key="k"),
        admin.ask("rename_entity", **act, idempotency_key=" "),
        admin.ask("rename_entity", **act),
    ]

    assert 200 == first.status_code and [first.content, first.content] == [answer.content for answer in again]
    assert [
        (400, "idempotency_key_mismatch", None),
        (409, "idempotency_conflict", None),
        (422, "invalid_input", "/idempotency_key"),
        (422, "invalid_input", "/name"),
    ] == [refusal(answer) for answer in refused]


_WORKS = {
    "ref": "r",
    "subject": {"name": "Mark", "entity_kind": "person"},
    "predicate": {"proposed_key": "works_on"},
    "object": {"entity": {"name": "Atlas", "entity_kind": "project"}},
    "evidence_indices": [0],
}
