"""Mutations of backups and of the ways in: archives, the client, migrations of data."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_ARCHIVE = "tests/integration/archive/test_archive.py::test_"
_CALLING = "tests/unit/client/test_calling.py::test_"

WAYS: tuple[Mutation, ...] = (
    Mutation(
        "archive-without-private-spaces",
        "backups: rows of one space of a team are carried and those of the others are not",
        "db/archive/snapshot.py",
        "for space_epoch in self._epochs[team.team_id] if",
        "for space_epoch in self._epochs[team.team_id][:1] if",
        (f"{_ARCHIVE}every_row_of_every_table_is_carried",),
    ),
    Mutation(
        "archive-of-another-team",
        "backups: one team's archive has rows of another",
        "db/archive/snapshot.py",
        'condition = sql.SQL("team_id = {}").format(sql.Literal(team.team_id))',
        'condition = sql.SQL("true")',
        (f"{_ARCHIVE}one_team_is_carried_alone",),
    ),
    Mutation(
        "archive-taken-on-trust",
        "backups: rows that are not those of the manifest are restored",
        "db/archive/file.py",
        "if not tally.matches(entry) or (tally.bytes, tally.sha256) != (entry.bytes, entry.sha256):",
        "if False:",
        (f"{_ARCHIVE}an_exchanged_member_is_found_before_anything_is_touched",),
    ),
    Mutation(
        "archive-into-what-is-used",
        "backups: an archive is restored over a team",
        "db/archive/restoring.py",
        'connection.execute(_TENANCY["list_teams"], {}).fetchone() is not None',
        "False",
        (f"{_ARCHIVE}a_database_with_a_team_is_refused",),
    ),
    Mutation(
        "archive-restored-unguarded",
        "backups: tables stay without forced row security after a restore",
        "db/archive/restoring.py",
        '            connection.execute(sql.SQL("alter table {} force row level security").format(table.identifier))',
        "            pass",
        (f"{_ARCHIVE}a_restored_database_is_the_same",),
    ),
    Mutation(
        "migration-as-the-bound-owner",
        "migrations: one that changes rows reaches none, because the owner is bound by the policies",
        "alembic/versions/0009_ledger_decisions.py",
        "perform set_config('commonlore.space_epoch', epoch::text, true);",
        "",
        ("tests/integration/database/test_upgrades.py::test_a_filled_database_of_a_revision_is_upgraded",),
    ),
    Mutation(
        "client-repeats-anything",
        "client: a call that may have had an effect is sent again",
        "client/calling.py",
        'return repeatable != "never" or not error.reached',
        "return True",
        (f"{_CALLING}only_what_is_safe_is_repeated",),
    ),
    Mutation(
        "client-with-a-key-a-try",
        "client: each try of a write has an idempotency key of its own",
        "client/calling.py",
        "        outcome = _outcome((yield send))",
        '        outcome = _outcome((yield Send(path, msgspec.json.encode({**content, "idempotency_key": str(uuid4())}))))',
        (f"{_CALLING}a_write_has_one_idempotency_key_for_all_its_tries",),
    ),
)
