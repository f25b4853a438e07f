"""Mutations of what takes texts in: sessions, echoes, signals and near-duplicates."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_EVENTS = "tests/unit/ingest/test_events.py::test_"
_ECHO = "tests/unit/ledger/test_echo.py::test_"
_ECHOES = "tests/integration/memory/test_echoes.py::test_"
_INJECTIONS = "tests/unit/ledger/test_injections.py::test_"
_SESSIONS = "tests/integration/memory/test_sessions.py::test_"

INTAKE: tuple[Mutation, ...] = (
    Mutation(
        "events-of-any-owner",
        "sessions: a member takes an event id from another",
        "domain/ingest/events.py",
        "return _sha256(str(owner_profile_id), request.framework",
        "return _sha256(request.framework",
        (f"{_EVENTS}an_event_id_belongs_to_its_owner",),
    ),
    Mutation(
        "events-change",
        "sessions: an event is taken in again with another text",
        "domain/ingest/events.py",
        "if before.content_sha256 != now.content_sha256:",
        "if False:",
        (f"{_EVENTS}an_event_never_changes", f"{_SESSIONS}another_text_under_an_id_refuses_the_whole_call"),
    ),
    Mutation(
        "events-with-gaps",
        "sessions: the numbers of two calls overlap, so that neighbours are lost",
        "domain/ingest/service.py",
        "await writer.keep_events(SessionEvents(session, ids, last + len(ids)), claim.now)",
        "await writer.keep_events(SessionEvents(session, ids, last), claim.now)",
        (f"{_SESSIONS}an_event_is_taken_in_once",),
    ),
    Mutation(
        "events-of-two-sessions-meet",
        "sessions: two users with one session id share a session",
        "domain/ingest/events.py",
        "return _joined(request.framework, request.app_name, request.user_id, request.session_id)",
        "return _joined(request.framework, request.app_name, request.session_id)",
        (f"{_EVENTS}every_name_is_part_of_the_identity", f"{_SESSIONS}the_same_words_in_two_events_are_two_turns"),
    ),
    Mutation(
        "echoes-are-independent",
        "echoes: a text that quotes a recall counts as a source of its own",
        "domain/remember/service.py",
        "group = place.echo.source_group_key if place.echo else source_group_key(proposal, place.evidence_id)",
        "group = source_group_key(proposal, place.evidence_id)",
        (f"{_ECHOES}an_echo_is_no_independent_support",),
    ),
    Mutation(
        "echoes-tell-of-other-spaces",
        "echoes: the shared space keeps the id and the source of a private text",
        "domain/ledger/echo.py",
        "if nearest.is_in_target:",
        "if True:",
        (f"{_ECHO}nothing_of_another_space_is_kept", f"{_ECHOES}an_echo_of_a_private_text_leaves_no_trace_of_it"),
    ),
    Mutation(
        "scan-without-layers",
        "signals: a disguised command is taken for an ordinary text",
        "domain/ledger/signals.py",
        "for layer in undisguised(text):",
        "for layer in ():",
        (f"{_INJECTIONS}most_of_them_go_into_quarantine", f"{_INJECTIONS}no_disguise_hides_the_plainest_command"),
    ),
)
