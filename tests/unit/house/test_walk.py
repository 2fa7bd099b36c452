"""The walk of docs/architecture.md is the code: every row of it can be imported."""

import ast
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


def walks() -> dict[str, list[Row]]:
    """The rows of the table below each heading that begins with `The walk of`."""
    found = {}
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        if section.startswith("The walk of"):
            cells = [line.strip("| ").split(" | ") for line in section.splitlines()]
            found[section.splitlines()[0]] = [
                Row(row[0], row[1].strip("`"), tuple(re.findall(r"`([^`]+)`", row[2])))
                for row in cells
                if len(row) == 3 and row[1].startswith("`")
            ]
    return found


def rows() -> list[Row]:
    """Every row of every walk."""
    return [row for walk in walks().values() for row in walk]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.file}: {row.step}")
def test_a_step_of_the_walk_is_where_the_page_says(row):
    assert (ROOT / row.file).is_file()
    module = importlib.import_module(row.file.removesuffix(".py").replace("/", "."))
    assert row.functions
    for name in row.functions:
        named = functools.reduce(getattr, name.split("."), module)
        assert callable(named), name
        assert named.__module__ == module.__name__, f"{name} is only imported there"


def test_an_entry_and_a_question_are_walked_in_twenty_stations_at_most():
    assert list(walks()) == ["The walk of an entry", "The walk of a question"]
    assert {10 < len(walk) <= 20 for walk in walks().values()} == {True}


def test_every_room_says_the_sentence_that_the_page_has_of_it():
    text = PAGE.read_text("utf-8")
    rooms = {
        path.parent.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes())
        for top in ("shared", "workers", "api", "local")
        for path in (ROOT / top).rglob("__init__.py")
        if path.parent.parent in (ROOT, ROOT / "shared")
    }
    rows_of_rooms = {
        room: f"| `{room}/` | {(ast.get_docstring(tree) or '').partition(chr(10))[0]} |"
        for room, tree in rooms.items()
    }
    assert [row for row in rows_of_rooms.values() if row not in text] == []


def test_every_package_of_ours_says_what_it_is_for():
    silent = [
        path.relative_to(ROOT).as_posix()
        for top in ("shared", "workers", "api", "local", "tests")
        for path in (ROOT / top).rglob("__init__.py")
        if not ast.get_docstring(ast.parse(path.read_bytes()))
    ]
    assert silent == []
