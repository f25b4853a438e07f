"""One line of the proof."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """`rule` held or did not for `subject`, the exact object. `detail` says what was found instead, or what was seen."""

    rule: str
    subject: str
    passed: bool
    detail: str = ""
