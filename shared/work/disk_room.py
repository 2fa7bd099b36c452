"""How much room is left on the disks that an installation keeps its own on."""

import shutil
from pathlib import Path
from typing import NamedTuple

from shared.settings.settings import Settings

ENOUGH_BYTES = 1_000_000_000


class DiskRoom(NamedTuple):
    """The disk of one folder, by the name of the folder's setting."""

    name: str
    folder: Path
    free: int

    @property
    def is_low(self) -> bool:
        """Tell whether there is too little to go on for long."""
        return self.free < ENOUGH_BYTES

    @property
    def remedy(self) -> str:
        """Return the sentence on how to make room."""
        return f"Make room, or set LOGCHORD_{self.name.upper()} to another disk."


def measure_disks(settings: Settings) -> list[DiskRoom]:
    """Return the room of each, also of a folder that is still to be made."""
    found = []
    for name, folder in (("home", settings.home), ("cache", settings.cache)):
        place = next(one for one in (folder, *folder.parents) if one.exists())
        found.append(DiskRoom(name, folder, shutil.disk_usage(place).free))
    return found
