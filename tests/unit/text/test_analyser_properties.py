"""What holds of any text: its places, what engines take, and that it finds itself."""

import re
from collections.abc import Iterator
from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from shared.search.query.compiled.conditions import Clause
from shared.text.analysis import analyser, tokens
from shared.text.analysis.tokens import TokenLine, make_reader, scan
from shared.text.words.character_runs import Token
from tests.support.asked import clauses

LANGUAGES = ("en", "de", "fr", "it", "es", "ja", "unknown")
# Pieces of which names, times and words are made, and what stands between them.
PARTS = st.sampled_from(
    [
        *("HCM", "hcm", "BL", "SR:C01", "LOTO", "03", "3", "5.0.2", "2024", "12:30"),
        *("0312", "500", "mA", "2e-7", "Torr", "%", "Kühlwasser", "Kuehl", "l'aimant"),
        *("pump\u2019s", "'s", "0730", "1430", "hrs", "SR", "\u2019s", "HCM03's"),
        *("SR:C01-RF:Trip's", "真空", "漏れ", "ｶﾞ", "ﾞ", "펌프", "e\u0301", "ß"),
        *("\u200b", "😀", "RF", "on"),
    ]
)
BETWEEN = st.sampled_from(
    ["", " ", " ", " ", "-", "_", ":", ".", "\n", ", ", "\u00a0", "/"]
)
WRITTEN = st.lists(st.tuples(PARTS, BETWEEN), max_size=12).map(
    lambda pairs: "".join(part + between for part, between in pairs)
)
TEXTS = st.one_of(st.text(max_size=60), WRITTEN)
LANGUAGE = st.sampled_from(LANGUAGES)


@given(TEXTS, LANGUAGE)
def test_places_are_of_the_original_text_in_order_and_read_alike_alone(text, language):
    place = 0
    for token in scan(text, language):
        marked = text[token.start : token.end]
        assert marked
        # Pairs of characters overlap; nothing else does.
        assert token.start >= place or len(marked) == 2
        place = max(place, token.start)
        alone = [one.term for one in scan(marked, language)]
        assert token.term in alone or token.loose or token.kind is not None


@given(WRITTEN, LANGUAGE, st.integers(1, 12))
def test_a_line_read_in_stretches_comes_to_the_same(text, language, size) -> None:
    whole = [*scan(text, language)]
    with mock.patch.object(tokens, "_STRETCH_CHARS", size):
        assert [*scan(text, language)] == whole


def test_a_line_of_megabytes_is_held_in_parts_and_left_once_it_is_cut() -> None:
    words = (f"w{number:x}" for number in range(10**6))
    read = 0

    def lines() -> Iterator[TokenLine]:
        nonlocal read
        for line in make_reader("en").lines(" ".join(words)):
            assert sum(map(len, line.chunks)) < 20_000
            read += len(line.chunks)
            yield line

    analysis = analyser._built([lines()], is_small=False, plain=False)

    assert analysis.cut
    assert 16_000 < read < 200_000


def test_the_words_of_a_text_that_is_cut_are_those_that_are_found_in_it() -> None:
    text = " ".join(f"w{number:x}" for number in range(160_000))
    sections = analyser.Sections("", text, [], [])

    found = analyser.analyse(sections, "en")

    assert found.cut
    assert analyser.words_of(sections, "en") == found.words
    assert len(found.words) < 160_000


@given(TEXTS, LANGUAGE)
def test_both_engines_are_given_the_same_terms(text: str, language: str) -> None:
    analysis = analyser.analyse(
        analyser.Sections("Title", text, ["tag one"], ["J. Müller"]), language
    )
    lexemes = re.findall(r"'([^']*)'(?::[\d,]+)?(?: |$)", analysis.tsvector_literal)
    terms = {one for one in lexemes if not one.startswith(analyser.IDENT_PREFIX)}
    assert terms == set(analysis.stream.split())
    idents = sorted(
        one.removeprefix(analyser.IDENT_PREFIX) for one in set(lexemes) - terms
    )
    assert idents == analysis.idents
    assert len(lexemes) == len(set(lexemes))


def meets(clause: Clause, tokens: list[Token]) -> bool:
    terms = [token.term for token in tokens]
    idents = {ident for token in tokens for ident in token.idents}
    return not idents.isdisjoint(clause.idents) or any(
        tuple(terms[at : at + len(phrase)]) == phrase
        for phrase in (clause.lexemes, *clause.also)
        for at in range(len(terms))
    )


@given(TEXTS, LANGUAGE)
def test_a_text_is_found_by_itself_in_quotes(text: str, language: str) -> None:
    quoted = re.sub('["\u201c\u201d]', " ", text)
    tokens = list(scan(quoted, language))
    for clause in clauses(f'"{quoted}"', language):
        assert meets(clause, tokens)


@given(TEXTS, LANGUAGE)
@example("A00㐀", "en")
def test_a_text_is_found_by_each_of_its_words(text: str, language: str) -> None:
    tokens = list(scan(text, language))
    for token in tokens:
        word = text[token.start : token.end]
        asked = clauses(f'"{word}"', language)
        assert all(meets(clause, tokens) for clause in asked)
