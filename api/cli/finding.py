"""One thing that `commonlore doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `advice` is what to do, empty where there is nothing to do."""

    name: str
    state: State
    found: str
    advice: str = ""
