"""Mutations of what keeps memories apart and whole: isolation, keys, settlement, repeated calls, workers."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_PROOF = "tests/integration/isolation/test_scratch.py::test_the_whole_proof_passes_on_a_new_database"
_LOCKS = "tests/integration/isolation/test_recall_locks.py::test_predicates_alone_isolate_a_recall"
_SETTLEMENT = "tests/unit/ledger/test_settlement.py::test_"
_WITHDRAWAL = "tests/integration/memory/test_withdrawal.py::test_"
_WORKER = "tests/integration/memory/test_worker.py::test_"
_REMEMBER = "tests/integration/memory/test_remember.py::test_"
_POSTINGS = "tests/integration/memory/test_postings.py::test_"
_RESIDENT = "tests/integration/memory/test_residence.py::test_"

_ISOLATION = (
    Mutation(
        "policy-missing",
        "security: a table has no policy",
        "alembic/versions/0002_ledger.py",
        "select commonlore.isolate('commonlore.evidence_occurrence', 'space', 'append', 'none');",
        "grant select, insert on commonlore.evidence_occurrence to commonlore_app;",
        (_PROOF,),
    ),
    Mutation(
        "policy-not-forced",
        "security: the owner of a table passes its policy",
        "alembic/versions/0001_tenancy.py",
        "    execute format('alter table %s force row level security', table_name);\n",
        "",
        (_PROOF,),
    ),
    Mutation(
        "policy-of-the-team-alone",
        "security: members see each other's private spaces",
        "alembic/versions/0001_tenancy.py",
        "when 'space' then team || ' and ' || space end",
        "when 'space' then team end",
        (_PROOF,),
    ),
    Mutation(
        "policy-without-check",
        "security: rows can be written into another team",
        "alembic/versions/0001_tenancy.py",
        "using (%s) with check (%s)', table_name, condition, condition)",
        "using (%s) with check (true)', table_name, condition)",
        (_PROOF,),
    ),
    Mutation(
        "context-outlives-its-transaction",
        "security: the next user of a connection sees the team of the last",
        "db/queries/session.sql",
        "select set_config('commonlore.team_id', %(team_id)s::uuid::text, true)",
        "select set_config('commonlore.team_id', %(team_id)s::uuid::text, false)",
        (_PROOF,),
    ),
    Mutation(
        "hydration-of-every-space",
        "security: the rows of a recall compare the team and not the space",
        "db/queries/hydrate.sql",
        "where e.evidence_id = any(%(evidence_ids)s::uuid[])\n"
        "  and e.team_id = %(team_id)s::uuid -- tenant\n  and e.space_epoch = %(space_epoch)s::bigint -- tenant\n",
        "where e.evidence_id = any(%(evidence_ids)s::uuid[])\n  and e.team_id = %(team_id)s::uuid -- tenant\n",
        (_PROOF,),
    ),
    Mutation(
        "turns-of-every-team",
        "security: a branch of the search compares neither team nor space",
        "db/queries/frontier.sql",
        "%(evidence_ids)s::uuid[]) and e.session is not null and e.sequence is not null\n"
        "  and e.team_id = %(team_id)s::uuid -- tenant\n  and e.space_epoch = %(space_epoch)s::bigint -- tenant\n",
        "%(evidence_ids)s::uuid[]) and e.session is not null and e.sequence is not null\n",
        (_PROOF,),
    ),
    Mutation(
        "trace-of-every-space",
        "security: a trace finds what lies in another space",
        "db/queries/trace.sql",
        "where r.relationship_id = %(relationship_id)s::uuid\n"
        "  and r.team_id = %(team_id)s::uuid -- tenant\n  and r.space_epoch = %(space_epoch)s::bigint -- tenant\n;",
        "where r.relationship_id = %(relationship_id)s::uuid;",
        (_PROOF, _LOCKS),
    ),
    Mutation(
        "cases-of-every-space",
        "security: the list of conflicts holds those of other spaces",
        "db/queries/conflict_view.sql",
        "where c.conflict_id > %(after)s::uuid and coalesce(c.status = %(status)s::text, true)\n"
        "  and c.team_id = %(team_id)s::uuid -- tenant\n  and c.space_epoch = %(space_epoch)s::bigint -- tenant\n",
        "where c.conflict_id > %(after)s::uuid and coalesce(c.status = %(status)s::text, true)\n",
        (_PROOF,),
    ),
    Mutation(
        "any-secret",
        "keys: a wrong secret opens a team",
        "domain/tenancy/key.py",
        "return hmac.compare_digest(presented.secret_sha256, stored_sha256 or bytes(32)) and stored_sha256 is not None",
        "return stored_sha256 is not None",
        (f"{_REMEMBER}a_wrong_secret_is_refused", "tests/unit/tenancy/test_key.py::test_a_minted_key_is_read_back_and_matches_its_own_hash_only"),
    ),
    Mutation(
        "revoked-keys-serve",
        "keys: a revoked key still reads",
        "db/queries/session.sql",
        "c.revoked_at is null and ",
        "",
        ("tests/integration/memory/test_concurrency.py::test_a_revoked_key_is_refused_at_once",),
    ),
    Mutation(
        "scopes-ignored",
        "keys: a key without the scope read recalls",
        "domain/tenancy/actor.py",
        "if scope not in self.scopes:",
        "if False:",
        ("tests/integration/memory/test_recall.py::test_a_key_without_read_may_not_recall", f"{_REMEMBER}a_key_without_write_may_not_remember"),
    ),
)

_WHOLE = (
    Mutation(
        "unsupported-stays-active",
        "settlement: a relationship outlives its last support",
        "domain/ledger/settlement.py",
        'return "retracted" if own else "pending_evidence"',
        "return item.status",
        (f"{_SETTLEMENT}an_active_one_without_support_ends", f"{_WITHDRAWAL}retracted_evidence_is_gone_from_the_present"),
    ),
    Mutation(
        "first-stated-wins",
        "settlement: of several that regain one place the first stated takes it",
        "domain/ledger/settlement.py",
        "item.relationship_id), reverse=True)",
        "item.relationship_id))",
        (f"{_SETTLEMENT}of_several_that_regain_one_place_the_last_stated_takes_it",),
    ),
    Mutation(
        "two-current-objects",
        "settlement: what comes back becomes current beside another",
        "domain/ledger/settlement.py",
        "if item.has_current_sibling or item.scope in held:",
        "if item.scope in held:",
        (f"{_SETTLEMENT}support_that_is_back_counts_again", f"{_WITHDRAWAL}a_release_does_not_bring_back_what_was_replaced"),
    ),
    Mutation(
        "versions-without-change",
        "settlement: a row that did not change takes a version",
        "domain/ledger/settlement.py",
        "if status == item.status and counts == (item.support_count, item.source_group_count):",
        "if False:",
        (f"{_SETTLEMENT}nothing_changed_makes_no_version",),
    ),
    Mutation(
        "key-of-another-request",
        "repeated calls: a key that was used for another request answers with that request's result",
        "domain/submission.py",
        "if replay.request_sha256 != request_sha256:",
        "if False:",
        (f"{_REMEMBER}the_same_key_with_another_request_is_a_conflict",),
    ),
    Mutation(
        "repeated-calls-write-again",
        "repeated calls: a call whose key has an answer writes all the same",
        "domain/submission.py",
        "if (replay := await submissions.claim_submission(claim)) is not None:",
        "if (replay := await submissions.claim_submission(claim)) is not None and False:",
        (f"{_REMEMBER}sixteen_callers_with_one_key_store_once",),
    ),
    Mutation(
        "vectors-stored-twice",
        "fencing: a worker stores the vector of a part that another stored",
        "db/queries/worker.sql",
        "join taken using (evidence_id, part_no);",
        ";",
        (f"{_WORKER}two_jobs_at_once_store_each_vector_once",),
    ),
    Mutation(
        "stale-documents-current",
        "fencing: the vector of an older document is stored for a newer one",
        "db/queries/worker.sql",
        "d.relationship_id = v.relationship_id and d.source_version = v.source_version",
        "d.relationship_id = v.relationship_id",
        (f"{_WORKER}a_document_written_anew_meanwhile_keeps_waiting",),
    ),
)

_KEPT = (
    Mutation(
        "late-transactions-overlooked",
        "snapshot: a vector whose transaction began early and ended late is never found",
        "db/resident.py",
        "        if found.mark > self.mark:\n            self.mark = found.mark\n",
        "        self.mark = max([self.mark, found.mark, *(number + 1 for number in self.held)])\n        if True:\n",
        (f"{_RESIDENT}a_vector_is_found_by_the_next_recall_after_its_commit_and_not_before",),
    ),
    Mutation(
        "older-snapshots-overlooked",
        "snapshot: a recall is answered with what came after it began",
        "db/resident_reading.py",
        "        if not found.holds or self.block.mark > found.mark or not self.block.held <= seen:\n",
        "        if False:\n",
        (f"{_RESIDENT}a_snapshot_that_is_older_than_what_is_kept_sees_its_own_state",),
    ),
    Mutation(
        "gone-vectors-answer",
        "recall: a vector that is gone takes a place among the nearest",
        "db/resident_reading.py",
        "        if self.block.count != count:\n",
        "        if False:\n",
        (f"{_RESIDENT}what_was_deleted_is_found_no_more",),
    ),
    Mutation(
        "withdrawn-texts-kept",
        "recall: a withdrawn text takes a place among the candidates",
        "db/resident_reading.py",
        "        return self.known | gone if gone is not None else None\n",
        "        return self.known if gone is not None else None\n",
        (f"{_RESIDENT}kept_spaces_answer_as_the_database_does",),
    ),
    Mutation(
        "withdrawn-relationships-kept",
        "recall: a relationship that counts no more takes a place among the candidates",
        "db/resident_reading.py",
        "        counting = [hit for hit in found if hit[0].bytes not in refused] if refused else found\n",
        "        counting = found\n",
        (f"{_RESIDENT}relationships_that_count_no_more_take_no_place_among_the_candidates",),
    ),
    Mutation(
        "hidden-relationships-kept",
        "recall: what an erasure hides takes a place among the candidates until a worker deletes it",
        "db/resident_gate.py",
        "Refused(None, None) if is_erasing else Refused(",
        "Refused(",
        ("tests/integration/erasure/test_derived.py::test_documents_postings_and_vectors_follow",),
    ),
    Mutation(
        "fewer-were-nearest",
        "recall: a search has as many of the nearest as the one before it asked for",
        "db/resident.py",
        "        if near is None or near.looked_at != looked_at:\n",
        "        if near is None:\n",
        ("tests/unit/resident/test_blocks.py::test_what_the_search_before_asked_is_ready_for_the_next_and_changes_nothing",),
    ),
    Mutation(
        "old-words-answer",
        "recall: a word has the postings that it had before others were folded",
        "db/resident_words.py",
        "            if kept is not None and kept[0] == stamp:\n",
        "            if kept is not None:\n",
        (f"{_RESIDENT}words_that_a_process_keeps_are_not_read_again",),
    ),
    Mutation(
        "old-spaces-answer",
        "recall: a word has the postings that it had when all words of the space were read",
        "db/resident_words.py",
        "            if int(self._stamps[place]) == stamps[term]:\n",
        "            if True:\n",
        (f"{_RESIDENT}all_words_of_a_space_are_read_at_once_after_some",),
    ),
    Mutation(
        "foreseen-groups-alone",
        "recall: relationships that were not foreseen are left out",
        "db/recall.py",
        "            if missing := [group for group in groups if group not in ahead]:\n",
        "            if missing := ([] if ahead else list(groups)):\n",
        ("tests/integration/memory/test_recall.py::test_groups_come_with_the_evidence_and_only_the_others_are_asked_for",),
    ),
    Mutation(
        "rows-of-other-candidates",
        "recall: rows that were read ahead are taken for others",
        "db/recall.py",
        "self.evidence != [] and self._wanted == wanted and all(",
        "self.evidence != [] and all(",
        (f"{_RESIDENT}rows_that_were_read_ahead_are_taken_where_they_are_wanted_alone",),
    ),
    Mutation(
        "unfolded-words-forgotten",
        "recall: a text that no worker folded yet is not found by its words",
        "db/resident_reading.py",
        "    if loose:\n",
        "    if loose and not kept:\n",
        (f"{_RESIDENT}words_that_a_process_keeps_are_not_read_again",),
    ),
)

_FOLDED = (
    Mutation(
        "unfolded-postings-misread",
        "recall: a text that no worker folded yet has another score",
        "db/queries/frontier.sql",
        "select h.weight, d.evidence_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)",
        "select h.weight, d.evidence_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] + (1 << 16)",
        (f"{_POSTINGS}scores_are_those_of_the_formula_whatever_was_folded",),
    ),
    Mutation(
        "replaced-postings-kept",
        "recall: a relationship is found by words that it no longer says",
        "domain/projection/posting.py",
        "            counts[posting] += sign\n",
        "            counts[posting] += 1\n",
        ("tests/property/test_posting_properties.py::test_a_history_folded_anywhere_leaves_the_last_texts",),
    ),
    Mutation(
        "erased-postings-unfolded",
        "erasure: what no worker folded yet stays",
        "db/postings.py",
        "    while await fold_postings(transaction):\n        pass\n",
        "",
        (f"{_POSTINGS}nothing_is_left_of_parts_that_are_taken_out",),
    ),
)

SAFETY: tuple[Mutation, ...] = (*_ISOLATION, *_WHOLE, *_KEPT, *_FOLDED)
