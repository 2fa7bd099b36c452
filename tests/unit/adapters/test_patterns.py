"""The patterns of the file and facility adapters stay linear on hostile text."""

import importlib
import re
from typing import Any

import pytest

from tests.support.linear_cost import assert_linear

MODULES = (
    *("als", "mapping.field_values", "mapping.pointer", "jlab.jlab", "jlab.jlab_entry"),
    *("files.csv_rows", "files.json_records", "files.utf8_text", "files.xml_records"),
    "files.generic_csv",
)
HOSTILE = (
    "a" * 50_000 + "!",
    " " * 50_000 + "!",
    "1" * 50_000 + "!",
    "1,'. " * 10_000 + "!",
    "type = " * 10_000 + "!",
    '<?xml encoding = "' * 5_000 + "!",
    "~" * 50_000 + "!",
    "not authori" * 5_000 + "!",
)


def patterns() -> list[Any]:
    found: list[Any] = []
    for name in MODULES:
        module = importlib.import_module(f"workers.adapters.{name}")
        for value in vars(module).values():
            several = value.values() if isinstance(value, dict) else [value]
            found += [
                pytest.param(one, id=f"{name}:{one.pattern!r}"[:60])
                for one in several
                if isinstance(one, re.Pattern)
            ]
    return found


@pytest.mark.parametrize("pattern", patterns())
def test_a_pattern_takes_no_time_on_hostile_text(pattern) -> None:
    def search(text: str) -> None:
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        pattern.search(given)
        pattern.fullmatch(given)

    for text in HOSTILE:
        assert_linear(search, text)
