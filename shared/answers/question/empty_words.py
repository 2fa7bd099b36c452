"""Words that join others or are in every text: they say nothing of what is meant."""

from shared.text.words import function_words
from shared.vocabulary import common_words

# The language of a question is a guess, and such words are few.
_LANGUAGES = ("en", "de")


def is_empty(word: str, language: str = "") -> bool:
    """Tell whether a folded word says nothing of what a question is about.

    `language`: that of its text, where it is known.
    """
    return any(
        function_words.joins(word, one) or common_words.is_common(word, one)
        for one in (*_LANGUAGES, language)
    )
