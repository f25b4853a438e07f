"""What a remember call takes out of the present: texts that it supersedes, and older revisions of its sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from commonlore.domain.errors import Conflict, Forbidden, NotVisible, invalid
from commonlore.domain.ledger.settlement import Cause, Settled
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.withdraw.standing import Standing, after_all


class Placed(Protocol):
    """Where a text of the request lies now."""

    @property
    def evidence_id(self) -> UUID: ...

    @property
    def is_new(self) -> bool: ...

    @property
    def is_quarantined(self) -> bool: ...

    @property
    def revised_source_id(self) -> UUID | None: ...


class Withdrawer(Protocol):
    """The part of a write that withdraws. The ledger lock is held from `lock_ledger` on."""

    async def lock_ledger(self, now: datetime) -> datetime: ...

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[UUID, Standing]: ...

    async def supersede(self, submission_id: UUID, replacements: Mapping[UUID, UUID], now: datetime) -> None: ...

    async def exclude_older_revisions(self, source_ids: Collection[UUID], now: datetime) -> list[UUID]: ...

    async def settle(self, evidence_ids: Collection[UUID], cause: Cause, now: datetime) -> list[Settled]: ...


@dataclass(slots=True)
class Withdrawals:
    """`instant`: when the texts ended. `superseded`: by evidence index, the ids that its text now stands for. `quarantined`: indices of repeated texts that are held."""

    instant: datetime
    superseded: dict[int, list[UUID]] = field(default_factory=dict)
    ended: set[UUID] = field(default_factory=set)
    revised: set[UUID] = field(default_factory=set)
    quarantined: set[int] = field(default_factory=set)

    async def settle(self, writer: Withdrawer) -> dict[UUID, Settled]:
        """Bring the relationships of what was withdrawn in step; the last change of each."""
        changes: dict[UUID, Settled] = {}
        for evidence_ids, cause in ((self.ended, "evidence_superseded"), (self.revised, "source_revised")):
            if evidence_ids:
                changes |= {change.relationship_id: change for change in await writer.settle(evidence_ids, cause, self.instant)}  # type: ignore[arg-type]
        return changes


async def withdraw(
    request: RememberRequest, placed: Sequence[Placed], writer: Withdrawer, *, submission_id: UUID, actor: Actor, now: datetime
) -> Withdrawals:
    """Check and write what the stored texts of a request withdraw. Takes the ledger lock where there is anything to look at.

    A text in quarantine supersedes nothing: the older one stays until a person has decided.

    Raises:
        NotVisible: `not_found`, an id that is nothing in the space of the request; foreign ids alike.
        Forbidden: `wrong_owner`, an id of another member.
        Conflict: `stale_input`, the evidence ended already; `commit_conflict`, a text ended while the request ran.
        Incorrect: a text would supersede itself.
    """
    named = {key for _, _, key in _named(request)}
    repeated = {place.evidence_id for place in placed if not place.is_new}
    sources = {place.revised_source_id for place in placed if place.revised_source_id is not None}
    done = Withdrawals(now)
    if not (named or repeated or sources):
        return done
    done.instant = await writer.lock_ledger(now)
    standing = await writer.read_standing(named | repeated) if named or repeated else {}
    if (later := after_all((standing[key] for key in named & standing.keys()), done.instant)) > done.instant:
        done.instant = await writer.lock_ledger(later)
    for index, place in enumerate(placed):
        if not place.is_new:
            if standing[place.evidence_id].end is not None:
                raise Conflict("commit_conflict", "the same text was withdrawn meanwhile; the request changed nothing", retry_after_s=1)
            if standing[place.evidence_id].is_quarantined:
                done.quarantined.add(index)
    replacements = _replacements(request, placed, standing, done, actor)
    if replacements:
        await writer.supersede(submission_id, replacements, done.instant)
        done.ended |= replacements.keys()
    if sources:
        done.revised |= set(await writer.exclude_older_revisions(sources, done.instant))
    return done


def _named(request: RememberRequest) -> Iterator[tuple[int, int, UUID]]:
    for index, item in enumerate(request.evidence):
        for place, key in enumerate(item.supersedes_evidence_ids):
            yield index, place, key


def _replacements(
    request: RememberRequest, placed: Sequence[Placed], standing: Mapping[UUID, Standing], done: Withdrawals, actor: Actor
) -> dict[UUID, UUID]:
    """What is superseded now, by what. What the same text superseded before is repeated in the answer and not written again."""
    made: dict[UUID, UUID] = {}
    for index, place, key in _named(request):
        pointer = f"/evidence/{index}/supersedes_evidence_ids/{place}"
        own = placed[index]
        found = standing.get(key)
        # Who may not read learns nothing of what others wrote, not even that it is there.
        if found is None or found.is_erased or (found.owner_profile_id != actor.profile_id and "read" not in actor.scopes):
            raise NotVisible("not_found", f"{pointer}: this credential sees no such evidence in the space of the request")
        if found.owner_profile_id != actor.profile_id:
            raise Forbidden("wrong_owner", f"{pointer}: the evidence belongs to another member")
        if key == own.evidence_id:
            raise invalid(pointer, "expected other evidence than the text itself, which is stored already")
        if own.is_quarantined or index in done.quarantined:
            continue
        if found.end is not None and found.replacement_evidence_id != own.evidence_id:
            raise Conflict("stale_input", f"{pointer}: the evidence was {found.end} before")
        if found.end is None:
            made[key] = own.evidence_id
        done.superseded.setdefault(index, []).append(key)
    return made
