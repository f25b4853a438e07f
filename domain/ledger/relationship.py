"""The identity and the shared meaning of relationships."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.domain.time import render_instant

Status = Literal["pending_evidence", "active", "needs_review", "quarantined", "superseded", "disputed", "retracted", "rejected"]
Verdict = Literal["entailed", "insufficient", "contradicted"]
STATUS_OF_VERDICT: dict[Verdict, Status] = {"entailed": "active", "insufficient": "pending_evidence", "contradicted": "rejected"}


@dataclass(frozen=True, slots=True)
class Statement:
    """What a relationship says, without who says it. Exactly one object is set."""

    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID | None
    object_value_id: UUID | None
    polarity: str
    scope_key: str | None
    valid_from: datetime | None

    @property
    def semantic_group_key(self) -> str:
        """Equal for equal meaning, whoever the author and whenever it ends.

        `sg:` and the hex SHA-256 of seven slots joined by NUL: subject, predicate, object, polarity, scope, start, and
        one that is always empty.

        Source: dense-mem 4, with its test vectors.
        """
        target = f"entity:{self.object_entity_id}" if self.object_entity_id else f"value:{self.object_value_id}"
        start = render_instant(self.valid_from) if self.valid_from else ""
        slots = (str(self.subject_entity_id), self.predicate_key, target, self.polarity, self.scope_key or "", start, "")
        return "sg:" + hashlib.sha256("\0".join(slots).encode("utf-8")).hexdigest()

    @property
    def current_scope(self) -> tuple[UUID, str, str, datetime | None, str | None]:
        """What a predicate of cardinality one may hold only one current object for, per author."""
        return self.subject_entity_id, self.predicate_key, self.polarity, self.valid_from, self.scope_key
