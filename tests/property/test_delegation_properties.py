"""A verdict never applies what a direct call would refuse: an entailed verdict is a `remember` of the same statement with the quoted places."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.correct.amend import Source
from commonlore.domain.delegation.quotes import locate
from commonlore.domain.delegation.request import BriefQuote
from commonlore.domain.delegation.verify import Verified, entail
from commonlore.domain.errors import Incorrect
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.decide import decide
from commonlore.domain.remember.ground import CitedText
from commonlore.domain.remember.request import RelationshipProposal, SpanProposal
from commonlore.domain.remember.resolve import resolve_proposals
from commonlore.domain.remember.standing import Cited, Relationship
from tests.support.memory import START, Ledgered, a_relationship, prepared

WORDS = ("Ada", "Lisbon", "lives", "in", "she", "Porto", "the", "Ben")


@dataclass
class Own:
    """What the decider has stated already."""

    rows: list[Relationship]

    async def read_relationships(self, statements: list[Statement]) -> list[Relationship]:
        return [
            replace(item, supports=set(item.supports), source_groups=set(item.source_groups)) for item in self.rows if item.statement in statements
        ]


def a_pending_world() -> tuple[Ledgered, Source]:
    """Ann's pending statement, with the names that its proposal made."""
    ledger = Ledgered()
    ledger.decide("She moved there.", a_relationship("Ada", "lives_in", "Lisbon", kinds=("person", "place")))
    [item] = ledger.rows.values()
    assert item.status == "pending_evidence"
    subject, target = (ledger.names.by_id[key].entity for key in (item.statement.subject_entity_id, item.statement.object_entity_id) if key)
    predicate = ledger.names.predicates[item.statement.predicate_key]
    return ledger, Source(item, uuid4(), subject, target, None, None, predicate, ())


def shape(changes: Changes) -> tuple[object, ...]:
    """What was decided, without the ids that each call makes."""
    return (
        [(row.evidence_verdict, row.verifier) for row in changes.verifications],
        [(row.evidence_id, row.span_start, row.span_end, row.quote) for row in changes.supports],
        [(row.from_status, row.to_status, row.version, row.reason) for row in changes.transitions],
        [(row.semantic_group_key, row.status, row.version) for row in changes.relationships],
        [(row.relationship_id, row.status, row.version, row.known_to) for row in changes.changed],
    )


def direct(ledger: Ledgered, source: Source, quoted: list[tuple[Cited, int, int]], own: list[Relationship]) -> Changes:
    """`remember` with the same places as spans of its texts."""
    texts = [cited.text.content for cited, _, _ in quoted]
    proposal = a_relationship("Ada", "lives_in", "Lisbon", kinds=("person", "place"), evidence=())
    request = prepared(
        texts, [{**proposal, "supports": [{"evidence_index": place, "start": start, "end": end} for place, (_, start, end) in enumerate(quoted)]}]
    )
    assert isinstance(request.relationships[0].proposal, RelationshipProposal) and isinstance(
        request.relationships[0].proposal.supports[0], SpanProposal
    )
    changes = Changes()
    resolved = resolve_proposals(request.relationships, ledger.names, changes, new_id=new_id)
    assert resolved[0].statement == source.relationship.statement
    cited = {place: item for place, (item, _, _) in enumerate(quoted)}
    decide(resolved, existing=own, cited=cited, known_cited={}, changes=changes, new_id=new_id, now=START)
    return changes


@given(
    texts=st.lists(
        st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), st.sampled_from((None, "Ada", "Ben"))), min_size=1, max_size=3
    ),
    cuts=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), min_size=3, max_size=3),
    is_own=st.booleans(),
)
def test_an_entailed_verdict_is_what_remembering_the_quotes_would_be(
    texts: list[tuple[list[str], str | None]], cuts: list[tuple[int, int]], is_own: bool
) -> None:
    """Refused where that would leave the statement pending; else the same verdict, supports, transitions and rows."""
    ledger, source = a_pending_world()
    cited: dict[UUID, Cited] = {}
    quotes, places = [], []
    for (words, speaker), (start, length) in zip(texts, cuts, strict=False):
        content = " ".join(words)
        start = start % len(content)
        quote = content[start : start + length]
        key = uuid4()
        cited[key] = Cited(key, CitedText(content, speaker), str(key), "unknown")
        quotes.append(BriefQuote(evidence_id=key, quote=quote, start=start))
        places.append((cited[key], start, start + len(quote)))
    own = [source.relationship] if is_own else []

    expected = direct(ledger, source, places, [replace(item, supports=set(), source_groups=set()) for item in own])
    try:
        found: Verified | None = asyncio.run(entail(source, locate(quotes, cited), ledger.names, Own(own), new_id=new_id, now=START))
    except Incorrect:
        found = None

    if expected.verifications[-1].evidence_verdict != "entailed":
        assert found is None
    else:
        assert found is not None and shape(expected) == shape(found.changes)
        assert "active" == found.status


@given(content=st.text(min_size=1, max_size=30), quote=st.text(min_size=1, max_size=12), start=st.none() | st.integers(0, 40))
def test_a_quote_is_located_exactly_where_it_stands_or_refused(content: str, quote: str, start: int | None) -> None:
    key = uuid4()
    cited = {key: Cited(key, CitedText(content), "g", "unknown")}
    stands = quote in content if start is None else content[start : start + len(quote)] == quote

    try:
        [found] = locate([msgspec.convert({"evidence_id": str(key), "quote": quote, "start": start}, BriefQuote)], cited)
    except Incorrect:
        assert not stands
    else:
        assert stands and content[found.span.start : found.span.end] == quote
