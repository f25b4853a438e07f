"""What an administrator's requests may hold, and the rules that only a caller with a key has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.api.decode import decode_body
from commonlore.domain.errors import CommonloreError, Incorrect
from commonlore.domain.tenancy.actor import Actor, MemoryBinding, Scope
from commonlore.domain.tenancy.administration import Key, require_own_key, require_own_space
from commonlore.domain.tenancy.requests import (
    AddMemberRequest,
    CreateKeyRequest,
    DescribeTeamRequest,
    ListRequest,
    RevokeKeyRequest,
    RotateKeyRequest,
    UpdateTeamRequest,
)

ID = "01982f00-0000-7000-8000-000000000001"
ME, OTHER = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(
    ("kind", "body", "pointer"),
    [
        (ListRequest, {"limit": 0}, "/limit"),
        (ListRequest, {"limit": 101}, "/limit"),
        (ListRequest, {"limit": "5"}, "/limit"),
        (ListRequest, {"cursor": ""}, "/cursor"),
        (ListRequest, {"team_id": ID}, ""),
        (AddMemberRequest, {}, "/name"),
        (AddMemberRequest, {"name": "x" * 101}, "/name"),
        (AddMemberRequest, {"name": " \u200d "}, "/name"),
        (AddMemberRequest, {"name": "a\u202eb"}, "/name"),
        (AddMemberRequest, {"name": "a", "profile_kind": "robot"}, "/profile_kind"),
        (CreateKeyRequest, {}, "/profile_id"),
        (CreateKeyRequest, {"profile_id": "1"}, "/profile_id"),
        (CreateKeyRequest, {"profile_id": ID, "scopes": []}, "/scopes"),
        (CreateKeyRequest, {"profile_id": ID, "scopes": ["root"]}, "/scopes/0"),
        (CreateKeyRequest, {"profile_id": ID, "memory_binding": "team"}, "/memory_binding"),
        (CreateKeyRequest, {"profile_id": ID, "expires": "x" * 65}, "/expires"),
        (CreateKeyRequest, {"profile_id": ID, "name": "x\u2028y"}, "/name"),
        (RotateKeyRequest, {}, "/credential_id"),
        (RevokeKeyRequest, {"credential_id": None}, "/credential_id"),
        (UpdateTeamRequest, {}, "/unclaimed_evidence"),
        (UpdateTeamRequest, {"unclaimed_evidence": "hidden"}, "/unclaimed_evidence"),
        (UpdateTeamRequest, {"unclaimed_evidence": "withheld", "name": "New"}, ""),
        (DescribeTeamRequest, {"team": ID}, ""),
    ],
)
def test_a_wrong_field_is_named(kind: type[msgspec.Struct], body: dict[str, Any], pointer: str) -> None:
    """By its pointer; a field that no request has, such as a team, has none of its own."""
    with pytest.raises(Incorrect) as caught:
        decode_body(json.dumps(body).encode(), kind)

    assert pointer == caught.value.problems[0].pointer


def test_an_operation_without_fields_says_so() -> None:
    """Its body is an empty object."""
    with pytest.raises(Incorrect) as caught:
        decode_body(b'{"zzz":1}', DescribeTeamRequest)

    assert "/: unknown field; expected an empty object" == caught.value.message


def test_what_is_left_out_has_the_defaults_of_the_command_line() -> None:
    """A key for reading and writing with a private space of its own, that does not end."""
    asked = decode_body(json.dumps({"profile_id": ID}).encode(), CreateKeyRequest)

    assert ("key", ["read", "write"], "credential_private", None) == (asked.name, asked.scopes, asked.memory_binding, asked.expires)


def actor(*scopes: Scope) -> Actor:
    return Actor(UUID(int=9), ME, UUID(int=3), frozenset(scopes), ())


def key(profile_id: UUID, *scopes: Scope) -> Key:
    return Key(UUID(int=4), profile_id, "Ada", "laptop", "p", "s", scopes, "credential_private", datetime(2026, 7, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("owner", "scopes", "expected"),
    [(ME, ("read", "admin"), None), (ME, ("read", "write"), "unauthorized_scope"), (OTHER, ("read",), "invalid_input")],
)
def test_a_key_is_rotated_by_its_own_member_within_the_callers_scopes(owner: UUID, scopes: tuple[Scope, ...], expected: str | None) -> None:
    """Its new text is shown to the caller, who must gain neither another's memory nor a power."""
    code = None
    try:
        require_own_key(actor("read", "admin"), key(owner, *scopes))
    except CommonloreError as error:
        code = error.code

    assert expected == code


@pytest.mark.parametrize(
    ("owner", "binding", "expected"),
    [
        (ME, "profile_private", None),
        (OTHER, "profile_private", "/memory_binding"),
        (OTHER, "credential_private", None),
        (OTHER, "shared_only", None),
    ],
)
def test_a_private_space_of_a_member_is_opened_by_that_member_alone(owner: UUID, binding: MemoryBinding, expected: str | None) -> None:
    """A key with a space of its own, or none, may be made for anybody."""
    pointer = None
    try:
        require_own_space(actor("admin"), owner, binding)
    except Incorrect as error:
        pointer = error.problems[0].pointer

    assert expected == pointer
