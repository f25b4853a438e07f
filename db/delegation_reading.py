"""The verdict that the texts of a session state relationships: `remember` of them, with the quoted places as their only evidence."""

from __future__ import annotations

import msgspec

from commonlore.db.delegation_applying import Applied, Decided
from commonlore.db.delegation_sessions import IngestedSessions
from commonlore.domain.delegation.quotes import unknown_text
from commonlore.domain.errors import Conflict
from commonlore.domain.ids import new_id
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.decide import decide
from commonlore.domain.remember.learn import learn_names
from commonlore.domain.remember.prepare import prepare_relationship
from commonlore.domain.remember.resolve import resolve_proposals


async def remember_read(decided: Decided) -> Applied:
    """Decide the relationships as `remember` does: the same resolution of names, the same verifier, the same rules of what gives way.

    Raises:
        Conflict: `stale_input`, no text of the brief counts any more. Incorrect: a quote is of another text.
    """
    session = decided.session
    await _require_own_texts(decided)
    ids = [item.cited.evidence_id for item in decided.quotes]
    spans = [item.span for item in decided.quotes]
    proposals = [
        prepare_relationship(f"/relationships/{index}", item.proposal(ids, spans)) for index, item in enumerate(decided.request.relationships)
    ]
    names = await session.read_names_of(proposals)
    changes = Changes()
    resolved = resolve_proposals(proposals, names, changes, new_id=new_id)
    existing = await session.read_relationships([item.statement for item in resolved if item.statement is not None])
    cited = {index: item.cited for index, item in enumerate(decided.quotes)}
    results = decide(resolved, existing=existing, cited=cited, known_cited={}, changes=changes, new_id=new_id, now=decided.now)
    changes.names.extend(learn_names(resolved, names, cited, {}, new_id=new_id))
    if await session.write_correction(decided.claim, changes, {}):
        await session.enqueue_embedding()
    return {"operation": "remember", "relationship_results": msgspec.to_builtins(results)}


async def _require_own_texts(decided: Decided) -> None:
    """
    Raises:
        Conflict: `stale_input`, no text of the brief counts any more. Incorrect: a quote is of a text that the brief is not about.
    """
    subject = await IngestedSessions().read(decided.session, decided.key)
    if subject is None:
        raise Conflict("stale_input", "what the brief is about has moved on")
    own = {text.evidence_id for text in subject.texts}
    for index, item in enumerate(decided.quotes):
        if item.cited.evidence_id not in own:
            raise unknown_text(index)
