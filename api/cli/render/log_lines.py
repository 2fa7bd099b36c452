"""Log lines for people: JSON turned into time, process, level, event and the rest."""

import json
import re
from typing import Any

import click

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan")
_LEVELS = {"warning": "yellow", "error": "red", "critical": "red", "debug": "white"}
_NAME_WIDTH = 8
_HIDDEN = frozenset({"event", "level", "timestamp", "process", "logger"})
# What a child prints must not move the cursor or rename the window.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def pretty(name: str, line: str) -> str:
    """Return a line of a process in colour; one that is not JSON stays as it is."""
    colour = _COLOURS[sum(name.encode()) % len(_COLOURS)]
    label = click.style(f"{name:<{_NAME_WIDTH}}", fg=colour)
    return f"{label} {_body(_CONTROL.sub('', line))}"


def _body(line: str) -> str:
    row = _parsed(line)
    if row is None:
        return line
    time = click.style(str(row.get("timestamp", ""))[11:19], dim=True)
    level = str(row.get("level", "info"))
    event = click.style(str(row["event"]), fg=_LEVELS.get(level), bold=True)
    rest = " ".join(
        f"{key}={_short(value)}" for key, value in row.items() if key not in _HIDDEN
    )
    return f"{time} {event} {click.style(rest, dim=True)}".rstrip()


def _parsed(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "event" in row else None


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
