"""What makes an answer harder to get right: several authors who state the same, and the same said where the asker may not read.

A service without such rows could neither group wrongly nor leak.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import httpx

from commonlore.api.evaluation.asking import LoadedSpace, batches, by_last_document, store
from commonlore.api.evaluation.sets import Document, EvaluationSet

# Every so many relationships is stated again by another author.
RESTATED = 3
_MOST_DECOYS = 500


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Keys that write where the asker may not read: another member's, into its own private space, and another team's."""

    member: str
    team: str


def private_half(texts: EvaluationSet, space: str) -> frozenset[str]:
    """Every second session of a space, in the order of the set; a text without one counts as a session of its own."""
    sessions: dict[str, int] = {}
    found = set()
    for document in texts.documents.get(space, []):
        place = sessions.setdefault(str(document.proposal.get("session", f"text {document.id}")), len(sessions))
        if place % 2 == 1:
            found.add(document.id)
    return frozenset(found)


async def restate(client: httpx.AsyncClient, texts: EvaluationSet, spaces: dict[str, LoadedSpace]) -> int:
    """Every third relationship once more, by an author who has not stated it, read in the same texts. How many were sent."""
    wanted = {
        name: [statement for statement in found if statement.number % RESTATED == 0]
        for name, found in by_last_document(texts, frozenset(name for space in spaces.values() for name in space.private)).items()
    }
    sent = 0
    for name, space in spaces.items():
        by_key: dict[str, list[Document]] = defaultdict(list)
        for document in texts.documents.get(name, []):
            if wanted.get(document.id) and document.id not in space.private:
                other = next(key for key in reversed(space.keys) if key != space.sent_by[document.id])
                by_key[other].append(document)
        for key, documents in by_key.items():
            for batch in batches(documents, wanted):
                await store(client, space, key, batch, wanted)
                sent += sum(len(wanted[document.id]) for document in batch)
    return sent


async def collide(client: httpx.AsyncClient, texts: EvaluationSet, elsewhere: dict[str, Elsewhere]) -> int:
    """What the questions of a space should find, with its relationships, in another member's private space and in another team."""
    sought = {name for found in texts.relevance.values() for name in found}
    wanted = by_last_document(texts)
    sent = 0
    for name, keys in elsewhere.items():
        documents = [document for document in texts.documents.get(name, []) if document.id in sought][:_MOST_DECOYS]
        ids = {document.id for document in documents}
        stated = {document.id: [item for item in wanted.get(document.id, []) if ids.issuperset(item.documents)] for document in documents}
        for key, private in ((keys.member, True), (keys.team, False)):
            hidden = LoadedSpace((key,))
            for batch in batches(documents, stated):
                await store(client, hidden, key, batch, stated, private=private)
                sent += len(batch)
    return sent
