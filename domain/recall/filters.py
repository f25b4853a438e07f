"""What a caller narrows the lanes to, beside the query: filters of evidence and filters of relationships."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant
from commonlore.domain.errors import invalid
from commonlore.domain.ledger.predicate import predicate_key
from commonlore.domain.remember.request import Authority

_Labels = Annotated[list[Annotated[str, Meta(min_length=1, max_length=64)]], Meta(max_length=20)]
_Sources = Annotated[list[Annotated[str, Meta(min_length=1, max_length=512)]], Meta(max_length=20)]
_Names = Annotated[list[Annotated[str, Meta(min_length=1, max_length=256)]], Meta(max_length=20)]
_Entities = Annotated[list[UUID], Meta(max_length=50)]


class RecallFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All must hold, of a list any. The first five narrow evidence."""

    # `occurred_from` is in the range and `occurred_to` is not; a text without a time is in no range. Predicates are keys or
    # aliases. Entities that were merged are followed.
    labels: _Labels = []
    sources: _Sources = []
    authorities: Annotated[list[Authority], Meta(max_length=5)] = []
    occurred_from: str | None = None
    occurred_to: str | None = None
    predicates: _Names = []
    subject_entity_ids: _Entities = []
    object_entity_ids: _Entities = []
    polarity: Literal["+", "-"] | None = None
    scopes: _Names = []

    @property
    def narrows_evidence(self) -> bool:
        return bool(self.labels or self.sources or self.authorities or self.occurred_from or self.occurred_to)

    @property
    def narrows_relationships(self) -> bool:
        return bool(self.predicates or self.subject_entity_ids or self.object_entity_ids or self.polarity or self.scopes)

    @property
    def occurred(self) -> tuple[datetime | None, datetime | None]:
        """The half-open range of the time of a text.

        Raises:
            Incorrect: a time is not RFC 3339 with an offset.
        """
        return read_instant("/filter/occurred_from", self.occurred_from), read_instant("/filter/occurred_to", self.occurred_to)

    def predicate_keys(self) -> list[str]:
        """The predicates as the registry writes them.

        Raises:
            Incorrect: one cannot be a predicate.
        """
        return [_key(place, wording) for place, wording in enumerate(self.predicates)]

    def validate(self) -> None:
        """What a schema cannot say.

        Raises:
            Incorrect: a time is not RFC 3339 with an offset, the range holds no instant, or a predicate cannot be one.
        """
        self.predicate_keys()
        first, end = self.occurred
        if first is not None and end is not None and end <= first:
            raise invalid("/filter/occurred_to", "expected an instant later than occurred_from")


def _key(place: int, wording: str) -> str:
    try:
        return predicate_key(wording)
    except ValueError as error:
        raise invalid(f"/filter/predicates/{place}", str(error)) from error


NO_FILTER = RecallFilter()
