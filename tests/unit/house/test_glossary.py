"""One word for one idea, in names and on pages."""

import ast
import re

import pytest

from tests.unit.house.test_house import CODE, PROSE, ROOT, lines_with

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
# What we say instead of each.
TWINS = {
    "add_?on": "plugin",
    "crawler": "adapter",
    "customer": "tenant",
    "dead_?letter": "quarantine",
    "housekeeping": "chore",
    "importer": "adapter",
    "maintenance": "chore",
    "organi[sz]ation": "tenant",
    "put_aside": "quarantine",
    "retriever": "module",
    "searcher": "module",
    "snippet": "passage",
    "todo": "due work",
    "workflow": "pipeline",
}
# The route, and with it the schema, has a name that others call it by.
PUBLISHED = {
    *("maintenance_out", "MaintenanceOut", "Maintenance"),
    *("get_maintenance", "cancel_maintenance", "maintenance"),
}
# Pages that are written from code, and what was done under the words of its time.
NOT_OURS = ("docs/reference/", "docs/licences", "CHANGELOG")
PAGES = [
    path for path in PROSE if not path.relative_to(ROOT).as_posix().startswith(NOT_OURS)
]


def test_a_word_is_defined_once():
    words = re.findall(r"^\| ([a-z ]+) \| (?!means)", GLOSSARY, re.MULTILINE)
    assert sorted(words) == sorted(set(words))
    assert {*TWINS.values()} <= {*words}


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Every module, class and function of ours, its words in lower case."""
    made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = {path.stem for path in CODE} | {
        node.name
        for path in CODE
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, made)
    }
    return sorted(
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in found - PUBLISHED
    )


@pytest.mark.parametrize("twin", TWINS)
def test_code_is_named_by_the_glossary(names, twin):
    said = re.compile(rf"(^|_)({twin})s?($|_)")
    assert [name for name in names if said.search(name)] == []


@pytest.mark.parametrize(
    "twin", ["housekeeping", "customers?", "dead letters?", "snippets?"]
)
def test_pages_speak_by_the_glossary(twin):
    assert lines_with(rf"(?i)\b{twin}\b", PAGES) == []


def test_what_cannot_be_done_is_quarantined_in_pages_and_code_alike():
    assert lines_with(r"(?i)\bput(s|ting)? (\w+ ){0,3}aside\b", [*PAGES, *CODE]) == []
