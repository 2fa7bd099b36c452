"""Where one stack lives, and the error that its servers raise."""

import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class ServerError(Exception):
    """A local server cannot be brought up; the message is meant for the user."""


class PortTakenError(ServerError):
    """Somebody else listens on the port a server was given."""


def read_notes(path: Path) -> dict[str, Any]:
    """Return the notes that a file holds; none where it is absent or damaged.

    Nobody waits for their way to the disk, and a power cut may leave an empty file.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class StackFolders:
    """The two folders of a stack: its own, and the one that stacks share."""

    home: Path
    cache: Path

    @property
    def logs(self) -> Path:
        """One file per process."""
        return self.home / "logs"

    @property
    def run(self) -> Path:
        """Pid files and locks."""
        return self.home / "run"

    def make(self) -> None:
        """Make the home; logs and run folder are for nobody else's eyes.

        Postgres logs the row that it refuses, and whoever can open a lock can hold it.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        for folder in (self.logs, self.run):
            folder.mkdir(mode=0o700, exist_ok=True)
            mode = stat.S_IMODE(folder.stat().st_mode)
            if mode & _OTHERS:
                folder.chmod(mode & ~_OTHERS)
