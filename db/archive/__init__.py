"""Backups: one file that holds every row of an installation or of a team, made, checked and restored.

    facts = take_backup(owner_conninfo, Path("commonlore.archive"))
    with ArchiveReader(facts.path) as archive:
        restore(database, passwords, archive)

`file.py` knows the format, `snapshot.py` what there is to carry, `backup.py`, `restoring.py` and `comparing.py` the three acts.
Tables, columns, keys and sequences are read from the catalogue; nothing here names a table that holds data.
"""

from commonlore.db.archive.backup import BackupFacts, take_backup
from commonlore.db.archive.comparing import Comparison, compare
from commonlore.db.archive.file import ArchiveReader, Manifest, Progress
from commonlore.db.archive.restoring import RestoreFacts, restore

__all__ = ["ArchiveReader", "BackupFacts", "Comparison", "Manifest", "Progress", "RestoreFacts", "compare", "restore", "take_backup"]
