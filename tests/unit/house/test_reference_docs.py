"""The reference pages are what the code says today."""

import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import structlog

from shared.settings.settings import Settings

ROOT = Path(__file__).parents[3]


def generator() -> ModuleType:
    path = ROOT / ".ci" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        # As for a script: what stands beside it can be imported.
        patch.syspath_prepend(path.parent)
        spec.loader.exec_module(module)
    return module


REFERENCE = generator()


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Making the application to read its routes configures the logs."""
    handlers, level = logging.root.handlers, logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers = handlers
    logging.root.setLevel(level)


@pytest.mark.parametrize("name", REFERENCE.PAGES)
def test_the_page_is_what_make_docs_would_write(name):
    kept = (REFERENCE.FOLDER / name).read_text(encoding="utf-8")
    assert kept == REFERENCE.PAGES[name](), "run `make docs`"


def test_no_page_is_left_over():
    kept = {path.name for path in REFERENCE.FOLDER.glob("*.md")}
    assert kept == set(REFERENCE.PAGES)


def test_every_setting_says_what_it_is_for():
    rows = list(REFERENCE.settings.described(Settings))
    assert [row.name for row in rows if not row.help] == []


def test_every_diagnostic_of_the_page_stands_in_the_code():
    said = REFERENCE.diagnostics.SAID
    files = (path for room in ("shared", "api") for path in (ROOT / room).rglob("*.py"))
    code = "".join(path.read_text("utf-8") for path in files)
    assert [one for one in said if f'"{one}"' not in code] == []
