"""Mutations of what is shared: named spaces, grants, roles, what administrators are told, and promotions."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_SPACES = "tests/integration/memory/test_named_spaces.py::test_"
_PROMOTION = "tests/integration/memory/test_promotion.py::test_"

SHARING: tuple[Mutation, ...] = (
    Mutation(
        "grant-outlives-its-end",
        "sharing: a grant that was taken away still opens the space",
        "db/queries/session.sql",
        "g.profile_id = c.profile_id and g.known_to is null",
        "g.profile_id = c.profile_id",
        (f"{_SPACES}a_grant_opens_a_space_and_its_end_closes_it_at_once",),
    ),
    Mutation(
        "named-spaces-open-to-all",
        "sharing: every member reads a named space",
        "db/queries/session.sql",
        "(s.name is null or g.access is not null)",
        "true",
        (f"{_SPACES}a_grant_opens_a_space_and_its_end_closes_it_at_once", f"{_SPACES}a_recall_is_narrowed_to_some_spaces"),
    ),
    Mutation(
        "readers-write",
        "sharing: who may read a named space writes there",
        "db/queries/session.sql",
        "s.name is null or g.access = 'write'",
        "true",
        (f"{_SPACES}a_grant_opens_a_space_and_its_end_closes_it_at_once", f"{_SPACES}a_reader_of_a_space_changes_nothing_there"),
    ),
    Mutation(
        "readers-retract",
        "sharing: a member whose right to write was taken away retracts what it wrote",
        "domain/withdraw/retract.py",
        "        require_writable(space)",
        "        assert space",
        (f"{_SPACES}a_reader_of_a_space_changes_nothing_there",),
    ),
    Mutation(
        "last-admin-demoted",
        "sharing: the last administrator of a team loses its role",
        "db/tenancy.py",
        'if "admin" not in ROLE_SCOPES[role]:',
        "if not ROLE_SCOPES[role]:",
        ("tests/integration/api/test_admin.py::test_the_last_administrator_keeps_its_role",),
    ),
    Mutation(
        "private-space-told-of",
        "sharing: an administrator learns how a text of another one's private space stands",
        "domain/tenancy/why_not.py",
        'return not {"private_space", "not_in_team", "space_deleted"}.intersection(reasons)',
        "return bool(MESSAGES) or not reasons",
        ("tests/integration/tenancy/test_why_not.py::test_nothing_is_told_of_a_private_space",),
    ),
    Mutation(
        "request-never-runs-out",
        "sharing: a request for a promotion is approved after its time",
        "domain/promote/copying.py",
        'if state == "requested" and expires_at is not None and expires_at <= now:',
        "if expires_at is None and now is None:",
        (f"{_PROMOTION}a_request_is_rejected_runs_out_or_is_about_what_is_gone",),
    ),
    Mutation(
        "anyone-takes-back",
        "sharing: a member takes back what another one promoted",
        "api/promotions.py",
        "if found.owner_profile_id != actor.profile_id and not administers:",
        "if actor is None:",
        (f"{_PROMOTION}what_is_taken_back_takes_only_what_it_supports",),
    ),
    Mutation(
        "promotion-joins-another-text",
        "sharing: a promotion takes a text that lies in the target for its copy, and taking it back ends that text",
        "db/promotion.py",
        "        force_insert=True,\n",
        "",
        (f"{_PROMOTION}what_is_taken_back_takes_only_what_it_supports",),
    ),
    Mutation(
        "promotion-of-what-is-gone",
        "sharing: a text that was retracted is promoted",
        "domain/promote/copying.py",
        "        if withdrawn is not None:",
        '        if withdrawn == "never":',
        (
            f"{_PROMOTION}only_ones_own_private_texts_that_count_are_promoted",
            f"{_PROMOTION}a_request_is_rejected_runs_out_or_is_about_what_is_gone",
        ),
    ),
)
