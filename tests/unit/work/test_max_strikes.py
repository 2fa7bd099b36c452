"""The number of strikes stands in statements, too: there it is the same."""

from __future__ import annotations

import re
from pathlib import Path

from shared.work.due_work import MAX_STRIKES

ROOT = Path(__file__).parents[3]
COMPARED = re.compile(r"\bstrikes (?:<|>=) (\d+)")


def test_every_statement_has_the_number_of_strikes_of_the_constant():
    files = [*(ROOT / "shared/work").glob("*.py"), *(ROOT / "migrations").glob("*.sql")]
    numbers = [
        int(number)
        for file in files
        for number in COMPARED.findall(file.read_text("utf-8"))
    ]
    assert len(numbers) >= 7
    assert set(numbers) == {MAX_STRIKES}
