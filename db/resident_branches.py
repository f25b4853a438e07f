"""What a search asks of a space that the process keeps: which of its branches, by the plan."""

from __future__ import annotations

from commonlore.db.residence import Residence
from commonlore.db.resident import BlockName
from commonlore.db.resident_reading import MOST_EXCLUDED, HeldEvidence, HeldRelationships, HeldVectors, WordCounts, ask_vectors, ask_words
from commonlore.db.resident_words import WordsName
from commonlore.db.search_parameters import formula_of
from commonlore.db.session import TeamTransaction
from commonlore.db.statements import RESIDENT
from commonlore.domain.recall.plan import RetrievalPlan, SpacePlan

Ahead = dict[BlockName, HeldVectors]


def ask_vectors_ahead(transaction: TeamTransaction, kept: Residence) -> Ahead:
    """What the process's vectors of the open space lack, before it is known whether they are to be searched."""
    epoch = transaction.space_epoch
    names = kept.vectors.names_of(transaction.team_id, epoch) if epoch is not None else []
    return {name: asked for name in names if (asked := ask_vectors(transaction, kept.vectors, name, 0)) is not None}


def ask_held(
    transaction: TeamTransaction,
    kept: Residence,
    plan: RetrievalPlan,
    space_plan: SpacePlan,
    counts: tuple[WordCounts, WordCounts],
    ahead: Ahead,
) -> tuple[HeldEvidence | None, HeldRelationships | None]:
    """Ask for what is missing of the open space, for searches of the present that nothing narrows. `counts`: of words in parts and in documents.

    What was asked ahead is taken out of `ahead`: a search that looks deeper asks again.
    """
    epoch, intent = transaction.space_epoch, plan.intent
    if epoch is None or space_plan.parts < kept.least_rows or not intent.view.is_present:
        return None, None
    if not kept.words.has_room(max(space_plan.parts, space_plan.documents)):
        return None, None

    def vectors(name: BlockName, rows: int) -> HeldVectors | None:
        kept.vectors.replace(name)
        return ahead.pop(name, None) or ask_vectors(transaction, kept.vectors, name, rows)

    team_id, space_id, contract = transaction.team_id, space_plan.space.space_id, space_plan.contract_id
    evidence = relationships = None
    if not intent.filter.narrows_evidence:
        formula = formula_of(space_plan.evidence_lexical, plan.policy)
        words = ask_words(transaction, kept.words, WordsName(team_id, epoch, "evidence"), space_id, formula, counts[0])
        is_exact = space_plan.evidence_index is None and space_plan.has_all_vectors
        near = vectors(BlockName(team_id, epoch, "evidence", contract), space_plan.parts) if is_exact else None
        excluded = transaction.ask_tuples(RESIDENT["read_excluded"], most=MOST_EXCLUDED + 1) if space_plan.has_exclusions else None
        evidence = HeldEvidence(words, near, excluded, frozenset(key.bytes for key in intent.known_evidence_ids))
    narrowed = intent.expand_from_entity_ids or intent.filter.narrows_relationships
    if space_plan.relationship_lexical is not None and not narrowed:
        formula, generation = formula_of(space_plan.relationship_lexical, plan.policy), space_plan.generation
        words = ask_words(transaction, kept.words, WordsName(team_id, epoch, "relationship", generation), space_id, formula, counts[1])
        is_exact = space_plan.relationship_index is None and space_plan.relationship_vector
        near = vectors(BlockName(team_id, epoch, "relationship", contract, generation), space_plan.documents) if is_exact else None
        relationships = HeldRelationships(transaction, kept, words, near)
    return evidence, relationships
