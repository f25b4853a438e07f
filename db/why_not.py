"""Why a member or a key of the team cannot see something, read inside an open transaction of the team.

Another team's ids are as absent as ids of nothing, since every statement runs under the team's policies.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from commonlore.db.frontier import Frontier
from commonlore.db.histories import read_histories
from commonlore.db.recall import PostgresRecallSnapshot
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.tenancy import list_keys, read_key
from commonlore.domain.errors import NotVisible
from commonlore.domain.recall.eligibility import refuse
from commonlore.domain.recall.gate import admit
from commonlore.domain.recall.plan import parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.tenancy.actor import Actor, Space, UnclaimedEvidence
from commonlore.domain.tenancy.why_not import Reason, SpaceSeen, Subject, TargetKind, WhyNot, about_where, about_who, tells_more

_SQL = statements("why_not")


async def why_not(
    transaction: TeamTransaction, *, profile_id: UUID | None, credential_id: UUID | None, target_id: UUID, view: RecallRequest, now: datetime
) -> WhyNot:
    """Reasons why the member, or the key, does not see a space, a text or a relationship. `view`: its times count.

    Raises:
        NotVisible: no such member or key of this team.
        Incorrect: a time of the view is wrong.
    """
    view.view()
    subject, unclaimed = await _subject(transaction, profile_id, credential_id)
    spaces = await _spaces(transaction, subject.profile_id)
    seen, kind = await _locate(transaction, spaces, target_id)
    reasons = about_who(subject, now)
    if seen is None:
        return WhyNot(subject, target_id, None, None, None, (*reasons, "not_in_team"))
    reasons += about_where(subject, seen)
    if kind != "space" and tells_more(reasons):
        reasons += await _how_it_stands(transaction, seen.space, target_id, kind, unclaimed, subject, view)
    hidden = "private_space" in reasons
    return WhyNot(subject, target_id, kind, seen.space.public_kind, None if hidden else seen.space.name, tuple(reasons))


async def _subject(transaction: TeamTransaction, profile_id: UUID | None, credential_id: UUID | None) -> tuple[Subject, UnclaimedEvidence]:
    key = await read_key(transaction, credential_id) if credential_id is not None else None
    wanted = key.profile_id if key is not None else profile_id
    row = await (await transaction.execute(_SQL["subject"], profile_id=wanted)).fetchone()
    if row is None:
        raise NotVisible("not_found", "no member of this team has this id")
    keys = (key,) if key is not None else tuple(item for item in await list_keys(transaction) if item.profile_id == wanted)
    return Subject(row["profile_id"], row["name"], row["is_retired"], keys, credential_id), row["unclaimed_evidence"]


async def _spaces(transaction: TeamTransaction, profile_id: UUID) -> list[SpaceSeen]:
    rows = await (await transaction.execute(_SQL["spaces"], profile_id=profile_id)).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows if row["lifecycle_state"] == "active"}
    return [
        SpaceSeen(
            Space(row["space_id"], row["space_kind"], row["name"]),
            row["lifecycle_state"],
            row["owner_profile_id"],
            row["owner_credential_id"],
            row["access"],
        )
        for row in rows
    ]


async def _locate(transaction: TeamTransaction, spaces: list[SpaceSeen], target_id: UUID) -> tuple[SpaceSeen | None, TargetKind | None]:
    """Where the id lies, and what it is."""
    for seen in spaces:
        if seen.space.space_id == target_id:
            return seen, "space"
    asked = []
    async with transaction.connection.pipeline():
        for seen in spaces:
            if seen.space.space_id in transaction.epochs:
                await transaction.enter(seen.space.space_id)
                asked.append((seen, await transaction.execute(_SQL["locate"], target_id=target_id)))
        for seen, cursor in asked:
            if (row := await cursor.fetchone()) is not None:
                return seen, row["kind"]
    return None, None


async def _how_it_stands(
    transaction: TeamTransaction,
    space: Space,
    target_id: UUID,
    kind: TargetKind | None,
    unclaimed: UnclaimedEvidence,
    subject: Subject,
    view: RecallRequest,
) -> list[Reason]:
    """Why it does not count in the view, by the functions that a recall asks."""
    if kind == "relationship":
        [item] = await read_histories(transaction, space, [target_id])
        refused = refuse(item, view.view())
        return [refused] if refused is not None else []
    actor = Actor(transaction.team_id, subject.profile_id, UUID(int=0), frozenset(), (space,), unclaimed)
    await transaction.enter(space.space_id)
    rows = await PostgresRecallSnapshot(actor, transaction, Frontier(transaction)).hydrate_evidence(parse_intent(view), {space: {target_id: ()}})
    reason = admit(rows[target_id], unclaimed=unclaimed).reason
    return [reason] if reason is not None else []
