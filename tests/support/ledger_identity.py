"""The part of the ledger's model that knows names: what a name means, what a merge or a split moves, and how it is taken back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tests.support.ledger_model import Model, Row


@dataclass
class Entity:
    kind: str
    name: str
    names: set[str]
    active: bool = True


@dataclass(eq=False)
class Item:
    """What a move did to one relationship. `before` and `after` are of its target; without one it gave way only."""

    source: Row
    status: str
    target: Row | None = None
    made: bool = False
    before: tuple[str, str | None] = ("", None)
    after: str = ""


@dataclass(eq=False)
class Move:
    """A merge of `gone` into `kept`, or a split of `gone` from `kept`, in the step `at`."""

    is_merge: bool
    kept: str
    gone: str
    items: list[Item]
    at: int
    learned: set[str] = field(default_factory=set)
    taken_back: bool = False


@dataclass
class IdentityModel(Model):
    entities: dict[str, Entity] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)

    def meant(self, name: str, kind: str) -> list[str]:
        """The entities that a name may mean: of the kind if there are any, else any where one side is of kind other."""
        named = [key for key, entity in self.entities.items() if entity.active and name in entity.names]
        exact = [key for key in named if self.entities[key].kind == kind]
        return exact if exact or kind != "other" else named

    def of(self, entity: str) -> list[Row]:
        return [row for row in self.rows if entity in (row.said.subject, row.said.target) and row.stands_for is None]

    def merge(self, gone: str, kept: str) -> Move:
        self.steps += 1
        learned = self.entities[gone].names - self.entities[kept].names
        move = Move(True, kept, gone, self._moved(self.of(gone), gone, kept), self.steps, learned)
        self.entities[kept].names |= learned
        self.entities[gone].active = False
        return self._keep(move)

    def split(self, kept: str, rows: Sequence[Row], gone: str, name: str) -> Move:
        self.steps += 1
        self.entities[gone] = Entity(self.entities[kept].kind, name, {name})
        return self._keep(Move(False, kept, gone, self._moved(rows, kept, gone), self.steps))

    def _keep(self, move: Move) -> Move:
        self.moves.append(move)
        return move

    def _moved(self, rows: Sequence[Row], old: str, new: str) -> list[Item]:
        """Each relationship in the order of its making: another one says it of `new`, and of two current objects the later stays."""
        items: list[Item] = []
        since = {row: (row.born, row.id) for row in self.rows}
        untouched = {row: row.status for row in self.active()}
        before: dict[Row, tuple[str, str | None]] = {}
        for row in sorted(rows, key=lambda row: since[row]):
            said = row.said._replace(
                subject=new if row.said.subject == old else row.said.subject, target=new if row.said.target == old else row.said.target
            )
            status, target = row.status, self.find(row.owner, said)
            made = target is None
            if target is None:
                target = self._add(Row(row.owner, said, self.steps, row.status, row.until))
            before.setdefault(target, (untouched.get(target, target.status), target.until))
            if row.status == "active":
                since[target] = since[row] if made or target.status != "active" else max(since[row], since[target])
                if target.status != "active":
                    target.status, target.until = "active", row.until
                row.status = "superseded"
            row.version, row.stands_for = row.version + 1, target
            for rival in self.rivals(target) if target.status == "active" else ():
                (target if since[rival] > since[target] else rival).status = "superseded"
            for key, support in row.supports.items():
                if support.granted:
                    self.copy(row, target, key)
            items.append(Item(row, status, target, made, before[target]))
        for item in items:
            assert item.target is not None
            item.after = item.target.status
            if item.target.status == item.before[0] != "active":
                item.target.until = item.before[1]
        for target in {item.target for item in items if item.target and not any(other.made and other.target is item.target for other in items)}:
            target.version += 1
        aside = [row for row in untouched if row.status != "active" and row not in before and not any(item.source is row for item in items)]
        for row in aside:
            row.version += 1
        return items + [Item(row, "active") for row in aside]

    def may_take_back(self, move: Move) -> bool:
        """Nothing was built on it: its rows stand for themselves, and nobody said anew what is to come back."""
        if move.taken_back or not self.entities[move.kept].active:
            return False
        targets = {item.target for item in move.items if item.target}
        sources = {item.source for item in move.items}
        others = [row for row in self.rows if row.stands_for is None and row not in targets | sources]
        said = {(row.owner, row.said) for row in others}
        if any(target.stands_for for target in targets) or any((row.owner, row.said) in said for row in sources):
            return False
        return move.is_merge or not (any(move.gone in row.said for row in others) or any(self._own(target, sources) for target in targets))

    def _own(self, target: Row, sources: Collection[Row]) -> set[str]:
        """The texts by which a target counts that did not come over with the move."""
        origins = {support for row in sources for support in row.supports.values()}
        return {key for key in self.effective(target) if target.supports[key].origin not in origins}

    def take_back(self, move: Move) -> None:
        """As it stood before; what happened to a target since then happened to its source, and what was said of the target itself since stays."""
        self.steps += 1
        move.taken_back = True
        sources = {item.source for item in move.items}
        origins = {support for row in sources for support in row.supports.values()}
        targets = {item.target: item for item in move.items if item.target}
        targets |= {item.target: item for item in move.items if item.target and item.made}
        own = {target: self._own(target, sources) for target in targets}
        said_since = {target for target, keys in own.items() if any(target.supports[key].decided > move.at for key in keys)}
        went_on = {target: target.status for target, item in targets.items() if target.status != item.after}
        for target, item in targets.items():
            for support in target.supports.values():
                support.granted = support.granted and support.origin not in origins
            if item.made and not own[target]:
                target.stands_for = item.source
                target.status = "superseded" if target.status == "active" else target.status
            elif (
                not item.made
                and target not in went_on
                and target.status != item.before[0]
                and (item.before[0] == "active" or target not in said_since)
            ):
                target.status, target.until = item.before
        for item in move.items:
            item.source.stands_for = None
            item.source.status = went_on.get(item.target, item.status) if item.target else item.status
        touched = {*targets, *sources}
        for row in touched:
            row.version += 1
        self._make_room([row for row in touched if row.status == "active"], {item.source for item in move.items if item.target in went_on})
        if move.is_merge:
            self.entities[move.kept].names -= move.learned
        self.entities[move.gone].active = move.is_merge

    def _make_room(self, rows: Sequence[Row], later: Collection[Row]) -> None:
        """What no text carries waits. Of several current objects of one author the untouched one stays, else what went on, else the latest."""
        for row in rows:
            if not self.effective(row):
                row.status = "pending_evidence"
        standing: list[Row] = []
        for row in sorted((row for row in rows if row.status == "active"), key=lambda row: (row in later, row.born, row.id), reverse=True):
            if any(rival not in rows or rival in standing for rival in self.rivals(row)):
                row.status = "superseded"
            else:
                standing.append(row)
