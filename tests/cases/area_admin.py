"""http and tenancy: what an administrator's key changes and lists, over the routes of administration."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg

from commonlore.domain.tenancy.paging import encode_cursor
from tests.cases.adapter import Actor, World, case, in_team, observe, refusal, split_of
from tests.support.databases import clone, drop
from tests.support.memory import a_relationship
from tests.support.server import Service, running_service
from tests.support.touched import rows_touched

ADMIN = ("read", "write", "admin")


def administer(actor: Actor, name: str, **body: Any) -> dict[str, Any]:
    answer = actor.post(f"/v1/admin/{name}", body)
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


@case("B008-b")
def a_space_does_not_change_its_team(world: World) -> None:
    """By the case's own route, by every operation that is there with a team in its body, and by the serving role."""
    ada, ben = world.actor("A", scopes=ADMIN), world.actor("B", scopes=ADMIN)
    ada.ingest("Mark works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")])
    before = [administer(owner, "list_spaces") for owner in (ada, ben)]
    space, body = before[0]["spaces"][0]["space_id"], {"team_id": str(ben.holder.team_id)}

    paths = [f"/spaces/{space}", f"/v1/spaces/{space}", f"/v1/admin/spaces/{space}", "/v1/admin/list_spaces", "/v1/admin/update_team"]
    by_route = [observe(ada.http.request(method, path, json=body)).status_code for path in paths for method in ("PATCH", "PUT")]
    operations = [path.removeprefix("/v1/admin/") for path in ada.get("/schema/openapi.json").json()["paths"] if path.startswith("/v1/admin/")]
    by_operation = {name: refusal(ada.post(f"/v1/admin/{name}", {**body, "space_id": space}))[:2] for name in operations}
    with world.admin() as admin:
        (epoch,) = admin.execute("select space_epoch from commonlore.evidence where team_id = %s", (ada.holder.team_id,)).fetchall()[0]
    moved, refused = [], 0
    with world.app() as app:
        for table in ("space", "space_epoch", "evidence", "relationship", "entity"):
            try:
                with app.transaction():
                    in_team(app, ada.holder.team_id)
                    app.execute("select set_config('commonlore.space_epoch', %s, true)", (str(epoch),))
                    moved.append((table, app.execute(f"update commonlore.{table} set team_id = %s".encode(), (ben.holder.team_id,)).rowcount))
            except psycopg.errors.InsufficientPrivilege:
                refused += 1

    assert {404, 405} >= set(by_route)
    assert len(operations) > 20
    assert {name: (422, "invalid_input") for name in operations} == by_operation
    assert ([], 5) == (moved, refused)
    assert before == [administer(owner, "list_spaces") for owner in (ada, ben)]
    assert ["Mark works on Orion."] == ada.contexts("Orion")


MEMBERS = 20_000


def _many_members(world: World, service: Service) -> Actor:
    """An administrator whose team has 20,000 members more, half of them with ids before its own."""
    holder = service.key("crowd", "boss", scopes=ADMIN)
    with psycopg.connect(service.database.admin_conninfo, autocommit=True) as admin:
        admin.execute(
            "insert into commonlore.profile (team_id, profile_id, name, profile_kind, known_from) "
            "select %s, (case when n %% 2 = 0 then '0' else 'f' end || lpad(to_hex(n), 31, '0'))::uuid, 'm' || n, 'agent', now() from generate_series(1, %s) n",
            (holder.team_id, MEMBERS),
        )
        admin.execute("vacuum analyze commonlore.profile")
    return Actor(holder, service.client(holder))


@case("B192-a")
def a_far_page_costs_what_the_first_one_costs(world: World) -> None:
    """20,000 rows instead of 1,000,000, pages of 1, so that the far one is page 10,000; the rows that are looked at, and the time."""
    database = clone(world.template)
    try:
        with running_service(database) as service:
            ada = _many_members(world, service)
            with psycopg.connect(database.admin_conninfo) as admin:
                row = admin.execute(
                    "select profile_id::text from commonlore.profile where team_id = %s order by profile_id offset 9998 limit 1",
                    (ada.holder.team_id,),
                ).fetchone()
            assert row is not None
            bodies: list[dict[str, Any]] = [{"limit": 1}, {"limit": 1, "cursor": encode_cursor(ada.holder.team_id, "members", UUID(row[0]))}]
            times, names = [], []
            for body in bodies:
                starts = []
                for _ in range(5):
                    start = time.monotonic()
                    names.append(administer(ada, "list_members", **body)["members"][0]["name"])
                    starts.append(time.monotonic() - start)
                times.append(sorted(starts)[2])

        def ask(body: dict[str, Any]) -> int:
            return rows_touched(database, lambda service: administer(Actor(ada.holder, service.client(ada.holder)), "list_members", **body))

        touched = [ask(body) for body in bodies]
    finally:
        drop(database.name)

    assert 2 == len(set(names))
    assert times[1] < 10 * times[0] and times[0] < 10 * times[1]
    assert 0 < max(touched) < 100
    assert touched[0] == touched[1]


@case("B193-b")
def of_two_changes_to_one_version_one_is_made(world: World) -> None:
    """`expected_version` in the body is the If-Match of these routes: every operation that takes one, twice at once."""
    ada, ben = world.actor("A", "P1", scopes=ADMIN), world.actor("A", "P2", scopes=ADMIN)
    kinds = ("project", "product")
    for actor, store in ((ada, "PostgreSQL"), (ben, "MySQL")):
        actor.ingest(f"The primary database of Orion is {store}.", relationships=[a_relationship("Orion", "primary_database", store, kinds=kinds)])
    (conflict,) = administer(ada, "list_conflicts")["conflicts"]
    made = split_of(ada.ingest("Mark works on Vega.", relationships=[a_relationship("Mark", "works_on", "Vega")]))

    def patch(name: str) -> dict[str, Any]:
        return {"object_entity": {"name": name, "entity_kind": "project", "create_if_missing": True}}

    pairs: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "conflict": [
            ("resolve_conflict", {"conflict_id": conflict["conflict_id"], "expected_version": 1, "action": "resolve", "reason": "asked", **choice})
            for choice in ({"preferred_position_id": position["position_id"]} for position in conflict["positions"])
        ],
        "predicate": [
            ("admin/define_predicate", {"key": "b193_holds", "expected_version": 0, "current_cardinality": cardinality, "reason": "two at once"})
            for cardinality in ("one", "many")
        ],
        "relationship": [
            ("correct_relationship", {"relationship_id": made["relationship_id"], "expected_version": 1, "patch": patch(name)})
            for name in ("Rigel", "Sirius")
        ],
    }
    outcomes = {}
    for name, pair in pairs.items():
        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(lambda item: ada.http.post(f"/v1/{item[0]}", json=item[1]), pair))
        outcomes[name] = sorted(_outcome(observe(answer).json()) for answer in answers)

    assert {name: 1 for name in pairs} == {name: outcome.count("done") for name, outcome in outcomes.items()}, outcomes
    assert {"done", "stale_input", "relationship_version_stale"} >= {item for outcome in outcomes.values() for item in outcome}, outcomes


def _outcome(body: dict[str, Any]) -> str:
    return str(body.get("code") or body.get("reason") or "done")
