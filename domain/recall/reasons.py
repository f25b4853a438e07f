"""Why evidence that was found is not eligible in a view: the closed list."""

from __future__ import annotations

from typing import Literal

Exclusion = Literal[
    "owner_inactive", "not_yet_known", "superseded", "retracted", "erased", "quarantined", "source_revised", "unsupported", "unclaimed"
]
