"""What every page is made of: its head, its tables, names as code."""

from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticUndefined

MADE = "Made from the code by `make docs`; do not edit."


def page(title: str, *parts: str) -> str:
    """Return a page under its title."""
    return (
        "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts)]) + "\n"
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; a bar inside a cell is escaped."""
    cells = [list(head), *(list(row) for row in rows)]
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "---|" * len(cells[0]))
    return "\n".join(lines)


def as_code(text: str) -> str:
    """Return the text between backticks; nothing stays nothing."""
    return f"`{text}`" if text else ""


def as_default(value: Any) -> str:
    """Return a default as one would write it; none and empty are left out."""
    if value is PydanticUndefined or value in (None, "", (), {}):
        return ""
    if isinstance(value, tuple):
        return as_code(" ".join(value))
    return as_code(str(value).lower() if isinstance(value, bool) else str(value))
