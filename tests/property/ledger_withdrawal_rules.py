"""Rules of the ledger's state machine: remember, replace, revise, supersede, retract, hold, release."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests.property.ledger_base import OWNERS, PLACES, PREDICATES, SELDOM, STALE, TAKES, THINGS, UNTIL, LedgerMachine

SAYINGS = st.tuples(OWNERS, PLACES, PREDICATES, THINGS, TAKES, UNTIL)
HAS_TEXTS = precondition(lambda self: bool(self.model.texts))


class WithdrawalRules(LedgerMachine):
    """What is said, and what stops counting."""

    def subject(self, place: int) -> str:
        return self.subjects[place % len(self.subjects)]

    @initialize(said=st.lists(SAYINGS, min_size=2, max_size=6))
    def begin(self, said: list[tuple[int, int, str, tuple[str, str], int, str | None]]) -> None:
        """A run begins with something that was said."""
        self.say(said)

    @rule(said=st.lists(SAYINGS, min_size=1, max_size=3))
    def say(self, said: list[tuple[int, int, str, tuple[str, str], int, str | None]]) -> None:
        """Statements one after the other: new ones, repeated ones, replacements, and returns to what was replaced."""
        for owner, subject, predicate, thing, take, until in said:
            self.tell(owner, (self.subject(subject), predicate, thing), take, relate=True, until=until)
            self.done()
            self.answer_is_the_state()

    @rule(
        owner=OWNERS,
        subject=PLACES,
        predicate=PREDICATES,
        thing=THINGS,
        take=TAKES,
        grave=st.sampled_from([False, False, True]),
        relate=st.sampled_from([True, True, False]),
        sourced=st.booleans(),
        until=UNTIL,
    )
    def remember(
        self, owner: int, subject: int, predicate: str, thing: tuple[str, str], take: int, grave: bool, relate: bool, sourced: bool, until: str | None
    ) -> None:
        """One text, that is perhaps held, of a page or of nothing, with a statement or without."""
        revision = self.model.revision.get(owner, 1) if sourced else None
        self.tell(owner, (self.subject(subject), predicate, thing), take, relate=relate, grave=grave, revision=revision, until=until)
        self.done()
        self.answer_is_the_state()

    def answer_is_the_state(self) -> None:
        if self.answered is not None:
            row, key, status, version = self.answered
            assert (row.id, row.status, row.version) == (key, status, version)
            self.answered = None

    @HAS_TEXTS
    @rule(places=st.lists(PLACES, min_size=1, max_size=2))
    def repeat(self, places: list[int]) -> None:
        """The same words of the same author once more: also of what was replaced, retracted or held since."""
        for key in map(self.pick, places):
            owner, ends, take, grave, revision = self.told[key]
            self.tell(owner, ends, take, relate=True, grave=grave, revision=revision and self.model.revision[owner])
            self.done()
            self.answer_is_the_state()

    @precondition(lambda self: bool(self.model.revision))
    @rule(place=PLACES, subject=PLACES, predicate=PREDICATES, thing=THINGS, take=TAKES, relate=st.booleans(), wrong=SELDOM)
    def revise(self, place: int, subject: int, predicate: str, thing: tuple[str, str], take: int, relate: bool, wrong: bool) -> None:
        owner = sorted(self.model.revision)[place % len(self.model.revision)]
        current = self.model.revision[owner]
        if wrong:
            fields = {"source_key": "page", "source_revision": str(current + 1), "previous_source_revision": "0"}
            assert STALE == self.refusal(self.memory.remember(self.members[owner], content="Note 9.", **fields))
            return
        older = [key for key, text in self.model.texts.items() if (text.owner, text.revision) == (owner, current)]
        self.tell(owner, (self.subject(subject), predicate, thing), take, relate=relate, revision=current + 1, previous=current)
        self.model.settle(older)
        self.done()
        self.answer_is_the_state()

    @HAS_TEXTS
    @rule(place=PLACES, other=SELDOM, subject=PLACES, predicate=PREDICATES, thing=THINGS, take=TAKES, relate=st.booleans())
    def supersede(self, place: int, other: bool, subject: int, predicate: str, thing: tuple[str, str], take: int, relate: bool) -> None:
        old = self.pick(place)
        text = self.model.texts[old]
        owner = 1 - text.owner if other else text.owner
        ends = (self.subject(subject), predicate, thing)
        content = self.sentence(*ends[:2], thing[0], take)
        own = self.model.find_text(owner, content, None)
        expected = "wrong_owner" if other else "invalid_input" if own == old else None
        if expected is None and not (own is not None and self.model.texts[own].held):
            expected = STALE if text.ended is not None and (own is None or text.replaced_by != own) else None
        if expected is not None:
            assert expected == self.refusal(self.memory.remember(self.members[owner], content=content, supersedes_evidence_ids=[old]))
            return
        self.tell(owner, ends, take, relate=relate, supersedes=old)
        self.model.settle([old])
        self.done()
        self.answer_is_the_state()

    @HAS_TEXTS
    @rule(places=st.lists(PLACES, min_size=1, max_size=3), other=SELDOM)
    def retract(self, places: list[int], other: bool) -> None:
        first = self.pick(places[0])
        owner = self.model.texts[first].owner
        keys = list(dict.fromkeys(key for key in map(self.pick, places) if self.model.texts[key].owner == owner))
        if other:
            assert "wrong_owner" == self.refusal(self.memory.retract(self.members[1 - owner], *keys))
            return
        answer = self.run(self.memory.retract(self.members[owner], *keys))
        words = {None: "retracted", "retracted": "already_retracted", "superseded": "already_superseded"}
        assert [words[self.model.texts[key].ended] for key in keys] == [item["disposition"] for item in answer["evidence"]]
        ended = [key for key in keys if self.model.texts[key].ended is None]
        self.model.retract(ended)
        self.model.settle(ended, retracting=owner)
        self.done()

    @HAS_TEXTS
    @rule(places=st.lists(PLACES, min_size=1, max_size=3), held=st.booleans(), by=OWNERS)
    def decide_quarantine(self, places: list[int], held: bool, by: int) -> None:
        """Quarantine or release, by whoever administers."""
        keys = list(dict.fromkeys(map(self.pick, places)))
        words = {(True, True): "already_quarantined", (True, False): "quarantined", (False, True): "released", (False, False): "not_quarantined"}
        expected = [words[held, self.model.texts[key].held] for key in keys]
        assert expected == self.run(self.memory.quarantine(self.members[by], *keys, held=held))
        changed = [key for key in keys if self.model.texts[key].held != held]
        self.model.hold(changed, held=held)
        self.model.settle(changed)
        self.done()
