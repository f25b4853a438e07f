"""tenancy_db and tenancy_app: no team and no member sees what is another's."""

from __future__ import annotations

import socket
import time
from typing import Any
from uuid import uuid4

import psycopg

from commonlore.domain.ports import Vectors
from tests.cases.adapter import Actor, World, case, in_team, refusal, split_of
from tests.support.embedders import HashEmbedder
from tests.support.memory import a_relationship

ZEBRA = "zebra-quartz-771 launch code"


@case("B001-a")
def one_connection_serves_two_teams(world: World) -> None:
    with world.own(pool_size=1) as own:
        own.actor("A").ingest(ZEBRA)
        seen = {team: own.actor(team).contexts("zebra-quartz-771") for team in ("A", "B")}
        with own.admin() as admin:
            connections = admin.execute(
                "select count(*) from pg_stat_activity where application_name = 'commonlore-api' and datname = current_database()"
            ).fetchone()

    assert ({"A": [ZEBRA], "B": []}, (1,)) == (seen, connections)


class SlowEmbedder(HashEmbedder):
    """A query takes a second."""

    async def embed_query(self, text: str) -> Vectors:
        import asyncio

        await asyncio.sleep(1)
        return await super().embed_query(text)


@case("B001-c")
def a_client_that_leaves_leaves_nothing_behind(world: World) -> None:
    with world.own(SlowEmbedder(), pool_size=1) as own:
        ann = own.actor("A")
        ann.ingest(ZEBRA)
        body = b'{"query":"zebra-quartz-771"}'
        head = f"POST /v1/recall_memory HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {ann.holder.text}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", own.service.port)) as connection:
            connection.sendall(head.encode() + body)
            time.sleep(0.3)
        seen = own.actor("B").contexts("zebra-quartz-771")
        # What the service tells in the background may be under way at one moment, not at all of them.
        with own.admin() as admin:
            for _ in range(50):
                states = admin.execute(
                    "select state, xact_start from pg_stat_activity where application_name = 'commonlore-api' and datname = current_database()"
                ).fetchall()
                if states == [("idle", None)]:
                    break
                time.sleep(0.1)

    assert ([], [("idle", None)]) == (seen, states)


@case("B002-b")
def an_odd_team_reads_and_writes_nothing(world: World) -> None:
    ann = world.actor("A")
    ann.ingest(ZEBRA, relationships=[a_relationship("zebra", "has", "code")])
    tables = world.tenant_tables()
    insert = (
        "insert into commonlore.evidence_statistic (team_id, space_epoch, statistic_id, parts, length) "
        "select %s, coalesce(nullif(current_setting('commonlore.space_epoch', true), ''), '1')::bigint, gen_random_uuid(), 1, 1"
    )
    seen, written = [], []
    with world.app() as app:
        for value in world.given["tenant_values"]:
            for table in tables:
                try:
                    with app.transaction():
                        in_team(app, value)
                        app.execute("select set_config('commonlore.space_epoch', '1', true)")
                        row = app.execute(f"select count(*) from {table}").fetchone()
                        seen.append((value, table, row[0] if row else None))
                except psycopg.errors.InvalidTextRepresentation:
                    pass  # a value that is no team is an error before any row is looked at
            try:
                with app.transaction():
                    in_team(app, value)
                    app.execute(insert, (ann.holder.team_id,))
                    written.append(value)
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidTextRepresentation):
                pass

    assert len(tables) > 20
    assert len(seen) >= len(tables)
    assert [] == [item for item in seen if item[2] != 0]
    assert [] == written


@case("B003-a")
def a_setting_ends_with_its_transaction(world: World) -> None:
    ann = world.actor("A")
    ann.ingest(ZEBRA)
    with world.app() as app:
        with app.transaction():
            in_team(app, ann.holder.team_id)
            inside = app.execute("select count(*) > 0 from commonlore.credential").fetchone()
        after = {table: app.execute(f"select count(*) from {table}").fetchone() for table in world.tenant_tables()}

    assert (True,) == inside
    assert {(0,)} == set(after.values())


@case("B009-a")
def two_teams_use_the_same_keys_and_names(world: World) -> None:
    def make(team: str) -> tuple[str, str]:
        proposal = a_relationship("Acme", "ships", "Orion", kinds=("organization", "project"))
        made = world.actor(team).ingest("Acme ships Orion.", source_key="doc-1", source_revision="r1", relationships=[proposal])
        return made["evidence"][0]["evidence_id"], made["relationship_results"][0]["subject_entity_id"]

    first, second = make("A"), make("B")
    world.actor("A").ingest("Acme closed.")

    assert first[0] != second[0]
    assert first[1] != second[1]
    assert ["Acme ships Orion."] == world.actor("B").contexts("Acme")


@case("B011-a")
def views_read_as_their_caller(world: World) -> None:
    """There may be none; that one would be found is shown with one that is made and rolled back."""
    open_views = (
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where c.relkind in ('v', 'm') and n.nspname = 'commonlore' and not coalesce(c.reloptions, '{}') @> '{security_invoker=true}'"
    )
    with world.admin() as admin:
        found = admin.execute(open_views).fetchall()
        with admin.transaction(force_rollback=True):
            admin.execute("create view commonlore.probe as select * from commonlore.evidence")
            probed = admin.execute(open_views).fetchall()

    assert ([], [("probe",)]) == (found, probed)


@case("B013-a")
def definer_functions_are_pinned_and_closed(world: World) -> None:
    with world.admin() as admin:
        functions = admin.execute(
            "select p.oid::regprocedure::text, coalesce(p.proconfig, '{}'), has_function_privilege('public', p.oid, 'execute') "
            "from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prosecdef and n.nspname in ('commonlore', 'procrastinate')"
        ).fetchall()

    assert functions  # the serving role enqueues through one
    assert [] == [name for name, config, public in functions if public or not any(item.startswith("search_path=") for item in config)]


@case("B017-a")
def a_filter_by_metadata_is_an_unknown_field(world: World) -> None:
    answer = world.actor().post("/v1/recall_memory", world.given["http"]["body"])

    assert (422, "invalid_input") == refusal(answer)[:2]
    assert "ssn" not in answer.text


@case("B019-a")
def a_private_text_is_its_owners(world: World) -> None:
    first, second = world.actor("A", "P1"), world.actor("A", "P2")
    first.ingest("salary is 1", private=True)
    second.ingest("salary is 2", private=True)

    answer = first.recall("salary")

    assert [("salary is 1", "private")] == [(item["context"], item["space_kind"]) for item in answer["results"]]
    assert "salary is 2" not in str(answer)


@case("B022-a")
def headers_do_not_choose_the_team(world: World) -> None:
    ann, ben = world.actor("A"), world.actor("B")
    ann.ingest("warm query of A")
    before = ann.contexts("warm query of A")
    team = str(ann.holder.team_id)
    headers = {"x-team-id": team, "x-organization-id": team, "x-tenant": team}

    named = ben.post("/v1/recall_memory", {"query": "warm query of A", "team_id": team}, **headers)
    plain = ben.post("/v1/recall_memory", {"query": "warm query of A"}, **headers)

    assert (422, "invalid_input") == refusal(named)[:2]
    assert [] == plain.json()["results"]
    assert before == ann.contexts("warm query of A") == ["warm query of A"]


@case("B024-a")
def an_identical_recall_of_another_member_is_its_own(world: World) -> None:
    world.actor("A", "P1").ingest("the private plan of X", private=True)

    seen = {member: world.actor("A", member).contexts("private plan") for member in ("P1", "P2")}
    space_id = world.actor("A", "boss", scopes=("read", "write", "admin"))._ok("admin/create_space", {"name": "X"})["space_id"]
    granted = {"space_id": space_id, "profile_id": str(world.actor("A", "P1").holder.profile_id), "access": "read"}
    world.actor("A", "boss")._ok("admin/set_space_access", granted)
    world.actor("A", "boss").remember(evidence=[{"content": "the named plan of X"}], space="X")
    named = {member: world.actor("A", member).contexts("named plan of X") for member in ("P1", "P2")}

    assert {"P1": ["the private plan of X"], "P2": []} == seen
    assert {"P1": ["the named plan of X", "the private plan of X"], "P2": []} == {member: sorted(found) for member, found in named.items()}


@case("B028-a")
def each_text_lies_in_the_space_that_its_call_names(world: World) -> None:
    """A call has one target, so that a batch over several spaces is several calls; a text without a space lies in the team's shared one."""
    ann = world.actor("A", scopes=("read", "write", "admin"))
    for name in ("S1", "S2"):
        ann._ok("admin/create_space", {"name": name})
    for item in world.given["args"]["items"]:
        place = {"space": item["space"]} if "space" in item else {}
        ann.remember(evidence=[{"content": item["text"]}], **place)

    def found(*spaces: str) -> list[str]:
        return sorted(item["context"] for item in ann._ok("recall_memory", {"query": "one two three", "spaces": list(spaces)})["results"])

    assert [["one"], ["two"], ["three"]] == [found(name) for name in ("S1", "S2", "team_shared")]
    assert ["one", "three", "two"] == found()


@case("B030-a")
def a_foreign_id_is_like_no_id(world: World) -> None:
    """Every tool and operation that takes an id: to trace, correct and forget, and those of administration; nothing of the other team changes."""
    ada, ben = world.actor("A", scopes=("read", "write", "admin")), world.actor("B", scopes=("read", "write", "admin"))
    foreign = _foreign_ids(world, ada)
    mine = ben.ingest("Nora works on Vega.", relationships=[a_relationship("Nora", "works_on", "Vega")])
    ben_entity = mine["relationship_results"][0]["subject_entity_id"]

    def ask(ids: dict[str, str]) -> dict[str, Any]:
        same, why = {"x-correlation-id": "same"}, {"reason": "a test"}
        patch = {"polarity": "-"}
        resolve = {"conflict_id": ids["conflict"], "expected_version": 1, "action": "dismiss", **why}
        bodies: dict[str, dict[str, Any]] = {
            "trace_memory": {"relationship_id": ids["relationship"]},
            "correct_relationship": {"relationship_id": ids["relationship"], "expected_version": 1, "patch": patch},
            "retract_evidence": {"evidence_ids": [ids["evidence"]], **why},
            "remember": {"evidence": [{"content": "new", "supersedes_evidence_ids": [ids["evidence"]]}]},
            "resolve_conflict": resolve,
            "contest_evidence": {
                "case_key": "k", "question": "q?", **why,
                "positions": [{"evidence_id": ids["evidence"], "start": place, "end": place + 2} for place in (0, 3)],
            },
            "admin/quarantine_evidence": {"evidence_ids": [ids["evidence"]], **why},
            "admin/release_evidence": {"evidence_ids": [ids["evidence"]], **why},
            "admin/describe_conflict": {"conflict_id": ids["conflict"]},
            "admin/merge_entities": {"from_entity_id": ids["entity"], "to_entity_id": ben_entity, "apply": True, **why},
            "admin/split_entity": {"entity_id": ids["entity"], "relationship_ids": [ids["relationship"]], "name": "x", "apply": True, **why},
            "admin/rename_entity": {"entity_id": ids["entity"], "name": "x", **why},
            "admin/add_entity_alias": {"entity_id": ids["entity"], "name": "x", **why},
            "admin/reverse_entity_correction": {"correction_id": ids["correction"], **why},
            "admin/retire_member": {"profile_id": ids["member"]},
            "admin/revoke_key": {"credential_id": ids["key"]},
            "admin/rotate_key": {"credential_id": ids["key"]},
        }  # fmt: skip
        shown: dict[str, Any] = {name: ben.post(f"/v1/{name}", body, **same) for name, body in bodies.items()}
        for method in ("GET", "PATCH", "DELETE"):
            shown[method] = ben.http.request(method, f"/v1/admin/relationships/{ids['relationship']}", headers=same)
        found: dict[str, Any] = {
            name: (
                answer.status_code,
                answer.text,
                {k: v for k, v in answer.headers.items() if k not in ("date", "server", "server-timing", "ratelimit")},
            )
            for name, answer in shown.items()
        }
        for name in ("trace_memory", "correct_relationship", "retract_evidence", "resolve_conflict"):
            called = ben.mcp(name, bodies[name])["structuredContent"]
            found[f"{name} over MCP"] = {key: value for key, value in called.items() if key != "correlation_id"}
        return found

    before = _rows_of(world, ada)
    asked = ask(foreign)

    assert ask({name: str(uuid4()) for name in foreign}) == asked
    assert before == _rows_of(world, ada)
    statuses = {name: answer[0] for name, answer in asked.items() if isinstance(answer, tuple)}
    assert {name: 404 for name in statuses} | {"contest_evidence": 422} == statuses  # a place that is in no text that the key sees


def _foreign_ids(world: World, ada: Actor) -> dict[str, str]:
    """One id of each kind of the other team, each of a row that is there."""
    other, kinds = world.actor("A", "another"), ("project", "product")
    made = ada.ingest("The primary database of Orion is MySQL.", relationships=[a_relationship("Orion", "primary_database", "MySQL", kinds=kinds)])
    other.ingest("The primary database of Orion is Redis.", relationships=[a_relationship("Orion", "primary_database", "Redis", kinds=kinds)])
    (conflict,) = ada.post("/v1/admin/list_conflicts", {}).json()["conflicts"]
    entity = made["relationship_results"][0]["subject_entity_id"]
    renamed = ada.post("/v1/admin/add_entity_alias", {"entity_id": entity, "name": "Orion project", "reason": "a test"}).json()
    return {
        "relationship": split_of(made)["relationship_id"],
        "evidence": made["evidence"][0]["evidence_id"],
        "conflict": conflict["conflict_id"],
        "entity": entity,
        "correction": renamed["correction_id"],
        "member": str(other.holder.profile_id),
        "key": str(other.holder.credential_id),
    }


def _rows_of(world: World, actor: Actor) -> dict[str, Any]:
    """Every row of the actor's team; the use of its keys, which is told late, is left out."""
    with world.admin() as admin:
        return {
            table: admin.execute(
                f"select md5(coalesce(string_agg((to_jsonb(t) - 'last_used_at')::text, ' ' order by t::text), '')) from {table} t where team_id = %s".encode(),
                (actor.holder.team_id,),
            ).fetchone()
            for table in world.tenant_tables()
            if table != "commonlore.limit_use"
        }


@case("B030-c")
def a_foreign_entity_is_like_no_entity(world: World) -> None:
    made = world.actor("A").ingest("Mark works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")])
    ben = world.actor("B")
    ben.ingest("Nora works on Vega.", relationships=[a_relationship("Nora", "works_on", "Vega")])

    def ask(entity_id: str) -> dict[str, Any]:
        answer = ben.recall("who works", limit=1, expand_from_entity_ids=[entity_id])
        answer.pop("recall_id")
        return answer

    assert ask(made["relationship_results"][0]["subject_entity_id"]) == ask(str(uuid4()))


@case("B032-a")
def a_member_with_a_wild_name_is_one_member(world: World) -> None:
    names = [*world.given["actor_scope"], "team-x", "e1/x"]
    for name in names:
        world.actor("A", name).ingest(f"diary number {names.index(name)}", private=True)

    seen = {name: world.actor("A", name).contexts("diary number") for name in names}

    assert {name: [f"diary number {names.index(name)}"] for name in names} == seen


@case("B033-b")
def no_debug_output_is_reachable(world: World) -> None:
    ben = world.actor("B")
    world.actor("A").ingest(ZEBRA)

    answers = [ben.get(path) for path in ("/metrics", "/v1/metrics", "/debug", "/v1/explain", "/v1/admin/explain", "/schema", "/docs")]

    assert {404} == {answer.status_code for answer in answers}


@case("B034-a")
def no_caller_chooses_an_id(world: World) -> None:
    ann, ben = world.actor("A"), world.actor("B")
    key = ann.ingest(ZEBRA)["evidence"][0]["evidence_id"]

    def ask(evidence_id: str) -> tuple[int, Any]:
        answer = ben.post("/v1/remember", {"evidence": [{"content": "mine", "evidence_id": evidence_id}]}, **{"x-correlation-id": "same"})
        return answer.status_code, answer.json()

    assert ask(key) == ask(str(uuid4()))
    assert 422 == ask(key)[0]
    assert [ZEBRA] == ann.contexts("zebra")
