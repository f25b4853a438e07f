"""Rules of the ledger's state machine: a person decides a case that writes opened."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.ledger_base import OWNERS, PLACES, SELDOM, STALE, LedgerMachine
from tests.support.conflicts import decide
from tests.support.ledger_model import Case


class ConflictRules(LedgerMachine):
    """Cases open and follow in every write; here they are resolved and dismissed."""

    def _open(self, place: int) -> tuple[Case, str, dict[str, str]]:
        """A case, its id, and its positions by object."""
        cases = [case for case in self.model.cases if case.status == "open"]
        case = cases[place % len(cases)]
        [(key,)] = self.sql(
            "select conflict_id::text from commonlore.conflict_case where team_id = {team} and status = 'open' "
            "and subject_entity_id = %s::uuid and predicate_key = %s and polarity = %s and scope_key is not distinct from %s",
            *case.topic,
        )
        rows = self.sql(
            "select coalesce(p.object_entity_id::text, v.canonical_value || ' ' || v.unit), p.position_id::text from commonlore.conflict_position p "
            "left join commonlore.value_record v on v.team_id = p.team_id and v.value_id = p.object_value_id where p.conflict_id = %s::uuid",
            key,
        )
        return case, key, dict(rows)

    @precondition(lambda self: any(case.status == "open" for case in self.model.cases))
    @rule(place=PLACES, position=PLACES, by=OWNERS, stale=SELDOM)
    def resolve(self, place: int, position: int, by: int, stale: bool) -> None:
        """What stands for another position than the preferred one ends; a position for which nothing stands cannot be preferred."""
        case, key, positions = self._open(place)
        preferred = sorted(positions)[position % len(positions)]
        work = decide(
            self.memory,
            self.members[by],
            conflict_id=key,
            expected_version=case.version + stale,
            action="resolve",
            preferred_position_id=positions[preferred],
        )
        stands = any(row.said.target == preferred for row, _ in case.members)
        if stale or not stands:
            assert (STALE if stale else "invalid_input") == self.refusal(work)
            return
        before = {row.id: row.version for row in self.model.rows}
        answer = self.run(work)
        self.model.resolve(case, preferred)
        self.done()
        ended = {str(item["relationship_id"]): item["relationship_version"] for item in answer["superseded_relationships"]}
        assert {row.id: row.version for row in self.model.rows if row.version != before[row.id]} == ended

    @precondition(lambda self: any(case.status == "open" for case in self.model.cases))
    @rule(place=PLACES, by=OWNERS, last=st.booleans())
    def dismiss(self, place: int, by: int, last: bool) -> None:
        """All positions may stand. Whoever decides a second time is late."""
        case, key, _ = self._open(place)
        fields = {"conflict_id": key, "expected_version": case.version, "action": "dismiss"}
        self.run(decide(self.memory, self.members[by], **fields))
        self.model.dismiss(case)
        self.done()
        if last:
            assert STALE == self.refusal(decide(self.memory, self.members[by], **fields))
