"""What becomes of each table when something is erased: one line a table, compared with the catalogue before and after each erasure.

A table that is not here stops an erasure at its check (`unclassified`), so a new table needs a line before it can hold what nobody erases.

`ties`: columns that name what goes; a row goes with it. `gives`: the row's own id, which other rows may name.
`lets_go`: columns of rows that stay, set to null where they name what goes. `quoting`: columns in which people write ids of their own accord.
`stays`: why rows of single texts are not deleted here. With a whole epoch every row of every table of a space goes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the rows of one table."""

    ties: tuple[str, ...] = ()
    gives: str | None = None
    lets_go: tuple[str, ...] = ()
    quoting: tuple[str, ...] = ()
    stays: str | None = None
    keeps_ids: bool = False


_OF_EVIDENCE = Rule(ties=("evidence_id",))
_OF_RELATIONSHIP = Rule(ties=("relationship_id",))
_COUNTS = Rule(stays="counts of the space; those of the words that went are counted anew")
_SETTINGS = Rule(stays="settings and times of the space")
_SNAPSHOT = Rule(stays="deleted by snapshot: every one that is not published")

SPACE_TABLES: Mapping[str, Rule] = MappingProxyType(
    {
        # texts
        "evidence": Rule(ties=("evidence_id",), gives="evidence_id", quoting=("content", "source", "source_group", "labels", "metadata", "session")),
        "evidence_occurrence": Rule(
            ties=("occurrence_id", "evidence_id"), gives="occurrence_id", quoting=("source", "source_group", "labels", "metadata", "session")
        ),
        "evidence_lifecycle_event": Rule(ties=("evidence_id",), gives="event_id", lets_go=("replacement_evidence_id",), quoting=("reason",)),
        "evidence_exclusion": _OF_EVIDENCE,
        "evidence_security_event": Rule(ties=("evidence_id",), gives="event_id", quoting=("reason",)),
        "evidence_security_signal": Rule(ties=("event_id",), quoting=("quote",)),
        "evidence_source": Rule(ties=("source_id",), quoting=("source_key",)),
        "evidence_source_revision": Rule(ties=("revision_id", "source_id"), lets_go=("previous_revision_id",), quoting=("revision_token",)),
        "submission": Rule(stays="its answer, key and hash are struck out at once; who wrote when stays", quoting=("result", "idempotency_key")),
        "ingested_session": Rule(stays="a hash of names, a number and a time"),
        "ingested_turn": Rule(lets_go=("evidence_id",), stays="a hash of names: an event that was erased is not taken in again"),
        # search of texts
        "evidence_part": Rule(ties=("evidence_id",), quoting=("text",)),
        "evidence_echo": Rule(ties=("evidence_id",), lets_go=("echoed_evidence_id",), quoting=("source_group_key",)),
        "recalled_evidence": _OF_EVIDENCE,
        "evidence_posting": Rule(stays="words are taken out of their blocks, with the counts", quoting=("term",)),
        "evidence_posting_difference": Rule(stays="folded into the blocks before words are taken out of them", quoting=("words",)),
        "evidence_vector_": _OF_EVIDENCE,
        "evidence_embedding_backlog": _OF_EVIDENCE,
        "evidence_statistic": _COUNTS,
        # names
        "entity": Rule(ties=("entity_id",), gives="entity_id", lets_go=("merged_into",)),
        "entity_name": Rule(ties=("entity_name_id", "entity_id"), quoting=("display_name", "name_key"), lets_go=("correction_id",)),
        "entity_resolution_event": Rule(ties=("event_id", "entity_id"), quoting=("name", "mention_ref")),
        "entity_correction": Rule(ties=("from_entity_id", "to_entity_id"), gives="correction_id", lets_go=("reverses_id",), quoting=("reason",)),
        "entity_correction_item": Rule(ties=("correction_id", "relationship_id", "target_id")),
        "value_record": Rule(ties=("value_id",), gives="value_id", quoting=("canonical_value", "display", "unit")),
        "predicate_definition": Rule(stays="deleted by key: those that only the erased texts brought in", quoting=("predicate_key", "aliases")),
        "predicate_registration_event": Rule(stays="deleted with their predicate", quoting=("predicate_key", "reason")),
        # relationships
        "relationship": Rule(
            ties=("relationship_id",), gives="relationship_id", lets_go=("identity_alias_of", "corrected_by"), quoting=("scope_key",)
        ),
        "relationship_observation": Rule(ties=("observation_id", "relationship_id"), gives="observation_id", quoting=("proposal", "ref")),
        "verification_event": Rule(ties=("observation_id",), gives="event_id", quoting=("rationale",)),
        "relationship_support": Rule(
            ties=("support_id", "evidence_id", "relationship_id"), gives="support_id", lets_go=("copied_from",), quoting=("quote", "source_group_key")
        ),
        "support_decision_event": Rule(ties=("support_id",), gives="event_id", quoting=("reason",)),
        "relationship_transition_event": Rule(
            ties=("relationship_id",), gives="event_id", lets_go=("verification_event_id", "decision_event_id"), quoting=("reason",)
        ),
        "relationship_cross_reference": Rule(
            ties=("reference_id", "source_relationship_id", "target_relationship_id"), lets_go=("verification_event_id",)
        ),
        "relationship_correction": Rule(ties=("relationship_id", "successor_id"), quoting=("request", "candidates")),
        # search of relationships
        "relationship_document": Rule(ties=("relationship_id",), quoting=("document_text",)),
        "relationship_posting": Rule(stays="words are taken out of their blocks, with the counts", quoting=("term",)),
        "relationship_posting_difference": Rule(stays="folded into the blocks before words are taken out of them", quoting=("words",)),
        "relationship_vector_": _OF_RELATIONSHIP,
        "relationship_statistic": _COUNTS,
        # conflicts
        "conflict_case": Rule(ties=("conflict_id", "subject_entity_id"), gives="conflict_id", quoting=("case_key", "question", "scope_key")),
        "conflict_position": Rule(ties=("position_id", "conflict_id"), gives="position_id"),
        "conflict_member": Rule(ties=("support_id", "position_id", "conflict_id", "evidence_id", "relationship_id"), quoting=("source_group_key",)),
        "conflict_quote": Rule(ties=("position_id", "conflict_id", "evidence_id"), gives="position_id", quoting=("quote",)),
        "conflict_event": Rule(ties=("conflict_id", "position_id", "support_id", "evidence_id"), quoting=("reason",)),
        # communities and hypotheses
        "community": _SNAPSHOT,
        "community_member": _SNAPSHOT,
        "community_snapshot": _SNAPSHOT,
        "community_stale_member": _SNAPSHOT,
        "community_gate": _SETTINGS,
        "community_run": Rule(stays="counts and times of a run"),
        "hypothesis": Rule(ties=("hypothesis_id",), gives="hypothesis_id"),
        "hypothesis_source": Rule(ties=("hypothesis_id",)),
        "hypothesis_term": Rule(ties=("hypothesis_id",), quoting=("term",)),
        "hypothesis_event": Rule(ties=("hypothesis_id",), quoting=("reason",)),
        "hypothesis_gate": _SETTINGS,
        "hypothesis_rule": _SETTINGS,
        "hypothesis_run": Rule(stays="counts and times of a run"),
        # briefs
        "delegated_brief": Rule(stays="deleted by key: those that name what went", quoting=()),
        "delegated_brief_event": Rule(stays="deleted with their brief"),
        "delegated_summary": Rule(ties=("erasure_id",), quoting=("summary",)),
        # upkeep
        "ledger_instant": _SETTINGS,
        "projection_progress": Rule(stays="how far a projection is"),
        "contract_progress": Rule(stays="how far a contract is"),
        "vector_index": Rule(stays="how an index of the space stands"),
        "vector_overlap": Rule(stays="measurements of the space's indexes"),
        "erasure_item": Rule(stays="the erasure's own; all but texts and relationships are forgotten at its end", keeps_ids=True),
        "erasure_sample": Rule(stays="the erasure's own; forgotten at its end", keeps_ids=True),
    }
)

# Tables of the team as a whole. With the team their rows go, save those that say so.
TEAM_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "team": "stays without its name: the receipt's own",
        "profile": "goes with the team; an erased member stays without its name",
        "credential": "goes with the team; an erased key stays without its name, revoked",
        "space": "goes with the team; an erased space stays, retired",
        "space_epoch": "goes with the team; numbers and times",
        "space_grant": "goes with the team; who could read what, when",
        "projection_generation": "goes with the team; numbers and times",
        "job": "goes with the team, save the erasure's own; ids and counts",
        "erasure": "stays: the receipt",
        "erasure_scope": "stays: the receipt's own",
        "erasure_count": "stays: the receipt's own",
        "audit_entry": "stays: ids, codes and reasons of administrators, which outlive what they name",
        "audit_unsealed": "stays: ids of entries that no seal holds yet",
        "audit_seal": "stays: without it nobody could check the log",
        "feedback_recall": "recalls of an erased member or key are deleted with it; all go with the team; ids and times",
        "recall_feedback": "goes with its recall; marks without words",
        "feedback_result": "rows of what was erased are deleted with it; all go with the team",
        "feedback_mark": "rows of what was erased are deleted with it; all go with the team",
        "retention_rule": "goes with the team",
        "limit_use": "goes with the team; counts and times",
        "promotion": "its reasons are struck out at once with any of its texts, its owner or a space of it; goes with the team",
        "promotion_item": "goes with the team; ids of texts that were copied, which outlive them",
        "legal_hold": "goes with the team",
        "export": "goes with the team; the receipt lists what still exists",
    }
)
# Of a whole team, in this order. `space` and `space_epoch` name each other and go in one transaction.
TEAM_ORDER = (
    *("retention_rule", "limit_use", "promotion_item", "promotion"),
    *("legal_hold", "export", "space_grant", "recall_feedback", "feedback_mark", "feedback_result", "feedback_recall"),
    *("projection_generation", "space", "space_epoch", "credential", "profile"),
)
# The vector tables of each embedding contract are one line.
_NUMBERED = re.compile(r"^(?P<stem>(?:evidence|relationship)_vector_)\d+$")


def rule_of(table: str) -> Rule | None:
    """The line of a table of a space; None where nobody wrote one."""
    match = _NUMBERED.match(table)
    return SPACE_TABLES.get(match["stem"] if match else table)


def unclassified(tables: Iterable[str]) -> list[str]:
    """The tables of the catalogue that have no line, by name."""
    return sorted(table for table in tables if rule_of(table) is None and table not in TEAM_TABLES)


def in_order(tables: Collection[str], references: Iterable[tuple[str, str]]) -> list[str]:
    """Tables so that whoever refers to another goes before it; by name where that leaves a choice. `references`: (table, the one that it refers to).

    Raises:
        ValueError: tables that refer to each other in a circle, besides `CIRCLE`.
    """
    needs: dict[str, set[str]] = {table: set() for table in tables}
    for table, target in references:
        if table in needs and target in needs and table != target and (table, target) not in CIRCLE:
            needs[target].add(table)
    ordered: list[str] = []
    while needs:
        free = sorted(table for table, before in needs.items() if not before)
        if not free:
            raise ValueError(f"these tables refer to each other: {', '.join(sorted(needs))}")
        for table in free:
            del needs[table]
        for before in needs.values():
            before.difference_update(free)
        ordered += free
    return ordered


# The reference of a source to its current revision is checked at the end of a transaction: both tables are deleted from in one.
CIRCLE = frozenset((("evidence_source", "evidence_source_revision"),))
