"""What holds after every step of the ledger's state machine, whatever the step was."""

from __future__ import annotations

from collections import Counter

from hypothesis.stateful import invariant

from commonlore.domain.projection.posting import count_terms
from tests.integration.database.test_schema import APPEND_ONLY
from tests.property.ledger_base import LedgerMachine
from tests.support.ledger_model import Row
from tests.support.postings import DOCUMENT_POSTINGS, PART_POSTINGS

_TENANCY = {"space_epoch"}
_LATEST = "(select d.decision from commonlore.support_decision_event d where d.support_id = s.support_id order by d.known_from desc, d.event_id desc limit 1)"


class Invariants(LedgerMachine):
    """The database says what the model says, and what is derived follows from what was decided."""

    @invariant()
    def relationships_are_those_of_the_model(self) -> None:
        """Each with its author, meaning, status, end, version, counts, and the one it stands for."""
        expected = {
            row.id: (row.owner, row.said, row.status, row.until, row.version, *self.model.count(row), row.stands_for and row.stands_for.id)
            for row in self.model.rows
        }
        assert expected == {row[0]: tuple(row[1:]) for row in self.stored()}

    @invariant()
    def supports_are_those_of_the_model(self) -> None:
        found = self.sql(
            f"select s.relationship_id::text, s.evidence_id::text, {_LATEST} <> 'revoke' from commonlore.relationship_support s where s.team_id = {{team}}"
        )
        assert len(found) == len(set(found))
        assert {(row.id, key, support.granted) for row in self.model.rows for key, support in row.supports.items()} == set(found)

    @invariant()
    def exclusions_are_those_of_the_events(self) -> None:
        found = self.sql("select evidence_id::text, reason from commonlore.evidence_exclusion where team_id = {team}")
        assert self.model.exclusions() == set(found)

    @invariant()
    def counts_are_those_of_the_events(self) -> None:
        """Support counts follow from decisions, lifecycle, quarantine and revisions alone."""
        assert [] == self.sql(
            f"""
            select r.relationship_id from commonlore.relationship r
            left join lateral (
                select count(*) as supports, count(distinct s.source_group_key) as groups from commonlore.relationship_support s
                where s.relationship_id = r.relationship_id and {_LATEST} <> 'revoke'
                  and not exists (select from commonlore.evidence_lifecycle_event l where l.evidence_id = s.evidence_id)
                  and coalesce((select q.decision from commonlore.evidence_security_event q
                                where q.evidence_id = s.evidence_id and q.decision <> 'guarded'
                                order by q.known_from desc, q.event_id desc limit 1), 'released') = 'released'
                  and not exists (select from commonlore.evidence e join commonlore.evidence_source o using (team_id, space_epoch, source_id)
                                  where e.evidence_id = s.evidence_id and e.revision_id <> o.current_revision_id)) c on true
            where r.team_id = {{team}}
              and ((r.support_count, r.source_group_count) is distinct from (c.supports::int, c.groups::int)
                   or r.status = 'active' and c.supports = 0)
            """
        )

    @invariant()
    def one_current_object_at_a_time(self) -> None:
        """For each author, subject, predicate, polarity, start and scope; and what stands for another one is not active."""
        assert [] == self.sql(
            "select owner_profile_id, predicate_key from commonlore.relationship where team_id = {team} and current_cardinality = 'one' "
            "and status = 'active' group by owner_profile_id, subject_entity_id, predicate_key, polarity, valid_from, scope_key having count(*) > 1 "
            "union all select owner_profile_id, predicate_key from commonlore.relationship "
            "where team_id = {team} and status = 'active' and identity_alias_of is not null"
        )

    @invariant()
    def transitions_lead_to_the_state(self) -> None:
        """Each version has one transition, each begins where the one before ended, the last one ends in the row."""
        assert [] == self.sql(
            """
            select t.relationship_id, t.version, t.from_status, t.before, t.to_status, r.status, r.version, t.reason from (
                select t.*, lag(t.to_status) over w as before, row_number() over w as place, count(*) over (partition by t.relationship_id) as versions
                from commonlore.relationship_transition_event t where t.team_id = {team}
                window w as (partition by t.relationship_id order by t.version)) t
            join commonlore.relationship r using (team_id, space_epoch, relationship_id)
            where t.version <> t.place or t.from_status is distinct from t.before or t.versions <> r.version
               or (t.version = r.version and t.to_status <> r.status)
            """
        )

    @invariant()
    def history_is_never_rewritten(self) -> None:
        """Append-only tables only grow, byte for byte, and a relationship never comes to say something else."""
        tables = sorted(APPEND_ONLY - _TENANCY)
        asked = [f"select '{table}', t::text from commonlore.{table} t where t.team_id = {{team}}" for table in tables]
        asked.append(
            "select 'statement', row(relationship_id, owner_profile_id, semantic_group_key, subject_entity_id, predicate_key, object_entity_id, "
            "object_value_id, polarity, scope_key, valid_from, known_from)::text from commonlore.relationship where team_id = {team}"
        )
        now: dict[str, set[str]] = {}
        for table, text in self.sql(" union all ".join(asked)):
            now.setdefault(table, set()).add(text)
        assert {} == {table: known - now.get(table, set()) for table, known in self.grown.items() if known - now.get(table, set())}
        self.grown = now

    @invariant()
    def documents_are_in_step(self) -> None:
        """One document a relationship, in the present words; its postings, its vector and the statistics of the space are those of its text."""
        found = self.sql("select relationship_id::text, document_text, search_state from commonlore.relationship_document where team_id = {team}")
        texts = {key: text for key, text, _ in found}
        assert len(found) == len(texts)
        assert {row.id: self._wording(row) for row in self.model.rows} == texts
        postings: dict[str, dict[str, int]] = {}
        for key, term, frequency in self.sql(f"select relationship_id::text, term, frequency from {DOCUMENT_POSTINGS} where team_id = {{team}}"):
            postings.setdefault(key, {})[term] = frequency
        counted = {key: count_terms(text) for key, text in texts.items()}
        assert {key: item.frequencies for key, item in counted.items()} == postings
        totals = self.sql(
            "select coalesce(sum(documents), 0)::int, coalesce(sum(length), 0)::int from commonlore.relationship_statistic where team_id = {team}"
        )
        assert [(len(texts), sum(item.length for item in counted.values()))] == totals
        vectors = {key for (key,) in self.sql("select relationship_id::text from commonlore.relationship_vector_1 where team_id = {team}")}
        assert vectors == {key for key, _, state in found if state == "current"}

    def _wording(self, row: Row) -> str:
        names, said = self.model.entities, row.said
        target = names[said.target].name if said.target in names else said.target
        lines = ["relationship", f"subject: {names[said.subject].name}", f"predicate: {said.predicate.replace('_', ' ')}", f"object: {target}"]
        lines.append(f"polarity: {'positive' if said.polarity == '+' else 'negative'}")
        stated = (("scope", said.scope), ("valid_from", said.since), ("valid_to", row.until))
        return "\n".join([*lines, *(f"{name}: {value}" for name, value in stated if value)])

    @invariant()
    def evidence_statistics_are_those_of_the_texts(self) -> None:
        counted = [count_terms(text.content) for text in self.model.texts.values()]
        posted = self.sql(f"select term, count(*)::int from {PART_POSTINGS} where team_id = {{team}} group by term")
        assert Counter(term for item in counted for term in item.frequencies) == dict(posted)
        totals = self.sql(
            "select coalesce(sum(parts), 0)::int, coalesce(sum(length), 0)::int from commonlore.evidence_statistic where team_id = {team}"
        )
        assert [(len(counted), sum(item.length for item in counted))] == totals

    @invariant()
    def cases_are_those_of_the_model(self) -> None:
        """Open exactly where something is contested; positions and members are what stands; closed ones stay as they were decided."""
        found = self.sql(
            """
            select c.subject_entity_id::text, c.predicate_key, c.polarity, c.scope_key, c.status, c.version,
                   array(select coalesce(p.object_entity_id::text, v.canonical_value || ' ' || v.unit) from commonlore.conflict_position p
                         left join commonlore.value_record v on v.team_id = p.team_id and v.value_id = p.object_value_id
                         where p.conflict_id = c.conflict_id order by 1),
                   array(select m.relationship_id || ' ' || m.evidence_id from commonlore.conflict_member m
                         where m.conflict_id = c.conflict_id
                           and (select e.action from commonlore.conflict_event e where e.conflict_id = c.conflict_id and e.support_id = m.support_id
                                order by e.ordinal desc limit 1) = 'member_added' order by 1),
                   (select count(*) = c.last_ordinal and max(e.version) = c.version from commonlore.conflict_event e where e.conflict_id = c.conflict_id)
            from commonlore.conflict_case c where c.team_id = {team}
            """
        )
        assert sorted(str(row) for row in found) == sorted(
            str((*case.topic, case.status, case.version, sorted(case.positions), sorted(f"{row.id} {key}" for row, key in case.members), True))
            for case in self.model.cases
        )

    @invariant()
    def a_recall_shows_what_is_eligible(self) -> None:
        """Equal texts take one place, so contents are compared; every id, and every relationship beside it, is one that may be shown."""
        if not self.model.texts:
            return
        # By a process of its own, which tells nobody what it recalled: the texts of the machine are alike, and would be echoes.
        elsewhere = self.memory.with_embedder(self.memory.adapters.embedder)
        results = self.run(elsewhere.recall(self.members[0], "note", limit=50, relationship_limit=20))["results"]
        shown = self.model.shown()
        assert {self.model.texts[key].content for key in shown} == {item["context"] for item in results}
        assert {item["evidence_id"] for item in results} <= shown
        assert {str(key) for item in results for key in item["relationship_ids"]} <= {row.id for row in self.model.active()}
