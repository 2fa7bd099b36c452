"""What a result shows of its text: the best passage, and its marks as escaped HTML."""

import html
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.language import grammar
from shared.search.results import highlights
from shared.search.results.highlights import (
    MOST_PARTS,
    PART_CHARACTERS,
    PASSAGE_CHARACTERS,
    WHOLE_CHARACTERS,
    Highlighter,
    passage,
)
from shared.search.results.hydrate import HitRow
from shared.search.results.term_marks import WantedTerms, merged
from shared.text.facility.facility import PLAIN, Facility
from shared.vocabulary.expand import Expansion, Want

_TAG = re.compile("</?b>")


def marked(text: str, query: str, language: str = "en") -> str:
    """Return the text with what answers the question between brackets."""
    question = compile_question(grammar.parse(query).tree)
    told = text
    for start, end in reversed(
        merged(WantedTerms(question, language).marks(text, PLAIN))
    ):
        told = f"{told[:start]}[{told[start:end]}]{told[end:]}"
    return told


def row(text: str, title: str = "", language: str = "en") -> HitRow:
    return HitRow(
        entry_id=UUID(int=1),
        source="api",
        external_id="E-1",
        revision=1,
        kind="logbook",
        category=None,
        origin="human",
        title=title,
        text=text,
        url=None,
        authors=[],
        logbooks=[],
        tags=[],
        metadata={},
        entry_time=datetime(2026, 3, 2, tzinfo=UTC),
        event_time=None,
        thread_id=None,
        language=language,
    )


def told(text: str, query: str, **fields: str) -> list[str]:
    reader = Highlighter(compile_question(grammar.parse(query).tree))
    return reader.mark(row(text, **fields), None).highlights


@pytest.mark.requirement("S0-30")
@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The beams tripped twice.", "trip beam", "The [beams] [tripped] twice."),
        ("RF or vacuum", "rf OR klystron", "[RF] or vacuum"),
        ("HCM-03 and BPM-3", "HCM 3", "[HCM-03] and BPM-3"),
        ("LOTO-2024-0312 is open", "0312", "[LOTO-2024-0312] is open"),
        ("lost beam, beam lost", '"beam lost"', "lost beam, [beam lost]"),
        ("pump and valve", "pump -valve", "[pump] and valve"),
        ("pump and valve", "NOT pump", "pump and valve"),
        ("beam beam up", '"beam up"', "beam [beam up]"),
    ],
)
def test_what_was_asked_for_is_marked_and_what_is_negated_is_not(text, query, expected):
    assert marked(text, query) == expected


WORDS = ("valv", "pump", "magnet", "arc")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(WORDS), st.sampled_from((" ", "\n", ", ", " - ", "  "))
        ),
        max_size=12,
    ),
    st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), min_size=1, max_size=6
    ),
)
def test_every_phrase_is_marked_wherever_its_words_follow_each_other(said, phrases):
    text = "".join(f"{word}{blank}" for word, blank in said)
    placed = [(one[0], one.start(), one.end()) for one in re.finditer("[a-z]+", text)]
    expected = set()
    for phrase in phrases:
        for first in range(len(placed) - len(phrase) + 1):
            there = placed[first : first + len(phrase)]
            if [word for word, _, _ in there] == phrase:
                expected.add((there[0][1], there[-1][2]))
    query = " OR ".join(f'"{" ".join(phrase)}"' for phrase in phrases)
    question = compile_question(grammar.parse(query).tree)
    found = WantedTerms(question, "en").marks(text, PLAIN)
    assert {(one.start, one.end) for one in found} == expected


def test_a_text_is_compared_in_its_own_language() -> None:
    text = "Die Kühlwasserpumpen wurden getauscht"
    assert marked(text, "kuehlwasserpumpe", "de") == (
        "Die [Kühlwasserpumpen] wurden getauscht"
    )
    assert marked(text, "kuehlwasserpumpe", "en") == text


def test_a_character_of_a_script_without_blanks_is_marked_alone() -> None:
    assert marked("真空泄漏", "漏", "unknown") == "真空泄[漏]"


@pytest.mark.parametrize("query", ['"zqx* pump"', '"pump zqx*"', '"pump" OR "zqx* a"'])
def test_a_phrase_with_a_pattern_that_stands_for_no_word_marks_nothing(query) -> None:
    tree = grammar.parse(query).tree
    known = {Want("wildcard", "zqx*", in_phrase=True): Expansion()}
    reader = Highlighter(compile_question(tree, known=known))
    found = reader.mark(row("the pump stands"), None).highlights
    assert found == (["the <b>pump</b> stands"] if "OR" in query else [])


def test_what_patterns_and_misspelt_words_stand_for_is_marked() -> None:
    tree = grammar.parse("inject* cavvity").tree
    known = {
        Want("wildcard", "inject*"): Expansion(stems={"en": ("inject", "injector")}),
        Want("typo", "cavvity"): Expansion(spellings=("cavity",)),
    }
    reader = Highlighter(compile_question(tree, known=known))
    parts = reader.mark(row("Injection into cavity 3"), None).highlights
    assert parts == ["<b>Injection</b> into <b>cavity</b> 3"]


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert('beam')</script>",
        '<img src=x onerror="beam()">',
        "</b></mark> beam <b>",
        "javascript:beam",
    ],
)
def test_what_strangers_wrote_stays_text(evil: str) -> None:
    (part,) = told(f"{evil} tripped", "beam tripped")
    left = _TAG.sub("", part)
    assert not set(left) & set("<>\"'")
    assert html.unescape(left) == f"{evil} tripped"


def test_a_title_is_marked_where_the_text_has_nothing_of_the_question() -> None:
    assert told("all quiet", "trip", title="RF trip") == ["RF <b>trip</b>"]
    assert told("a trip", "trip", title="RF trip") == ["a <b>trip</b>"]
    assert told("all quiet", "beam") == []


def test_a_long_text_shows_the_parts_that_answer_most_in_their_order() -> None:
    filler = "and nothing else was seen on this shift. " * 20
    text = f"A cavity. {filler}The cavity tripped. {filler}It tripped. {filler}"
    parts = told(text, "cavity tripped")
    assert len(parts) <= MOST_PARTS
    assert any("<b>cavity</b> <b>tripped</b>" in part for part in parts)
    plain = [html.unescape(_TAG.sub("", part)) for part in parts]
    assert [text.index(one) for one in plain] == sorted(map(text.index, plain))


@pytest.mark.requirement("O02")
def test_of_more_places_than_are_shown_three_parts_are_left() -> None:
    filler = "Nothing else was seen on this shift, and nobody came. " * 10
    text = "".join(f"A klystron{n} tripped. {filler}" for n in range(5))
    sentence = "Nothing else was seen on this shift, and nobody came."
    assert told(text, "tripped") == [
        f"A klystron0 <b>tripped</b>. {sentence}",
        f"{sentence} A klystron1 <b>tripped</b>. {sentence}",
        f"{sentence} A klystron2 <b>tripped</b>. {sentence}",
    ]


def test_a_part_is_whole_sentences_where_they_are_short() -> None:
    filler = "Nothing else was seen on this shift, and nobody came. " * 10
    text = f"{filler}The cavity tripped. {filler}"
    sentence = "Nothing else was seen on this shift, and nobody came."
    assert told(text, "cavity") == [f"{sentence} The <b>cavity</b> tripped. {sentence}"]


@given(st.text(max_size=400), st.text(max_size=30), st.integers(0, 3))
def test_without_its_tags_a_highlight_is_a_part_of_the_text(text, query, repeats):
    whole = f"{text} {query} " * (repeats + 1)
    for part in told(whole, query):
        plain = html.unescape(_TAG.sub("", part))
        assert "<b>" in part
        assert plain in whole
        assert len(plain) <= max(WHOLE_CHARACTERS, PART_CHARACTERS)


def test_a_phrase_that_goes_on_over_many_lines_is_cut_to_a_part() -> None:
    (part,) = told(f"beam{chr(10) * 90_000}trip", '"beam trip"')
    assert part.startswith("<b>beam")
    assert len(_TAG.sub("", part)) <= PART_CHARACTERS


def test_a_glossary_form_is_marked_as_the_term_is() -> None:
    facility = Facility(glossary=(("MPS", "machine protection system"),))
    tree = grammar.parse("mps").tree
    reader = Highlighter(compile_question(tree, facility), facility)
    (part,) = reader.mark(row("The machine protection system fired"), None).highlights
    assert part == "The <b>machine protection system</b> fired"


def test_of_a_page_that_takes_too_long_passages_alone_are_marked(monkeypatch) -> None:
    monkeypatch.setattr(highlights, "SECONDS_A_PAGE", -1.0)
    assert told("a trip", "trip") == ["a <b>trip</b>"]
    far = "a trip. " + "and so on. " * 500 + "another trip"
    (part,) = told(far, "trip")
    assert "a <b>trip</b>. and so on" in part


def test_a_passage_is_the_same_where_its_page_took_too_long(monkeypatch) -> None:
    text = "nothing here. " * 500 + "the klystron trips. " + "and so on. " * 500
    reader = Highlighter(compile_question(grammar.parse("Klystron trip -nothing").tree))
    in_time = reader.mark(row(text), None)
    monkeypatch.setattr(highlights, "SECONDS_A_PAGE", -1.0)
    reader = Highlighter(compile_question(grammar.parse("Klystron trip -nothing").tree))
    late = reader.mark(row(text), None)
    assert "klystron trips" in in_time.content
    assert late == in_time


def test_what_stands_behind_all_that_is_analysed_is_shown_and_marked(monkeypatch):
    # A slow machine takes longer for a text like this than a page may take.
    monkeypatch.setattr(highlights, "SECONDS_A_PAGE", 60.0)
    text = "nothing here. " * 10_000 + "the klystrons tripped. " + "so on. " * 500
    reader = Highlighter(compile_question(grammar.parse("Klystron trip").tree))
    found = reader.mark(row(text), None)
    assert "klystrons tripped" in found.content
    assert any("<b>klystrons</b> <b>tripped</b>" in one for one in found.highlights)


def test_a_passage_is_the_chunk_that_a_branch_named() -> None:
    assert passage("0123456789abcdefghij", [], (10, 14)) == (10, 14)


def test_a_passage_of_a_long_text_holds_the_words_that_were_asked_for() -> None:
    text = "nothing here. " * 500 + "the klystrons tripped. " + "and so on. " * 500
    reader = Highlighter(compile_question(grammar.parse("Klystron trip").tree))
    found = reader.mark(row(text), None).content
    assert "klystrons tripped" in found
    assert len(found) <= PASSAGE_CHARACTERS


def test_a_span_that_does_not_fit_the_text_is_not_trusted() -> None:
    assert passage("short", [], (3, 99)) == (0, 5)
