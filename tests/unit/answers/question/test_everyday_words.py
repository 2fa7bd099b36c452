"""Everyday words of operation say the same in five languages."""

import pytest

from shared.answers.question.question import read_part
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN


def says(question: str, word: str, sentence: str, language: str) -> bool:
    asked = read_part(question, question, PLAIN)
    terms = {
        term for one in scan(sentence, language) for term in (one.term, *one.idents)
    }
    return asked.is_said(word, language, terms)


@pytest.mark.parametrize(
    ("question", "word", "sentence", "language"),
    [
        ("Warum fiel die Kühlung aus?", "Kühlung", "No cooling since ten.", "en"),
        ("Wann wurde die Maus gefangen?", "gefangen", "We caught it at noon.", "en"),
        ("Warum ist das Ventil undicht?", "undicht", "The valve leaks again.", "en"),
        ("Pourquoi la vanne est-elle fermée ?", "vanne", "Both valves shut.", "en"),
        ("Pourquoi la vanne est-elle fermée ?", "vanne", "Ventil V3 zu.", "de"),
        ("Combien de temps a duré la panne ?", "panne", "Es war ein Ausfall.", "de"),
        ("Perché la pompa si è fermata?", "pompa", "The pump stopped.", "en"),
        ("Perché la camera è calda?", "camera", "Die Kammer ist warm.", "de"),
        ("¿Por qué se disparó la bomba?", "bomba", "The pump tripped.", "en"),
        ("¿Por qué se disparó la bomba?", "disparó", "The pump tripped.", "en"),
        ("¿Por qué falló el imán?", "imán", "Il magnete è guasto.", "it"),
        ("Why did the chiller leak?", "leak", "Fuga en la enfriadora.", "es"),
        ("Why was the telescope dome closed?", "dome", "Kuppel zu.", "de"),
        ("Why was the crane jammed?", "crane", "Kran klemmt.", "de"),
        ("When was the fuse replaced?", "fuse", "Fusible remplacé.", "fr"),
        ("When was the filter replaced?", "replaced", "Filter getauscht.", "de"),
        ("What is the temperature of the oven?", "oven", "Ofen bei 90 Grad.", "de"),
        ("Wie viele tote Enten waren es?", "tote", "Eleven dead ducks.", "en"),
        ("Why was there smoke in the hall?", "smoke", "Fumo dal quadro.", "it"),
    ],
)
def test_a_word_is_said_in_another_language(question, word, sentence, language) -> None:
    assert says(question, word, sentence, language)


@pytest.mark.parametrize(
    ("question", "word", "sentence", "language"),
    [
        # What it means in another language is not asked for.
        ("Why was the camera of the hall moved?", "camera", "Kammer offen.", "de"),
        ("Why did the pump leak?", "pump", "Das Ventil ist undicht.", "de"),
        # In its own language a word is compared as it stands.
        ("Why did the motor stop in the hall?", "motor", "The engine stopped.", "en"),
        # A name is called so in every language.
        ("Why was the beam lost at BL Oven?", "Oven", "Ofen bei 90 Grad.", "de"),
    ],
)
def test_another_meaning_is_none(question, word, sentence, language) -> None:
    assert not says(question, word, sentence, language)
