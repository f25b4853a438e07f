"""What a search asks of a space that the process keeps: which of its branches, by the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from psycopg.rows import TupleRow

from commonlore.db.pipeline import Asked
from commonlore.db.residence import Residence
from commonlore.db.resident import BlockName
from commonlore.db.resident_gate import SpaceGate, ask_gate
from commonlore.db.resident_reading import HeldEvidence, HeldRelationships, HeldVectors, WordCounts, ask_unfolded, ask_vectors, ask_words
from commonlore.db.resident_words import WordsName
from commonlore.db.search_parameters import formula_of
from commonlore.db.session import TeamTransaction
from commonlore.domain.recall.plan import QueryVector, RetrievalPlan, SpacePlan


@dataclass(slots=True)
class SpaceAhead:
    """What was asked of a space that the process keeps before it was known how it is searched; `vectors` are taken out as they are used."""

    gate: SpaceGate
    vectors: dict[BlockName, HeldVectors] = field(default_factory=dict)
    unfolded: dict[WordsName, Asked[TupleRow]] = field(default_factory=dict)

    def measure(self, embedded: QueryVector) -> None:
        """Begin with a query before it is known what of the space is of use."""
        if embedded.vector is not None:
            for held in self.vectors.values():
                held.measure(embedded.vector)


def ask_ahead(transaction: TeamTransaction, kept: Residence, terms: Sequence[str]) -> dict[int, SpaceAhead]:
    """Ask what the process lacks of the open space: what counts no more, what came since, and the words of which not all were folded the last
    time. By epoch; empty where nothing of the space is kept."""
    team_id, epoch = transaction.team_id, transaction.space_epoch
    if epoch is None:
        return {}
    blocks, words = kept.vectors.names_of(team_id, epoch), kept.words.names_of(team_id, epoch)
    if not blocks and not words:
        return {}
    vectors = {name: asked for name in blocks if (asked := ask_vectors(transaction, kept.vectors, name, 0)) is not None}
    unfolded = {name: ask_unfolded(transaction, name, terms) for name in words if terms and kept.words.of(name).had_unfolded}
    return {epoch: SpaceAhead(ask_gate(transaction), vectors, unfolded)}


def ask_held(
    transaction: TeamTransaction,
    kept: Residence,
    plan: RetrievalPlan,
    space_plan: SpacePlan,
    counts: tuple[WordCounts, WordCounts],
    known: dict[int, SpaceAhead],
) -> tuple[HeldEvidence | None, HeldRelationships | None]:
    """Ask for what is missing of the open space, for searches of the present that nothing narrows. `counts`: of words in parts and in documents.

    `known`: what was asked of the spaces ahead, by epoch.
    """
    epoch, intent = transaction.space_epoch, plan.intent
    if epoch is None or space_plan.parts < kept.least_rows or not intent.view.is_present:
        return None, None
    if not kept.words.has_room(max(space_plan.parts, space_plan.documents)):
        return None, None

    ahead = known.get(epoch)
    if ahead is None:
        ahead = known[epoch] = SpaceAhead(ask_gate(transaction))

    def vectors(name: BlockName, rows: int) -> HeldVectors | None:
        kept.vectors.replace(name)
        return ahead.vectors.pop(name, None) or ask_vectors(transaction, kept.vectors, name, rows)

    team_id, space_id, contract = transaction.team_id, space_plan.space.space_id, space_plan.contract_id
    evidence = relationships = None
    name = WordsName(team_id, epoch, "evidence")
    if not intent.filter.narrows_evidence and not kept.words.is_coming(name):
        formula = formula_of(space_plan.evidence_lexical, plan.policy)
        words = ask_words(transaction, kept.words, name, space_id, formula, counts[0], ahead.unfolded)
        is_exact = space_plan.evidence_index is None and space_plan.has_all_vectors
        near = vectors(BlockName(team_id, epoch, "evidence", contract), space_plan.parts) if is_exact else None
        # A trace looks for what was refused, too.
        gate = ahead.gate if space_plan.has_exclusions else None
        evidence = HeldEvidence(words, near, gate, frozenset(key.bytes for key in intent.known_evidence_ids))
    narrowed = intent.expand_from_entity_ids or intent.filter.narrows_relationships
    generation = space_plan.generation
    name = WordsName(team_id, epoch, "relationship", generation)
    if space_plan.relationship_lexical is not None and not narrowed and not kept.words.is_coming(name):
        formula = formula_of(space_plan.relationship_lexical, plan.policy)
        words = ask_words(transaction, kept.words, name, space_id, formula, counts[1], ahead.unfolded)
        is_exact = space_plan.relationship_index is None and space_plan.relationship_vector
        near = vectors(BlockName(team_id, epoch, "relationship", contract, generation), space_plan.documents) if is_exact else None
        relationships = HeldRelationships(transaction, kept, words, near, ahead.gate)
    return evidence, relationships
