"""A small plain model of a team's shared space: what is stored, what counts, and what a recall may show.

It knows no tables and no SQL. Each method does in memory what the service does in a transaction; the machine in
`tests/property/test_ledger_machine.py` compares both after every step. Entities, values, texts and relationships are named by their ids;
a relationship gets its id after the step that made it. Names and their merges are in `tests.support.ledger_identity`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

ONE = "primary_database"
MANY = "works_on"


class Said(NamedTuple):
    """What a relationship says, whoever says it and whenever it ends."""

    subject: str
    predicate: str
    target: str
    polarity: str = "+"
    scope: str | None = None
    since: str | None = None

    @property
    def topic(self) -> tuple[str | None, ...] | None:
        """What authors may contradict each other about."""
        return (self.subject, self.predicate, self.polarity, self.scope) if self.predicate == ONE else None

    @property
    def place(self) -> tuple[str | None, ...] | None:
        """What only one relationship of an author can hold at a time."""
        return (*self.topic, self.since) if self.topic else None


@dataclass
class Text:
    owner: int
    content: str
    revision: int | None
    held: bool
    ended: str | None = None
    replaced_by: str | None = None


@dataclass(eq=False)
class Support:
    """How a text carries a relationship; `origin` is the support that it was copied from, `decided` the step that granted it last."""

    at: int
    origin: Support | None = None
    granted: bool = True
    decided: int = 0

    def __post_init__(self) -> None:
        self.decided = self.at

    def grant(self, step: int) -> None:
        """Once more where it was taken back; nothing where it stands."""
        if not self.granted:
            self.granted, self.decided = True, step


@dataclass(eq=False)
class Row:
    """A relationship. `stands_for`: what a merge or a split put in its place."""

    owner: int
    said: Said
    born: int
    status: str = "pending_evidence"
    until: str | None = None
    version: int = 1
    id: str = ""
    supports: dict[str, Support] = field(default_factory=dict)
    stands_for: Row | None = None
    counted: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class Case:
    """Objects that authors contradict each other about, and the supports that stand for each."""

    topic: tuple[str | None, ...]
    positions: set[str]
    members: set[tuple[Row, str]]
    status: str = "open"
    version: int = 1
    let_stand: bool = False


@dataclass
class Model:
    texts: dict[str, Text] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    revision: dict[int, int] = field(default_factory=dict)
    steps: int = 0

    # -- what is

    def counts(self, key: str) -> bool:
        text = self.texts[key]
        return text.ended is None and not text.held and text.revision in (None, self.revision.get(text.owner))

    def effective(self, row: Row) -> set[str]:
        """The texts by which the relationship counts."""
        return {key for key, support in row.supports.items() if support.granted and self.counts(key)}

    def count(self, row: Row) -> tuple[int, int]:
        """Its supports and their independent sources: a page is one source, whatever it says."""
        keys = self.effective(row)
        return len(keys), len({key if self.texts[key].revision is None else "page" for key in keys})

    def find(self, owner: int, said: Said) -> Row | None:
        return next((row for row in self.rows if (row.owner, row.said) == (owner, said) and row.stands_for is None), None)

    def find_text(self, owner: int, content: str, revision: int | None) -> str | None:
        """Where the same words would go: to evidence that did not end."""
        return next(
            (key for key, text in self.texts.items() if (text.owner, text.content, text.revision, text.ended) == (owner, content, revision, None)),
            None,
        )

    def active(self) -> list[Row]:
        return [row for row in self.rows if row.status == "active" and row.stands_for is None]

    def rivals(self, row: Row) -> list[Row]:
        """The author's other current objects."""
        return [
            other
            for other in self.active()
            if other is not row and other.owner == row.owner and row.said.place and other.said.place == row.said.place
        ]

    def exclusions(self) -> set[tuple[str, str]]:
        return {(key, reason) for key in self.texts for reason in self._reasons(key)}

    def _reasons(self, key: str) -> Iterator[str]:
        text = self.texts[key]
        if text.ended is not None:
            yield text.ended
        if text.held:
            yield "quarantined"
        if text.revision not in (None, self.revision.get(text.owner)):
            yield "source_revised"
        paths = [row for row in self.rows if key in row.supports and row.supports[key].granted]
        if paths and not any(row.status == "active" and self.effective(row) for row in paths):
            yield "unsupported"

    def shown(self) -> set[str]:
        """The ids that a recall of the present may return."""
        return self.texts.keys() - {key for key, _ in self.exclusions()}

    # -- what happens

    def store(self, key: str, owner: int, content: str, revision: int | None, *, held: bool) -> None:
        self.steps += 1
        if revision is not None:
            self.revision[owner] = revision
        self.texts.setdefault(key, Text(owner, content, revision, held))

    def state(self, key: str, owner: int, said: Said, until: str | None = None) -> Row:
        """A text says it, or says it again. A held text only waits; who changes back says the same words once more."""
        row, held = self.find(owner, said), self.texts[key].held
        known = row
        if row is None:
            row = self._add(Row(owner, said, self.steps, until=until))
        support = row.supports.get(key)
        gained = not held and (support is None or not support.granted)
        if support is None:
            row.supports[key] = Support(self.steps)
        elif gained:
            support.grant(self.steps)
        begins = row.status != "active" and (gained or row.status == "superseded" and key in self.effective(row))
        learned = known is not None and not held and until not in (None, row.until)
        if begins:
            row.status = "active"
            self._end(self.rivals(row))
        if learned:
            row.until = until
        if known is None:
            row.counted = self.count(row)
        elif gained or begins or learned:
            self._change(row)
        return row

    def correct(self, row: Row, said: Said, until: str | None, *, keep_until: bool) -> Row:
        """What an author says instead: its supports are carried over. Only another end leaves the relationship itself in place."""
        self.steps += 1
        if said == row.said:
            row.until = until
            self._change(row)
            return row
        keys = [key for key, support in row.supports.items() if support.granted]
        target = self.find(row.owner, said)
        self._end([row])
        if target is None:
            target = self._add(Row(row.owner, said, self.steps, "active", until))
        else:
            if target.status != "active" or not keep_until:
                target.until = until
            target.status = "active"
            self._change(target)
        for key in keys:
            self.copy(row, target, key)
        self._end(self.rivals(target))
        return target

    def copy(self, row: Row, target: Row, key: str) -> None:
        """A support goes over to another relationship: once, and again where it was taken back."""
        target.supports.setdefault(key, Support(self.steps, row.supports[key])).grant(self.steps)

    def _add(self, row: Row) -> Row:
        self.rows.append(row)
        return row

    def _end(self, rows: Iterable[Row]) -> None:
        for row in rows:
            row.status = "superseded"
            self._change(row)

    def _change(self, row: Row) -> None:
        """A new version, counted as things stand."""
        row.version, row.counted = row.version + 1, self.count(row)

    def supersede(self, key: str, by: str) -> None:
        if self.texts[key].ended is None:
            self.texts[key].ended, self.texts[key].replaced_by = "superseded", by

    def retract(self, keys: Iterable[str]) -> None:
        for key in keys:
            if self.texts[key].ended is None:
                self.texts[key].ended = "retracted"
                for row in self.rows:
                    if key in row.supports:
                        row.supports[key].granted = False

    def hold(self, keys: Iterable[str], *, held: bool) -> None:
        for key in keys:
            self.texts[key].held = held

    def settle(self, keys: Collection[str], *, retracting: int | None = None) -> None:
        """What lost its last text ends; what has one again counts again, the last stated first, unless its place is taken."""
        touched = [row for row in self.rows if row.supports.keys() & set(keys)]
        before = {row: row.status for row in touched}
        open_rows = [row for row in touched if row.stands_for is None]
        for row in open_rows:
            if row.status == "active" and not self.effective(row):
                row.status = "retracted" if retracting == row.owner else "pending_evidence"
        waiting = [row for row in open_rows if row.status in ("pending_evidence", "retracted") and self.effective(row)]
        for row in sorted(waiting, key=lambda row: (max(row.supports[key].at for key in self.effective(row)), row.id), reverse=True):
            row.status = "superseded" if self.rivals(row) else "active"
        for row in touched:
            if (row.status, self.count(row)) != (before[row], row.counted):
                row.version += 1

    # -- conflicts

    def standing(self, topic: tuple[str | None, ...]) -> list[tuple[Row, str]]:
        return [(row, key) for row in self.active() if row.said.topic == topic for key in self.effective(row)]

    def contested(self, topic: tuple[str | None, ...]) -> set[str]:
        settled = [case.positions for case in self.cases if case.topic == topic and case.let_stand]
        rows = {row for row, _ in self.standing(topic)}
        pairs = [{one.said.target, other.said.target} for one in rows for other in rows if one.owner != other.owner and _meet(one, other)]
        return {target for pair in pairs if len(pair) == 2 and not any(pair <= positions for positions in settled) for target in pair}

    def review(self) -> None:
        """Every case follows what stands: opened, joined, left, or ended because no side is contradicted any more."""
        for row in self.rows:
            row.counted = self.count(row)
        for topic in dict.fromkeys(row.said.topic for row in self.rows if row.said.topic):
            contested = self.contested(topic)
            case = self.open_case(topic)
            if case is None and contested:
                self.cases.append(case := Case(topic, set(contested), set(), version=0))
            if case is None:
                continue
            positions = case.positions | contested
            members = {(row, key) for row, key in self.standing(topic) if row.said.target in positions}
            if not contested:
                case.status, case.members, case.version = "dismissed", case.members & members, case.version + 1
            elif (positions, members) != (case.positions, case.members) or not case.version:
                case.positions, case.members, case.version = positions, members, case.version + 1

    def open_case(self, topic: tuple[str | None, ...]) -> Case | None:
        return next((case for case in self.cases if case.topic == topic and case.status == "open"), None)

    def resolve(self, case: Case, preferred: str) -> None:
        """One side is preferred; what stands for the others ends."""
        case.status, case.version = "resolved", case.version + 1
        self._end(list({row for row, _ in case.members if row.said.target != preferred and row.status == "active"}))

    def dismiss(self, case: Case) -> None:
        """All sides stand side by side from now on."""
        case.status, case.version, case.let_stand = "dismissed", case.version + 1, True


def _meet(one: Row, other: Row) -> bool:
    """Whether both speak for some time; instants are compared as their texts, which are of one form."""
    begins = max(one.said.since or "", other.said.since or "")
    ends = min(one.until or "9", other.until or "9")
    return begins < ends
