"""A search by meaning that does not fill its list says so, and keeps what it found."""

from dataclasses import replace
from typing import Any

import pytest

from shared.embedding.vectors import nearest
from shared.entries.draft import EntryDraft
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules import semantic

SHOWN, EXCLUDED = 3, 60


@pytest.fixture
def book(asking: Any) -> Any:
    """A book of a klystron, in which few entries do not name it."""
    asking.write(
        *(
            EntryDraft("api", f"K-{number}", f"RF trip klystron {number}")
            for number in range(EXCLUDED)
        ),
        *(
            EntryDraft("api", f"S-{number}", f"RF trip of station {number} and more")
            for number in range(SHOWN)
        ),
    )
    return asking


def found(
    asking: Any, query: str, limit: int = 5, seconds: float = 20.0
) -> ModuleResult:
    plan = asking.plan(query, mode="semantic")
    return semantic.search(
        replace(Ask.lasting(plan, seconds), limit=limit), asking.context
    )


def test_a_list_that_is_short_for_how_far_was_looked_says_so(book, monkeypatch):
    monkeypatch.setattr(semantic, "_MAX_SCAN", 40)
    short = found(book, "RF trip -klystron")
    (note,) = short.diagnostics
    assert (note.code, note.source) == ("under_return", "retrieve.semantic")
    assert note.message.startswith(
        f"Of the 40 entries nearest in meaning {len(short.hits)}"
    )
    assert len(short.hits) < SHOWN


def test_an_answer_says_that_a_branch_returned_too_few(book, monkeypatch):
    asked = {"query": "RF trip -klystron", "mode": "semantic"}
    assert book.ask(**asked)["degraded_recall"] is False
    monkeypatch.setattr(semantic, "_MAX_SCAN", 40)
    assert book.ask(**asked)["degraded_recall"] is True


def test_a_list_that_is_short_because_there_are_no_more_says_nothing(book):
    whole = found(book, "RF trip -klystron")
    assert (len(whole.hits), whole.diagnostics) == (SHOWN, ())


def test_a_full_list_says_nothing_however_far_was_looked(book, monkeypatch):
    monkeypatch.setattr(semantic, "_MAX_SCAN", 5)
    full = found(book, "RF trip")
    assert (len(full.hits), full.diagnostics) == (5, ())


def test_what_is_below_the_floor_is_not_missed(book):
    book.context = replace(book.context, similarity_threshold=0.999)
    none = found(book, "RF trip -klystron")
    assert (none.hits, none.diagnostics) == ((), ())


def test_a_long_entry_that_fills_every_page_leaves_a_list_that_says_so(
    asking, monkeypatch
):
    monkeypatch.setattr(nearest, "MAX_ROUNDS", 1)
    asking.write(
        EntryDraft("api", "long", "RF trip klystron " * 2000),
        *(EntryDraft("api", f"S-{number}", f"RF gun {number}") for number in range(9)),
    )
    short = found(asking, "RF trip klystron")
    assert [note.code for note in short.diagnostics] == ["under_return"]
    assert len(short.hits) == 1


def test_what_the_first_look_found_is_kept_when_the_second_has_no_time(
    book, monkeypatch
):
    kept = semantic._kept
    looks: list[int] = []

    def endless_after_one(conn: Any, *given: Any) -> Any:
        looks.append(1)
        if len(looks) > 1:
            conn.execute(
                "SELECT count(*) FROM generate_series(1, 1000000000)"
            ).fetchone()
        return kept(conn, *given)

    with monkeypatch.context() as patch:
        patch.setattr(semantic, "_kept", endless_after_one)
        short = found(book, "RF trip of station and more -klystron", seconds=4.0)

    assert len(looks) == 2
    assert 0 < len(short.hits) <= SHOWN
    assert [note.code for note in short.diagnostics] == ["under_return"]
    # And its connection is of use to the next.
    assert len(found(book, "RF trip -klystron").hits) == SHOWN
