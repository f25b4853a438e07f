"""`commonlore verify-isolation`: proof that no team and no space sees another (decisions.md 24).

`verify_live` reads the catalogue of a database as the serving role and changes nothing. `verify_scratch` needs a database
that holds no team: it fills it, then takes one lock away at a time and looks whether the other still holds.
"""

from __future__ import annotations

from commonlore.db.isolation.catalogue import catalogue_checks, verify_live
from commonlore.db.isolation.report import Check
from commonlore.db.isolation.scratch import scratch_database, verify_scratch

__all__ = ["Check", "catalogue_checks", "scratch_database", "verify_live", "verify_scratch"]
