"""The cases that are not run here: proven by another test, or waiting for a part that is not built; and the defects that are open."""

from __future__ import annotations

HTTP = "tests/integration/api/test_http.py"
GUARD = "tests/integration/api/test_guard.py"
MCP = "tests/integration/api/test_mcp.py"
CALLS = "tests/integration/api/test_mcp_calls.py"
CATALOGUE = "tests/integration/isolation/test_catalogue.py"
ADMIN = "tests/integration/api/test_admin.py"
CONTAINERS = "tests/unit/cli/test_containers.py"
STDIO = "tests/integration/api/test_mcp_stdio.py"
COMMUNITIES = "tests/integration/memory/test_communities.py"
DETECT = "tests/unit/community/test_detect.py"
KILLED = "tests/integration/jobs/test_killed_worker.py"
CONTRACTS = "tests/integration/projection/test_contracts.py"
SCRATCH = "tests/integration/isolation/test_scratch.py"

# Case: the tests that prove it.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "B005-a": (f"{CATALOGUE}::test_a_dropped_policy_is_red_and_named",),
    "B006-b": (f"{CATALOGUE}::test_a_new_table_without_policy_is_red_and_named",),
    "B007-a": (f"{CATALOGUE}::test_an_unprotected_partition_is_red",),
    "B010-b": (f"{SCRATCH}::test_a_child_of_a_foreign_parent_is_refused_like_a_child_of_none",),
    "B018-b": (
        f"{SCRATCH}::test_the_whole_proof_passes_on_a_new_database",
        f"{SCRATCH}::test_with_the_policies_gone_the_policies_alone_do_not_isolate",
    ),
    "B025-b": ("tests/integration/cli/test_jobs.py::test_foreign_and_missing_jobs_are_answered_alike_and_nothing_changes",),
    "B043-a": (
        f"{CONTRACTS}::test_a_process_without_an_embedder_of_the_served_contract_answers_by_words_and_says_so",
        f"{CONTRACTS}::test_a_contract_of_another_dimension_is_filled_switched_and_switched_back",
    ),
    "B043-c": (
        f"{CONTRACTS}::test_what_cannot_be_started_is_refused_by_name_and_changes_nothing",
        "tests/integration/embedding/test_remote.py::test_a_wrong_entry_stops_the_start_and_says_why",
    ),
    "B045-a": ("tests/integration/projection/test_generations.py::test_a_failing_document_is_isolated_and_counted_and_does_not_switch_off_the_team",),
    "B021-a": ("tests/integration/database/test_upgrades.py::test_a_backfill_reaches_the_rows_of_every_team",),
    "B172-a": (f"{STDIO}::test_every_line_is_a_message_and_the_end_of_the_input_is_the_end",),
    "B183-b": (
        f"{STDIO}::test_what_cannot_be_read_keeps_nobody_from_being_answered",
        f"{STDIO}::test_requests_that_nobody_reads_for_a_while_are_answered_once_each",
    ),
    "B057-a": (
        f"{CONTAINERS}::test_the_parts_are_there_once_and_wait_for_each_other",
        f"{CONTAINERS}::test_no_secret_has_a_default_and_no_port_is_open",
        f"{CONTAINERS}::test_the_database_has_room_to_build_indexes",
    ),
    "B102-b": (f"{STDIO}::test_what_cannot_be_read_keeps_nobody_from_being_answered",),
    # What Valkey holds are counts of calls, and no answers.
    "B216-b": (
        "tests/integration/limits/test_stores.py::test_foreign_bytes_in_valkey_are_counted_anew",
        "tests/integration/limits/test_http.py::test_the_loss_of_valkey_is_stated_and_costs_no_call",
    ),
    "B023-b": ("tests/integration/limits/test_stores.py::test_a_key_of_valkey_names_its_team",),
    "B026-a": ("tests/integration/audit/test_retention.py::test_kept_recalls_go_after_their_days_and_the_sweep_asks_for_it",),
    "B123-a": (f"{KILLED}::test_a_killed_workers_job_is_taken_up_and_every_count_is_exact",),
    "B124-b": (f"{KILLED}::test_a_frozen_workers_job_is_another_ones_and_its_own_late_end_counts_for_nothing",),
    "B127-a": ("tests/integration/memory/test_community_runs.py::test_one_run_of_a_space_at_a_time_and_a_lost_one_is_taken_up",),
    "B132-a": ("tests/integration/jobs/test_vector_indexes.py::test_an_index_that_was_cut_off_is_built_anew",),
    "B146-a": (f"{DETECT}::test_small_graphs_on_which_others_never_ended",),
    "B147-b": (f"{DETECT}::test_there_is_one_detector", f"{DETECT}::test_processes_and_hash_seeds_change_nothing"),
    "B148-a": (f"{DETECT}::test_a_change_inside_one_community_renames_none",),
    "B149-b": (f"{COMMUNITIES}::test_the_shape_is_that_of_the_page",),
    # A hub ends no run: it is tied in a way that keeps the graph small. What is too large is said, and the lanes stay.
    "B150-a": (
        f"{DETECT}::test_a_hub_of_100_000_edges_is_no_failure",
        "tests/integration/memory/test_community_runs.py::test_more_than_a_run_takes_is_said_and_the_last_snapshot_stays",
    ),
    # Nothing is moved by one call: it is said in the other space and taken back in the first.
    "B151-b": (f"{COMMUNITIES}::test_what_went_to_another_space_is_in_no_community_of_the_first",),
    "B154-a": (f"{COMMUNITIES}::test_a_retracted_text_leaves_the_summary_the_members_and_the_names",),
    "B129-a": (f"{CONTRACTS}::test_a_remote_embedder_that_takes_its_time_holds_no_transaction_open",),
    "B173-b": ("tests/unit/api/test_tables.py::test_the_bounds_that_are_shown_are_those_that_hold",),
    "B174-a": ("tests/unit/api/test_tables.py::test_a_tool_name_suits_every_host",),
    "B176-a": (f"{MCP}::test_every_accept_header_is_served",),
    "B176-c": (f"{GUARD}::test_another_method_is_told_the_right_one",),
    "B177-b": (f"{MCP}::test_an_unknown_protocol_version_is_answered_with_a_known_one", f"{MCP}::test_an_initialize_without_a_version_is_invalid"),
    "B177-d": (f"{MCP}::test_an_unknown_version_header_is_refused",),
    "B178-a": (f"{MCP}::test_unknown_capabilities_and_client_fields_are_let_pass",),
    "B182-c": (f"{CALLS}::test_a_text_that_looks_like_json_stays_text",),
    "B185-b": (f"{GUARD}::test_a_foreign_host_or_origin_is_refused",),
    "B187-b": (f"{HTTP}::test_no_encoded_body_is_taken",),
    "B190-a": (f"{HTTP}::test_only_json_in_utf_8_is_taken", f"{HTTP}::test_a_body_without_a_content_type_is_refused"),
    "B191-b": (f"{ADMIN}::test_a_walk_misses_and_repeats_nothing_while_rows_come_and_go",),
    "B200-a": (f"{GUARD}::test_a_key_in_the_query_is_no_credential_and_is_not_logged",),
    "B201-b": ("tests/unit/tenancy/test_key.py::test_secrets_are_compared_in_constant_time_for_present_and_missing_rows",),
    "B220-a": (
        "tests/integration/embedded/test_accounts.py::test_no_server_process_belongs_to_root",
        "tests/integration/embedded/test_accounts.py::test_folders_that_exist_keep_their_modes_and_the_data_are_private",
    ),
    "B125-a": (
        "tests/integration/memory/test_worker.py::test_one_malformed_text_fails_alone_after_five_tries",
        "tests/integration/memory/test_worker.py::test_what_failed_for_good_is_listed_for_administrators",
    ),
    "B221-b": ("tests/integration/embedded/test_crash.py::test_a_bystander_named_in_the_pid_file_is_left_alone",),
}

_EXPORT = "the SQLite file: export, import and single-user mode"
_RELEASE = "a second release: what a migration of 500,000 rows costs a recall is measured when there is one"

# Case: the part it waits for.
WAITING: dict[str, str] = {
    "B072-b": "a search for administrators: their lists have no words to match, so that no pattern reaches the database",
    "B085-b": _EXPORT,
    "B130-b": "what a busy team costs another in milliseconds: a measurement (tests.bench.overload); its cap and the 429 are proven by tests/integration/limits",
    "B134-a": _RELEASE,
    "B158-a": _EXPORT,
    "B161-a": _EXPORT,
    "B162-b": _EXPORT,
    "B163-a": _EXPORT,
    "B164-b": _EXPORT,
    "B165-a": _EXPORT,
    "B166-b": _EXPORT,
    "B167-a": _EXPORT,
    "B169-a": _EXPORT,
    "B170-b": _EXPORT,
    "B171-a": _EXPORT,
}

# Of those that run: the defect that keeps the case from passing. Strict: whoever mends it strikes it from here.
OPEN: dict[str, str] = {}
