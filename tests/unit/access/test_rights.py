"""What a caller may see is said in one place, and statements take it from there."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from shared.access import rights
from shared.access.scope import Scope
from shared.search.jobs.compatibility import read_fields
from shared.search.retrieval.modules import match_sql

ROOT = Path(__file__).parents[3]
HOME = "shared/access/rights.py"
# As it would be written out, under whatever name the entry goes.
WRITTEN_OUT = re.compile(
    r"\breaders IS NULL|\breaders && |\bvisible_from IS NULL|\bvisible_from <= now\(\)"
)
# What was purged keeps who could read it; whose time has just come is told of once.
OTHERS = ("p.readers && ", "e.visible_from > %(at)s AND e.visible_from <= now()")


def test_rights_are_written_out_in_one_file():
    found = set()
    for folder in ("shared", "workers", "api"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            for other in OTHERS:
                text = text.replace(other, "")
            if WRITTEN_OUT.search(text):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {HOME}


@pytest.mark.parametrize("by_words", [True, False], ids=["by words", "left over"])
def test_what_is_hidden_is_what_is_shown_with_the_rights_turned_round(by_words):
    unseen = rights.unseen("e")
    hidden = match_sql.statement("", by_words=by_words, whose=unseen)

    assert hidden.count(unseen) == 1
    shown = match_sql.statement("", by_words=by_words)
    assert hidden.replace(unseen, rights.SEEN) == shown


OPEN = Scope("psi", "anna", groups=("rf",))


@pytest.mark.parametrize(
    ("reader", "asked", "sees_all"),
    [
        (OPEN, OPEN, True),
        (OPEN, Scope("psi", "anna", logbooks=("a",)), True),
        (Scope("psi", "anna", groups=("rf",), logbooks=("a",)), OPEN, False),
        (
            Scope("psi", "anna", logbooks=("a", "b")),
            Scope("psi", "anna", logbooks=("b",)),
            True,
        ),
        (
            Scope("psi", "anna", logbooks=()),
            Scope("psi", "anna", logbooks=("b",)),
            False,
        ),
        (Scope("psi", "anna"), OPEN, False),
        (Scope("desy", "anna", groups=("rf",)), OPEN, False),
    ],
)
def test_who_sees_all_that_another_sees(reader, asked, sees_all):
    assert reader.sees_all_of(asked) is sees_all
    assert read_fields(Scope, asdict(asked)) == asked
