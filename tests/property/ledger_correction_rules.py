"""Rules of the ledger's state machine: an author corrects a relationship, in each field, and says which entity is meant."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.ledger_base import PLACES, SELDOM, LedgerMachine
from tests.support.ledger_identity import Entity
from tests.support.ledger_model import MANY, ONE, Row, Said

HAS_ROWS = precondition(lambda self: any(row.stands_for is None for row in self.model.rows))
PATCHES = st.one_of(
    st.fixed_dictionaries({}, optional={"polarity": st.sampled_from("+-")}),
    st.fixed_dictionaries({"predicate": st.sampled_from([{"key": ONE}, {"key": MANY}, {"key": "main_database"}])}),
    st.fixed_dictionaries({"scope": st.sampled_from([None, "office"])}),
    st.fixed_dictionaries({"valid_from": st.sampled_from([None, "2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z"])}),
    st.fixed_dictionaries({"valid_to": st.sampled_from([None, "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"])}),
    st.fixed_dictionaries({"object_value": st.sampled_from([{"type": "number", "value": 4, "unit": unit} for unit in ("hours", "days")])}),
)
# The kind other may be either Mongo, so that a person is asked.
NAMES = st.sampled_from(
    [("Mongo", "other"), ("Mongo", "other"), ("Zig", "product"), ("Mongo", "product"), ("Mongo", "document"), ("Rust", "product")]
)
FIELDS = {"polarity": "polarity", "scope": "scope", "valid_from": "since"}


class CorrectionRules(LedgerMachine):
    """`correct_relationship`: submit, and confirm where a name is ambiguous."""

    @HAS_ROWS
    @rule(place=PLACES, patch=PATCHES, stale=SELDOM, other=SELDOM)
    def correct(self, place: int, patch: dict[str, Any], stale: bool, other: bool) -> None:
        """One field that is no entity; by somebody else nothing."""
        row = self.pick_row(place)
        if other:
            answer = self.run(self.memory.correct(self.members[1 - row.owner], row.id, version=row.version, patch=patch))
            return self._follow(row, row.said, None, answer, "wrong_owner")
        said = row.said._replace(**{FIELDS[name]: value for name, value in patch.items() if name in FIELDS})
        if "predicate" in patch:
            said = said._replace(predicate=ONE if patch["predicate"]["key"] == "main_database" else patch["predicate"]["key"])
        if "object_value" in patch:
            said = said._replace(target=f"4 {patch['object_value']['unit']}")
        until = patch.get("valid_to", row.until)
        expected = "relationship_version_stale" if stale else None if row.status == "active" else "relationship_not_active"
        if expected is None and until is not None and said.since is not None and until < said.since:
            expected = "validity_reversed"
        if expected is None and (said, until) == (row.said, row.until):
            expected = "no_change"
        answer = self.run(self.memory.correct(self.members[row.owner], row.id, version=row.version + stale, patch=patch))
        return self._follow(row, said, until, answer, expected, keep_until="valid_to" not in patch)

    @HAS_ROWS
    @rule(
        place=PLACES,
        name=NAMES,
        subject=SELDOM,
        create=st.booleans(),
        choice=PLACES,
        between=st.sampled_from([None, "support", "version"]),
    )
    def correct_an_end(self, place: int, name: tuple[str, str], subject: bool, create: bool, choice: int, between: str | None) -> None:
        """By name: found, made, or chosen by a person between several, in one round."""
        row = self.pick_row(place)
        name = (self.subjects[choice % len(self.subjects)], "project") if subject else name
        side = "subject" if subject else "object"
        end = {"name": name[0], "entity_kind": name[1], **({"create_if_missing": True} if create else {})}
        meant = self.model.meant(*name)
        fields = {"version": row.version, "patch": {f"{side}_entity": end}}
        answer = self.run(self.memory.correct(self.members[row.owner], row.id, **fields))
        if row.status != "active":
            return self._follow(row, row.said, None, answer, "relationship_not_active")
        if not meant:
            if not create:
                return self._follow(row, row.said, None, answer, "entity_not_found")
            meant = [self._made(name)]
        if len(meant) > 1:
            assert ("awaiting_confirmation", set(meant)) == (
                answer["processing_state"],
                {str(item["entity_id"]) for item in answer["candidates"][side]},
            )
            meant = [sorted(meant)[choice % len(meant)]]
            return self._confirm(row, side, meant[0], answer, between)
        said = self._with_end(row, side, meant[0])
        return self._follow(row, said, row.until, answer, "no_change" if said == row.said else None)

    def _with_end(self, row: Row, side: str, entity: str) -> Said:
        return row.said._replace(subject=entity) if side == "subject" else row.said._replace(target=entity)

    def _made(self, name: tuple[str, str]) -> str:
        found = self.sql(
            "select entity_id::text from commonlore.entity_name where team_id = {team} and display_name = %s and name_kind = 'canonical'", name[0]
        )
        [key] = [key for (key,) in found if key not in self.model.entities]
        self.model.entities[key] = Entity(name[1], name[0], {name[0]})
        return key

    def _confirm(self, row: Row, side: str, chosen: str, asked: dict[str, Any], between: str | None) -> None:
        """Once: what changed in the meantime ends the round, and a token that was used is none."""
        expected = "no_change" if self._with_end(row, side, chosen) == row.said else None
        if between is not None:
            expected = self._disturb(row, between)
        fields = {
            "action": "confirm",
            "submission_id": asked["submission_id"],
            "confirmation_token": asked["confirmation_token"],
            "selection": {f"{side}_entity_id": chosen},
        }
        answer = self.run(self.memory.correct(self.members[row.owner], row.id, version=None, **fields))
        self._follow(row, self._with_end(row, side, chosen), row.until, answer, expected)
        again = self.run(self.memory.correct(self.members[row.owner], row.id, version=None, **fields))
        assert ("rejected", "confirmation_expired") == (again["processing_state"], again["reason"])

    def _disturb(self, row: Row, between: str) -> str:
        """Another change of the same relationship while a correction waits."""
        if between == "version":
            until = "2026-07-01T00:00:00Z" if row.until != "2026-07-01T00:00:00Z" else "2026-08-01T00:00:00Z"
            answer = self.run(self.memory.correct(self.members[row.owner], row.id, version=row.version, patch={"valid_to": until}))
            self._follow(row, row.said, until, answer, None, keep_until=False)
        else:
            keys = sorted(self.model.effective(row))[:1]
            self.run(self.memory.quarantine(self.members[row.owner], *keys))
            self.model.hold(keys, held=True)
            self.model.settle(keys)
            self.done()
        return "relationship_changed"

    def _follow(self, row: Row, said: Said, until: str | None, answer: dict[str, Any], expected: str | None, *, keep_until: bool = True) -> None:
        """The answer says what the model does."""
        if expected is not None:
            assert ("rejected", expected) == (answer["processing_state"], answer.get("reason"))
            return
        assert "completed" == answer["processing_state"], answer
        found = self.model.find(row.owner, said)
        words = {None: "created", "active": "joined"}
        disposition = "amended" if found is row else words.get(found.status if found else None, "reactivated")
        target = self.model.correct(row, said, until, keep_until=keep_until)
        self.done()
        outcome = answer["correction_result"]
        shown = outcome["successor"]
        assert (target.id, target.version, "active", disposition) == (
            str(shown["relationship_id"]), shown["relationship_version"], shown["status"], shown["disposition"],
        )  # fmt: skip
        assert (outcome["superseded"] is None) == (target is row)
        if target is not row:
            assert (row.id, row.version) == (str(outcome["superseded"]["relationship_id"]), outcome["superseded"]["relationship_version"])
