"""Words of each language, however they are typed, and what their compounds hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.analysis.analyser import Sections, analyse
from shared.text.analysis.explain_analysis import explain
from shared.text.analysis.tokens import scan
from shared.text.words import compounds
from shared.text.words.compounds import PARTS
from shared.text.words.folding import fold_surface, spell_out_umlauts
from tests.support.asked import clauses


def term(word: str, language: str) -> str:
    return next(iter(scan(word, language))).term


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", ["Kühlwasser", "Kuehlwasser", "kuhlwasser", "KÜHLWASSER"]),
        ("de", ["Störung", "Stoerungen", "storung"]),
        ("de", ["Größe", "Groesse", "grosse"]),
        ("fr", ["défauts", "defaut", "DÉFAUT"]),
        ("fr", ["œil", "oeil"]),
        ("fr", ["arrêté", "arrêtée", "arretees", "arrete", "arrêt"]),
        ("it", ["perdite", "perdita"]),
        ("es", ["válvulas", "valvula"]),
        ("en", ["cavities", "cavity", "cavity\u2019s"]),
    ],
)
def test_a_word_is_one_however_it_is_bent_and_typed(language, words) -> None:
    assert len({term(word, language) for word in words}) == 1


@pytest.mark.parametrize("word", ["neue", "Steuer", "Quelle", "Feuer"])
def test_what_only_looks_spelt_out_stays(word: str) -> None:
    assert fold_surface(word, "de") == word.lower()


def test_outside_german_an_umlaut_is_found_by_both_spellings() -> None:
    assert spell_out_umlauts("Müller") == spell_out_umlauts("Mu\u0308ller") == "mueller"
    assert "mueller" in analyse(Sections(authors=["J. Müller"]), "en").idents
    # No term has a quote in it.
    assert "mueller" in analyse(Sections(text="Müller\u2019s pump"), "en").idents
    (clause,) = clauses("Müller", "en")
    assert clause.also == (("mueller",),)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("kuhlwasserdurchfluss", {"kuhlwasser", "durchfluss", "wasserdurchfluss"}),
        ("kuhlwasserausfalle", {"kuhlwasser", "ausfalle"}),
        ("strahlungsmessung", {"strahlung", "messung"}),
        ("maschinenraum", {"maschine", "raum"}),
        ("wasserxyzq", {"wasser", "xyzq"}),
        ("wasser", set[str]()),
        ("magnetisch", set[str]()),
    ],
)
def test_a_compound_is_taken_apart(word: str, parts: set[str]) -> None:
    found = set(compounds.parts_of(word, PARTS))
    assert parts <= found
    assert word not in found
    assert bool(found) == bool(parts)


@given(st.text(alphabet="abehiklmnorstuw", max_size=70))
def test_parts_lie_side_by_side_within_the_word(word: str) -> None:
    spans = compounds.split(word, PARTS)
    place = 0
    for start, end in spans:
        assert place <= start < end <= len(word)
        place = end
    assert len(spans) != 1


def test_a_compound_in_a_question_is_found_written_apart() -> None:
    (clause,) = clauses("Vakuumpumpe", "de")
    assert clause.also == ((term("Vakuum", "de"), term("Pumpe", "de")),)
    assert "vakuum" not in clause.idents


def test_the_reasons_of_a_term_are_told() -> None:
    why = {one.written: " ".join(one.why) for one in explain("the HCM03 trips", "en")}
    assert "joins" in why["the"]
    assert "device" in why["HCM03"]
    assert "stem" in why["trips"]
    (german,) = explain("Kühlwasserdurchfluss", "de")
    assert "compound" in " ".join(german.why)
    assert "accents" in " ".join(german.why)
    loose = list(explain("hcm 03", "en"))
    assert "hcm3" in " ".join(loose[1].why)
