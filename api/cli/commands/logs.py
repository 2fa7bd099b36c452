"""`logchord logs`: what the processes and servers of a home have printed."""

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from api.cli import output
from api.cli.output import CommandError
from api.cli.render import log_lines
from shared.settings.settings import Settings

_POLL_SECONDS = 0.2


@click.command()
@click.argument("name", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on as lines are written.")
@click.option("--tail", default=100, help="How many last lines.")
def logs(*, name: str | None, follow: bool, tail: int) -> None:
    """Show the log of NAME, a process or server; without NAME of all of them."""
    out = output.current()
    folder = Settings.load(os.environ).home / "logs"
    paths = _paths(folder, name)
    for path in paths:
        for line in deque(_read(path), maxlen=tail):
            _show(out, path.stem, line)
    if follow:
        _follow(out, paths)


def _paths(folder: Path, name: str | None) -> list[Path]:
    found = sorted(folder.glob("*.log"))
    if name is None:
        return found
    chosen = [path for path in found if path.stem == name]
    if not chosen:
        known = ", ".join(path.stem for path in found) or "none yet"
        message = f"There is no log called {name}; there are: {known}."
        raise CommandError(message, exit_code=output.NOT_FOUND)
    return chosen


def _read(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            yield line.rstrip("\n")


def _show(out: output.Output, name: str, line: str) -> None:
    out.data(line if out.as_json else log_lines.pretty(name, line))


def _follow(out: output.Output, paths: list[Path]) -> None:
    """Print appended lines; a file that was rotated is opened again."""
    files = {path: _at_end(path) for path in paths}
    try:
        while True:
            for path, file in list(files.items()):
                for line in file:
                    _show(out, path.stem, line.rstrip("\n"))
                if (
                    path.exists()
                    and path.stat().st_ino != os.fstat(file.fileno()).st_ino
                ):
                    file.close()
                    files[path] = path.open(encoding="utf-8", errors="replace")
            time.sleep(_POLL_SECONDS)
    finally:
        for file in files.values():
            file.close()


def _at_end(path: Path) -> TextIO:
    file = path.open(encoding="utf-8", errors="replace")
    file.seek(0, os.SEEK_END)
    return file
