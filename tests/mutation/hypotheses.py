"""Mutations of hypotheses: that they follow from what counts, say nothing that is known, end with their premises, and stay out of the answer."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_RULES = "tests/unit/hypothesis/test_generate.py::test_"
_EVER = "tests/property/test_hypothesis_properties.py::test_"
_LANE = "tests/unit/recall/test_hypothesis_lane.py::test_"
_MEMORY = "tests/integration/memory/test_hypotheses.py::test_"
_GENERATE, _SQL = "domain/hypothesis/generate.py", "db/queries/hypothesis.sql"

HYPOTHESES = (
    Mutation(
        "hypothesis-of-what-is-known",
        "hypotheses: what is said or denied is supposed as well",
        _GENERATE,
        "return (start, key, end) in self.stated or",
        "return",
        (f"{_EVER}no_hypothesis_says_what_is_known", f"{_RULES}what_is_said_or_denied_is_not_suggested"),
    ),
    Mutation(
        "hypothesis-of-a-second-object",
        "hypotheses: another object is supposed where there can be one",
        _GENERATE,
        'current_cardinality == "one" and (start, key) in self.held)',
        'current_cardinality == "one" and False)',
        (f"{_EVER}no_hypothesis_says_what_is_known", f"{_RULES}one_object_is_enough_where_there_can_be_one"),
    ),
    Mutation(
        "hypothesis-from-a-denial",
        "hypotheses: what is denied or ended is a premise",
        _GENERATE,
        'if premise.polarity == "+" and premise.is_lasting and (place',
        "if (place",
        (f"{_EVER}every_hypothesis_has_two_premises_that_count_and_meet", f"{_RULES}what_is_denied_ended_or_of_another_scope_is_no_premise"),
    ),
    Mutation(
        "hypothesis-by-the-order-of-rows",
        "hypotheses: they depend on the order in which rows come",
        "domain/hypothesis/source.py",
        "tuple(sorted(premises, key=_by_id))",
        "tuple(premises)",
        (f"{_RULES}nothing_depends_on_who_read_the_rows",),
    ),
    Mutation(
        "hypothesis-that-comes-back",
        "hypotheses: what was rejected is supposed again",
        _GENERATE,
        "if {made.target_sha256, made.content_sha256} & source.assessed:",
        "if False:",
        (f"{_RULES}what_was_assessed_does_not_come_back",),
    ),
    Mutation(
        "hypothesis-of-the-stronger-premise",
        "hypotheses: the likelihood is that of the stronger premise",
        "domain/hypothesis/policy.py",
        "self.doubt / min(source_groups)",
        "self.doubt / max(source_groups)",
        (f"{_RULES}the_likelihood_is_the_record_times_the_weaker_premise",),
    ),
    Mutation(
        "hypothesis-of-hubs",
        "hypotheses: a hub takes every place of a run",
        _GENERATE,
        "often(item) <= allowed:",
        "True:",
        (f"{_RULES}what_few_hypotheses_name_comes_first",),
    ),
    Mutation(
        "hypothesis-said-elsewhere",
        "hypotheses: one says what another lane covers",
        "domain/recall/hypothesis_lane.py",
        "if _group_key(row) not in state.covered]",
        "]",
        (f"{_LANE}what_another_lane_covers_is_not_said_again",),
    ),
    Mutation(
        "hypothesis-of-another-time",
        "hypotheses: a view of another time gets those of now",
        "domain/recall/hypothesis_lane.py",
        "if not state.intent.view.is_present:",
        "if False:",
        (f"{_MEMORY}views_of_another_time_and_narrowed_recalls_have_none",),
    ),
    Mutation(
        "hypothesis-from-an-old-version",
        "hypotheses: a recall shows one whose premise has another version",
        _SQL,
        "join commonlore.relationship r on r.relationship_id = f.relationship_id and r.version = f.relationship_version\n    join",
        "join commonlore.relationship r on r.relationship_id = f.relationship_id\n    join",
        (f"{_MEMORY}what_no_write_noted_is_left_out_all_the_same",),
    ),
    Mutation(
        "hypothesis-outlives-its-premise",
        "hypotheses: a write that ends a premise does not end them",
        "db/conflicts.py",
        "        await note_changed(transaction, relationship_ids, now=now)\n",
        "",
        (f"{_MEMORY}a_retracted_premise_ends_it_and_a_new_one_brings_another", f"{_MEMORY}what_somebody_says_or_denies_is_no_hypothesis_any_more"),
    ),
    Mutation(
        "hypothesis-proposed-from-what-changed",
        "hypotheses: a premise that changed after it was read is cited",
        "db/queries/hypothesis_run.sql",
        "on r.relationship_id = w.relationship_id and r.version = w.version",
        "on r.relationship_id = w.relationship_id",
        (f"{_MEMORY}a_write_between_reading_and_proposing_wins",),
    ),
    Mutation(
        "hypothesis-confirmed-by-anything",
        "hypotheses: a text that does not carry it confirms it",
        "db/hypothesis_views.py",
        'if row is None or not row["is_said"]:',
        "if row is None:",
        (f"{_MEMORY}a_text_that_does_not_carry_it_decides_nothing",),
    ),
    Mutation(
        "hypothesis-ended-by-its-confirmation",
        "hypotheses: the write of a confirmation ends it as known",
        "db/hypothesis_views.py",
        'await self._hold("submitted")',
        "pass",
        (f"{_MEMORY}a_confirmation_is_remembered_and_decides_in_one_write",),
    ),
)
