"""Chosen sentences in words: marks, order, and what was replaced since."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.answers.choice.answer_status import Judgement
from shared.answers.choice.sentence_score import ScoredSentence
from shared.answers.compose_answer import (
    Marks,
    is_replaced,
    list_citations,
    list_questions,
    make_labels,
    write_sentences,
)
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.question import read_part
from shared.search.results.superseded import Other
from shared.text.facility.facility import PLAIN
from tests.unit.answers.worded.test_check_sentence import entry

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
TEXTS = (
    "QF1 current is 3.2 A since noon.",
    "QF1 was looked at again.",
    "QF1 current is 3.5 A by now.",
)
ENTRIES = [
    entry(text, number, title="", entry_time=BEGIN + timedelta(hours=number))
    for number, text in enumerate(TEXTS, 1)
]
OLD, BETWEEN, NEW = ENTRIES
MARKS = Marks(make_labels(ENTRIES))
UNMARKED = Marks({}, is_shown=False)
NEWER = Other(
    entry_id=OLD.row.entry_id,
    device="qf 1",
    parameter="current",
    dimension="current",
    stated=3.2,
    is_older=True,
    value=3.5,
    said_at=NEW.row.entry_time,
    other_id=NEW.row.entry_id,
    source="api",
    external_id="OPS-3",
)


def scored(*entries: EvidenceEntry) -> list[ScoredSentence]:
    return [
        ScoredSentence(candidate, 1.0, 1.0, is_of_kind=False)
        for one in entries
        for candidate in one.candidates()
    ]


def test_sentences_are_told_oldest_first_each_with_its_mark() -> None:
    told = write_sentences(scored(NEW, OLD), MARKS, {}, "UTC")
    assert told == (
        "QF1 current is 3.2 A since noon [#OPS-1@1]."
        " QF1 current is 3.5 A by now [#OPS-3@1]."
    )


def test_what_is_cut_is_told_with_what_says_so() -> None:
    clause = "the pump was stopped by the operator on shift "
    (long,) = [entry(f"{4 * clause}, {4 * clause}again.", title="")]
    for marks, mark in ((Marks(make_labels([long])), " [#OPS-1@1]."), (UNMARKED, "")):
        told = write_sentences(scored(long), marks, {}, "UTC")
        assert told == (
            f"{4 * clause}\u2026{mark} \u2026 {4 * clause}again{mark or '.'}"
        )


def test_a_value_that_replaces_another_one_leads() -> None:
    values = {OLD.row.entry_id: (NEWER,)}
    chosen = scored(OLD, BETWEEN, NEW)
    told = write_sentences(chosen, MARKS, values, "UTC")
    assert told == (
        "QF1 current is 3.5 A by now [#OPS-3@1]."
        " QF1 current is 3.2 A since noon [#OPS-1@1]."
        " (replaced on 2026-03-02 03:00 UTC: 3.5 A)"
        " QF1 was looked at again [#OPS-2@1]."
    )
    cited = list_citations(chosen, MARKS, values, "default")
    assert [one.label for one in cited] == ["OPS-3", "OPS-1", "OPS-2"]
    assert [is_replaced(one, values) for one in chosen] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "dimension", "stated", "value", "said"),
    [
        ("RF at 499.654010 MHz.", "frequency", 499654010, 499654090, "499.65409 MHz"),
        ("Hall at 23 \u00b0C.", "temperature", 296.15, 298.65, "25.5 \u00b0C"),
        ("IP4 at 2.0e-9 mbar.", "pressure", 2e-7, 3e-7, "3e-09 mbar"),
        ("QF1 is at 900 mA.", "current", 0.9, 1.1, "1100 mA"),
    ],
)
def test_a_newer_value_is_told_in_the_unit_of_the_older_one(
    text: str, dimension: str, stated: float, value: float, said: str
) -> None:
    old = entry(text, 1, title="", entry_time=BEGIN)
    newer = replace(
        NEWER,
        entry_id=old.row.entry_id,
        dimension=dimension,
        stated=stated,
        value=value,
    )
    values = {old.row.entry_id: (newer,)}
    told = write_sentences(scored(old), Marks(make_labels([old])), values, "UTC")
    assert told.endswith(f"(replaced on 2026-03-02 03:00 UTC: {said})")


@pytest.mark.parametrize("stated", [3.2, 3.3])
def test_where_the_newer_value_is_not_told_the_order_is_that_of_time(stated) -> None:
    values: dict[UUID, tuple[Other, ...]] = {OLD.row.entry_id: (NEWER,)}
    if stated != NEWER.stated:
        # Another value of the entry was replaced than the sentence states.
        values = {OLD.row.entry_id: (replace(NEWER, stated=stated),)}
    told = write_sentences(scored(OLD, BETWEEN), MARKS, values, "UTC")
    assert told.startswith("QF1 current is 3.2 A")
    assert ("(replaced on" in told) is (stated == 3.2)


@pytest.mark.requirement("S4-39")
@pytest.mark.parametrize(
    ("text", "unsupported", "offered"),
    [
        ("Why did the robot pump trip?", ("robot",), ["Why did the pump trip?"]),
        ("Did the pump trip wildly?", ("wildly",), ["Did the pump trip?"]),
        # An article or a preposition would join nothing.
        ("Wie stark war das Erdbeben bei Trojan?", ("Erdbeben",), []),
        ("Did the pump in the shed trip with robots?", ("robots",), []),
        ("Who won the chess match on the moon?", ("won", "chess", "match"), []),
    ],
)
def test_a_question_that_would_be_none_without_words_is_not_offered(
    text: str, unsupported: tuple[str, ...], offered: list[str]
) -> None:
    asked = read_part(text, text, PLAIN)
    judgement = Judgement("clarify", "unsupported_words", "D", unsupported)
    assert list_questions(asked, judgement, (), ()) == offered


def test_behind_what_an_author_did_stands_who_that_is() -> None:
    (one,) = scored(entry("I moved the mask.", title="", authors=["Hugo Moreau"]))
    told = write_sentences([replace(one, is_signed=True)], UNMARKED, {}, "UTC")
    assert told == "I moved the mask. (written by Hugo Moreau)"
