"""The walk of docs/architecture.md is the code: every row of it can be imported."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"


class Row(NamedTuple):
    """One step of a walk."""

    step: str
    file: str
    functions: tuple[str, ...]


def rows() -> list[Row]:
    """Every row of the tables below a heading that begins with `The walk of`."""
    found = []
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        if section.startswith("The walk of"):
            cells = [line.strip("| ").split(" | ") for line in section.splitlines()]
            found += [
                Row(row[0], row[1].strip("`"), tuple(re.findall(r"`([^`]+)`", row[2])))
                for row in cells
                if len(row) == 3 and row[1].startswith("`")
            ]
    return found


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.file}: {row.step}")
def test_a_step_of_the_walk_is_where_the_page_says(row):
    assert (ROOT / row.file).is_file()
    module = importlib.import_module(row.file.removesuffix(".py").replace("/", "."))
    assert row.functions
    for name in row.functions:
        named = functools.reduce(getattr, name.split("."), module)
        assert callable(named), name
        assert named.__module__ == module.__name__, f"{name} is only imported there"


def test_the_walk_holds_an_entry_and_a_question():
    assert len(rows()) > 30


def test_every_room_has_its_sentence():
    text = PAGE.read_text("utf-8")
    rooms = sorted(
        path.parent.relative_to(ROOT).as_posix()
        for top in ("shared", "workers", "api", "local")
        for path in (ROOT / top).rglob("__init__.py")
        if path.parent.parent in (ROOT, ROOT / "shared")
    )
    missing = [room for room in rooms if f"| `{room}/`" not in text]
    assert missing in ([], ["shared"]), missing
