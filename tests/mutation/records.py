"""Mutations of the records that a team keeps: the audit log, feedback, retention."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_ENTRIES = "tests/integration/audit/test_entries.py::test_"
_READING = "tests/integration/audit/test_reading.py::test_"
_SEALS = "tests/property/test_audit_properties.py::test_"
_FEEDBACK = "tests/integration/memory/test_feedback.py::test_"
_JUDGE = "tests/unit/feedback/test_judge.py::test_"
_RETENTION = "tests/integration/audit/test_retention.py::test_"

RECORDS = (
    Mutation(
        "writes-unlogged",
        "audit: what the holder of a key changes has no entry",
        "db/session.py",
        "        await _commit(transaction, None if snapshot else record)\n",
        "        await _commit(transaction, None)\n",
        (f"{_ENTRIES}whatever_the_holder_of_a_key_writes_is_logged", f"{_ENTRIES}the_entry_and_the_change_are_one"),
    ),
    Mutation(
        "refusals-unlogged",
        "audit: an administrator's act that was denied leaves no trace",
        "domain/audit/act.py",
        '    if isinstance(error, Forbidden):\n        return "denied"\n',
        "",
        ("tests/unit/audit/test_act.py::test_a_refusal_is_what_is_said_of_the_one_who_asked",),
    ),
    Mutation(
        "reasons-of-agents-logged",
        "audit: what an agent gives as a reason, perhaps a quote, is in the log for good",
        "domain/audit/act.py",
        'getattr(request, "reason", None) if is_administrative else None',
        'getattr(request, "reason", None)',
        ("tests/unit/audit/test_act.py::test_the_reason_is_kept_of_administrators_alone",),
    ),
    Mutation(
        "idle-transactions-logged",
        "audit: a transaction that wrote nothing has an entry",
        "db/queries/audit.sql",
        "where %(always)s::boolean or pg_current_xact_id_if_assigned() is not null",
        "where %(always)s::boolean or true",
        (f"{_ENTRIES}nothing_is_logged_that_did_not_happen",),
    ),
    Mutation(
        "seals-unchained",
        "audit: a seal that was taken away is not missed",
        "domain/audit/entry.py",
        "    chained = seal.previous_sha256 == before and ",
        "    chained = ",
        (f"{_SEALS}a_seal_that_is_gone_breaks_the_next", f"{_READING}a_seal_that_was_taken_away_is_missed"),
    ),
    Mutation(
        "entries-undigested",
        "audit: an entry that was changed passes as it was sealed",
        "domain/audit/entry.py",
        " and digest_entries(entries) == seal.entries_sha256",
        "",
        (f"{_SEALS}a_change_of_any_field_of_any_entry_is_seen_in_its_seal_alone", f"{_READING}a_worker_seals_what_waits_and_a_change_is_seen"),
    ),
    Mutation(
        "feedback-of-others",
        "feedback: somebody judges a recall of another key",
        "db/queries/feedback.sql",
        "where r.recall_id = %(recall_id)s::uuid and r.credential_id = %(credential_id)s::uuid",
        "where r.recall_id = %(recall_id)s::uuid and (r.credential_id = %(credential_id)s::uuid or true)",
        (f"{_FEEDBACK}only_who_asked_may_judge",),
    ),
    Mutation(
        "feedback-on-unseen-results",
        "feedback: a result that the recall did not show is judged",
        "domain/feedback/judge.py",
        'return "result_reference_invalid" if any(key not in shown for key in named) else None',
        "return None",
        (f"{_JUDGE}a_reference_must_have_been_shown_and_a_complaint_explained",),
    ),
    Mutation(
        "recalls-always-kept",
        "feedback: recalls of a team that did not ask are kept",
        "api/service.py",
        "        if actor.keeps_feedback:\n",
        "        if True:\n",
        (f"{_FEEDBACK}nothing_is_kept_of_a_team_that_did_not_ask",),
    ),
    Mutation(
        "retention-past-the-young",
        "retention: entries go whose seal is younger than the team's rule",
        "alembic/versions/0022_retention.py",
        "        exit when seal.last_known_from >= now() - make_interval(days => rule.audit_days);\n",
        "",
        (f"{_RETENTION}old_seals_lose_their_entries_and_the_chain_holds",),
    ),
)
