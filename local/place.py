"""Where one stack lives, and the error that its servers raise."""

from dataclasses import dataclass
from pathlib import Path


class ServerError(Exception):
    """A local server cannot be brought up; the message is meant for the user."""


class PortTakenError(ServerError):
    """Somebody else listens on the port a server was given."""


@dataclass(frozen=True)
class Place:
    """The two folders of one stack: what is its own, and what stacks share."""

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
