"""The Procfile: which processes make up the system, one line each."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

PROCFILE = Path(__file__).resolve().parents[1] / "Procfile"

_LINE = re.compile(r"^(?P<name>[a-z][a-z0-9-]*):\s*(?P<command>\S.*)$")


@dataclass(frozen=True)
class Command:
    """One process: the name it goes by, and what to execute."""

    name: str
    argv: tuple[str, ...]


def parse_procfile(path: Path = PROCFILE) -> list[Command]:
    """Return the processes in the order of the file; a line it cannot read raises."""
    commands: list[Command] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"{path.name}, line {number}: expected `name: command`.")
        command = Command(match["name"], tuple(shlex.split(match["command"])))
        if command.name in {other.name for other in commands}:
            raise ValueError(f"{path.name}, line {number}: {command.name} comes twice.")
        commands.append(command)
    return commands
