"""From a written word to its term: folded first, then stemmed by its language."""

from __future__ import annotations

import functools
import threading
import unicodedata
from typing import Any

import snowballstemmer

MAX_TOKEN_CHARS = 128
# No word is longer; a stemmer's time grows with what it is given.
_MAX_STEMMED_CHARS = 40
_STEMMERS = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "it": "italian",
    "es": "spanish",
}
STEMMED_LANGUAGES = tuple(sorted(_STEMMERS))

# A stemmer keeps the word it works on, so threads must not share one.
_of_thread = threading.local()


def fold(word: str) -> str:
    """Return the word in lower case without accents and marks; may be empty.

    Folding comes before stemming, so that who types without accents finds the same.
    """
    if word.isascii():
        folded = word.lower()
        if not folded.isalnum():
            folded = "".join(c for c in folded if c.isalnum() or c == "'")
    else:
        plain = word.replace("\u2019", "'").replace("\u02bc", "'")
        # Folding case may compose, and decomposing may bring capitals.
        apart = unicodedata.normalize("NFKD", plain).casefold()
        apart = unicodedata.normalize("NFKD", apart)
        folded = "".join(c for c in apart if c.isalnum() or c == "'")
    return folded[:MAX_TOKEN_CHARS]


@functools.lru_cache(maxsize=65_536)
def stem(folded: str, language: str) -> str:
    """Return the stem of a folded word; languages without a stemmer keep the word."""
    word = folded.removesuffix("'s").replace("'", "")
    name = _STEMMERS.get(language)
    if name is None or len(word) > _MAX_STEMMED_CHARS or not word.isalpha():
        return word
    return str(_stemmer(name).stemWord(word)) or word


def _stemmer(name: str) -> Any:
    known: dict[str, Any] = _of_thread.__dict__.setdefault("stemmers", {})
    if name not in known:
        known[name] = snowballstemmer.stemmer(name)
    return known[name]
