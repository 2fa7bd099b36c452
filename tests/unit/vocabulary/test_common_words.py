"""The language of a question, by its commonest words."""

import pytest

from shared.vocabulary.common_words import find_languages


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("Quelle est la cause de l'arrêt de la pompe ?", {"fr"}),
        ("Warum klemmt der Durchflusswächter FS-27?", {"de"}),
        ("¿Por qué falló la bomba de agua?", {"es"}),
        ("Perché la pompa non è partita?", {"it"}),
        ("Why did the die of the war cabinet trip?", {"en"}),
        # Either may be meant.
        ("fuite de la pompe", {"es", "fr"}),
        # One word tells nothing, nor do names and single letters.
        ("la pompe", set()),
        ("vacuum pump tripped", set()),
        ("pump LA EL DE", set()),
        ("valve E or D", set()),
        ("", set()),
    ],
)
def test_the_language_is_that_of_most_of_the_common_words(text, languages) -> None:
    assert find_languages(text) == languages
