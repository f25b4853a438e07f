"""What a key and a team may use: classes of operations, what is stored of a team's own numbers, and what counts in the end.

Numbers that were never set are the defaults. They stop a loop that ran away and nobody else: one process serves a tenth of them.
A team's own numbers may be tighter or wider than the defaults, and never wider than its ceiling, which only the operator sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from commonlore.domain.limits.rate import Rate

OperationClass = Literal["read", "write", "admin", "heavy"]
SubjectKind = Literal["key", "team"]
CLASSES: tuple[OperationClass, ...] = get_args(OperationClass)

_MOST = 1_000_000_000
Number = Annotated[int, Meta(ge=0, le=_MOST)]


class ClassSetting(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Bounds of one class. A field that is null is the default's, 0 is no bound."""

    per_minute: Number | None = None
    burst: Number | None = None
    per_day: Number | None = None
    per_month: Number | None = None


class StorageSetting(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Bounds of what is kept, of a team alone. A field that is null is the default's, 0 is no bound."""

    texts: Number | None = None
    bytes: Annotated[int, Meta(ge=0, le=1 << 50)] | None = None
    space_texts: Number | None = None
    space_bytes: Annotated[int, Meta(ge=0, le=1 << 50)] | None = None


class LimitSetting(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a team or a key has of its own."""

    read: ClassSetting = ClassSetting()
    write: ClassSetting = ClassSetting()
    admin: ClassSetting = ClassSetting()
    heavy: ClassSetting = ClassSetting()
    storage: StorageSetting = StorageSetting()

    def of(self, operation_class: OperationClass) -> ClassSetting:
        found: ClassSetting = getattr(self, operation_class)
        return found


_KEY = LimitSetting(
    read=ClassSetting(60_000, 2_000), write=ClassSetting(30_000, 2_000), admin=ClassSetting(6_000, 1_000), heavy=ClassSetting(3_000, 500)
)
_TEAM = LimitSetting(
    read=ClassSetting(240_000, 8_000), write=ClassSetting(120_000, 8_000), admin=ClassSetting(24_000, 4_000), heavy=ClassSetting(12_000, 2_000)
)
DEFAULTS: Mapping[SubjectKind, LimitSetting] = {"key": _KEY, "team": _TEAM}
_NOTHING = LimitSetting()


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one subject in one class; None is no bound."""

    rate: Rate | None
    per_day: int | None
    per_month: int | None


@dataclass(frozen=True, slots=True)
class StorageBounds:
    """Of a team, and of each of its spaces; None is no bound."""

    texts: int | None = None
    bytes: int | None = None
    space_texts: int | None = None
    space_bytes: int | None = None


@dataclass(frozen=True)
class Limits:
    """Those of one key and its team. `text`: what is stored, as it came from the database: the key's, the team's, the team's ceiling."""

    text: tuple[str, str, str] = ("{}", "{}", "{}")
    _settings: tuple[LimitSetting, LimitSetting, LimitSetting] = field(default=(_NOTHING, _NOTHING, _NOTHING), repr=False)

    @cached_property
    def _bounds(self) -> dict[tuple[SubjectKind, OperationClass], Bounds]:
        key, team, ceiling = self._settings
        found: dict[tuple[SubjectKind, OperationClass], Bounds] = {}
        for name in CLASSES:
            found["key", name] = _bounds(key.of(name), DEFAULTS["key"].of(name), ClassSetting())
            found["team", name] = _bounds(team.of(name), DEFAULTS["team"].of(name), ceiling.of(name))
        return found

    def bounds(self, kind: SubjectKind, operation_class: OperationClass) -> Bounds:
        return self._bounds[kind, operation_class]

    @cached_property
    def storage(self) -> StorageBounds:
        """What the team may keep; without bound unless it was set."""
        _, team, ceiling = self._settings
        return StorageBounds(*(_tighter(getattr(team.storage, name), getattr(ceiling.storage, name)) for name in StorageSetting.__struct_fields__))


# Nothing of a team's own: the defaults.
UNSET = Limits()


@lru_cache(maxsize=4096)
def limits_of(key: str, team: str, ceiling: str) -> Limits:
    """From what is stored.

    Raises:
        msgspec.DecodeError: it is no setting.
    """
    settings = (_read(key), _read(team), _read(ceiling))
    return Limits((key, team, ceiling), settings)


def _read(text: str) -> LimitSetting:
    return msgspec.json.decode(text, type=LimitSetting)


def changed(setting: LimitSetting, parts: Mapping[str, ClassSetting | StorageSetting | None]) -> LimitSetting:
    """The setting with the parts that are given in place of its own; one that is None stays."""
    return msgspec.structs.replace(setting, **{name: part for name, part in parts.items() if part is not None})


def _tighter(*numbers: int | None) -> int | None:
    """The least of what bounds at all."""
    return min((number for number in numbers if number), default=None)


def _bounds(own: ClassSetting, default: ClassSetting, ceiling: ClassSetting) -> Bounds:
    def number(name: str) -> int | None:
        mine = getattr(own, name)
        return _tighter(getattr(default, name) if mine is None else mine, getattr(ceiling, name))

    per_minute = number("per_minute")
    # A rate without a burst of its own takes a minute's worth at once.
    rate = None if per_minute is None else Rate(per_minute, min(number("burst") or per_minute, per_minute) or 1)
    return Bounds(rate, number("per_day"), number("per_month"))
