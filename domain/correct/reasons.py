"""Why a correction is rejected, as one closed list. A rejected correction changed nothing that a recall reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# code -> (message, remediation). Source: dense-mem 6.4; wrong_owner and validity_reversed are ours.
REASONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "relationship_version_stale": (
            "the relationship has another version than expected_version",
            "Trace the relationship and decide anew on its current version.",
        ),
        "relationship_not_active": ("the relationship is not active", "Correct the one that took its place; its trace names it."),
        "support_set_mismatch": (
            "supports is not the set of supports that count now",
            "Leave supports out, or send exactly the effective supports that the trace shows.",
        ),
        "entity_not_found": (
            "an end names no entity of this space",
            "Use an entity_id from an answer of the same space, a name that is known there, or set create_if_missing.",
        ),
        "too_many_entity_candidates": ("more than ten entities carry the name", "Name the one you mean by its entity_id."),
        "predicate_not_found": (
            "the key names no predicate of this space that takes new relationships",
            "Use the key of an active predicate, or remember the statement with a new wording.",
        ),
        "predicate_subject_kind_mismatch": ("the predicate does not take a subject of this kind", "Correct the subject or the predicate."),
        "predicate_object_kind_mismatch": ("the predicate does not take an object of this kind", "Correct the object or the predicate."),
        "no_change": ("the relationship says this already", "Change a field, or leave the relationship as it is."),
        "confirmation_expired": ("the token has expired or was used", "Submit the correction again."),
        "relationship_changed": ("the relationship changed after the correction was submitted", "Trace it and submit the correction again."),
        "support_set_changed": ("the supports changed after the correction was submitted", "Trace it and submit the correction again."),
        "persistent_ambiguity": (
            "the selection does not settle which entity each end means",
            "Submit the correction again with the entity_id of each end.",
        ),
        "wrong_owner": ("the relationship belongs to another author", "Remember your own statement; only its author corrects a relationship."),
        "validity_reversed": ("the corrected statement would end before it begins", "Correct valid_from and valid_to together."),
    }
)


class Rejected(Exception):
    """A correction that is not made. `code` is one of `REASONS`; `concludes` says that the waiting correction ends with it.

    Raises:
        KeyError: the code is not on the list.
    """

    def __init__(self, code: str, *, detail: str | None = None, concludes: bool = False) -> None:
        super().__init__(code)
        message, self.remediation = REASONS[code]
        self.code = code
        self.message = detail or message
        self.concludes = concludes
