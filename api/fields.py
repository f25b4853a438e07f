"""Types of fields that several tables of answers share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Id = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
