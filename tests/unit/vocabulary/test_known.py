"""What a process remembers of the vocabulary: bounded, and only of one walk."""

from hypothesis import given
from hypothesis import strategies as st

from shared.text.analysis.analyser import (
    Sections,
    analyse,
    plain_split,
    plain_words,
    words_of,
)
from shared.vocabulary.learn_words import SeenWords, language_of

PLACE = ("default", "en")


def test_what_is_committed_is_known_and_the_rest_is_told_in_order():
    known = SeenWords()
    known.add(1, PLACE, ["beam"])

    assert known.unknown(1, PLACE, {"trip", "beam", "cavity"}) == ["cavity", "trip"]
    assert known.unknown(1, ("other", "en"), {"beam"}) == ["beam"]
    assert known.unknown(1, ("default", "de"), {"beam"}) == ["beam"]


def test_a_new_walk_makes_everything_unknown():
    known = SeenWords()
    known.add(1, PLACE, ["beam"])

    assert known.unknown(2, PLACE, {"beam"}) == ["beam"]
    known.add(2, PLACE, ["trip"])
    assert known.unknown(2, PLACE, {"beam", "trip"}) == ["beam"]


def test_what_an_older_walk_saw_is_not_remembered():
    known = SeenWords()
    known.add(2, PLACE, ["beam"])
    known.add(1, PLACE, ["trip"])

    assert known.unknown(2, PLACE, {"beam", "trip"}) == ["trip"]
    assert known.unknown(1, PLACE, {"beam"}) == ["beam"]


def test_of_too_much_what_is_met_again_stays():
    known = SeenWords(most=10)
    for number in range(100):
        known.add(1, PLACE, [f"word{number}"])
        assert known.unknown(1, PLACE, {"beam"}) == ([] if number else ["beam"])
        known.add(1, PLACE, ["beam"])

    assert len(known.unknown(1, PLACE, {f"word{n}" for n in range(100)})) >= 75


def test_languages_without_a_stemmer_are_one():
    assert [language_of(one) for one in ("en", "de", "nl", "unknown")] == [
        *("en", "de"),
        *("*", "*"),
    ]


def test_words_are_what_is_written_and_not_names_numbers_or_pairs_of_signs():
    text = "HCM03 tripped at 12:30, 3.5 mA; it's café 真空 SR:C01-RF:Trip on 2024-05-01"
    analysis = analyse(Sections(text=text, tags=["Beam-Loss"]), "en")

    assert analysis.words == {
        "tripped": "trip",
        "at": "at",
        "ma": "ma",
        "it's": "it",
        "cafe": "cafe",
        "on": "on",
        "beam": "beam",
        "loss": "loss",
    }


@given(st.text(max_size=80), st.sampled_from(["en", "de", "nl"]))
def test_words_alone_are_those_of_the_whole_analysis(text: str, language: str):
    sections = Sections("Title", text, ["one tag"], ["J. Müller"])

    assert words_of(sections, language) == analyse(sections, language).words
    assert plain_words(sections) == plain_split(sections).words


@given(st.text("aäbeué ß'-.:09真\n", max_size=60), st.sampled_from(["en", "de"]))
def test_every_stem_is_a_term_of_the_stream(text: str, language: str):
    analysis = analyse(Sections(text=text), language)

    assert set(analysis.words.values()) <= set(analysis.stream.split())
