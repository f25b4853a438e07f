"""What an administrator's key may ask of the limits of its team and of the team's keys."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct

from commonlore.domain.errors import invalid
from commonlore.domain.limits.policy import CLASSES, ClassSetting, LimitSetting, StorageSetting, changed


class DescribeLimitsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a key, or of the whole team where none is named."""

    credential_id: UUID | None = None


class UpdateLimitsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a key, or of the whole team where none is named. A class that is left out stays; one that is given is replaced as a whole."""

    credential_id: UUID | None = None
    read: ClassSetting | None = None
    write: ClassSetting | None = None
    admin: ClassSetting | None = None
    heavy: ClassSetting | None = None
    storage: StorageSetting | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: nothing is to be changed, or storage of a key.
        """
        if all(getattr(self, name) is None for name in (*CLASSES, "storage")):
            raise invalid("", "expected at least one of read, write, admin, heavy and storage")
        if self.credential_id is not None and self.storage is not None:
            raise invalid("/storage", "expected none for a key: what is kept is bounded for the team and its spaces")

    def applied_to(self, setting: LimitSetting) -> LimitSetting:
        """The setting after the change."""
        return changed(setting, {name: getattr(self, name) for name in (*CLASSES, "storage")})
