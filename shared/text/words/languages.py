"""Which language a text is in; too short or unsure, it takes the one expected."""

import functools
import re
from typing import Any

from shared.text.words.character_runs import CJK, HALF_WIDTH
from shared.text.words.folding import STEMMED_LANGUAGES

UNKNOWN = "unknown"
DEFAULT = "en"

# Below it a guess is luck: two words of Italian look like anything.
_MIN_LETTERS = 20
_MIN_PROBABILITY = 0.9
# More of a long text tells nothing new.
_CHARS_READ = 4000
_MAJORITY = 0.5

# A name or a number says nothing of the language around it.
_WORDS = re.compile(r"(?<![\w:.-])[^\W\d_]{2,}(?![\w:-])")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_KANA = re.compile(f"[\u3040-\u30ff{HALF_WIDTH}]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_CJK_CHAR = re.compile(f"[{CJK}]")
# Two letters alone: `und`, `mul` and `zxx` name no language that is read here.
_TAG = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9_-]*)?")
_LETTER = re.compile(r"[^\W\d_]")


def detect(text: str, expected: str | None = None) -> str:
    """Return the language of a text; `unknown` only where no stemmer reads it."""
    start = text[:_CHARS_READ]
    letters = len(_LETTER.findall(start))
    if letters == 0:
        return expected or DEFAULT
    if not start.isascii():
        # A CJK character says as much as several letters.
        if 2 * len(_CJK_CHAR.findall(start)) > letters * _MAJORITY:
            return _of_cjk(start)
        if len(_LATIN.findall(start)) < letters * _MAJORITY:
            return UNKNOWN
    words = " ".join(_WORDS.findall(start))
    if len(words) < _MIN_LETTERS:
        return expected or DEFAULT
    language, probability = _classify(words)
    return language if probability >= _MIN_PROBABILITY else expected or DEFAULT


def find_entry_language(
    title: str, text: str, *, told: str | None, expected: str | None = None
) -> str:
    """Return the language of an entry: as it was told, or else as it reads."""
    return parse_language_tag(told) or detect(f"{title}\n{text}", expected)


def parse_language_tag(tag: str | None) -> str | None:
    """Return the language of a tag such as `de` or `de-CH`; None: it says nothing."""
    match = _TAG.fullmatch((tag or "").strip())
    return None if match is None else match[1].lower()


def load() -> None:
    """Load what tells languages apart; children of a process that did share it."""
    _identifier()


def _of_cjk(text: str) -> str:
    if _KANA.search(text):
        return "ja"
    return "ko" if _HANGUL.search(text) else "zh"


def _classify(words: str) -> tuple[str, float]:
    # Capitals stand for nothing here, and a shouted text is not German.
    language, probability = _identifier().classify(words.lower())
    return str(language), float(probability)


@functools.cache
def _identifier() -> Any:
    # The model takes a moment and some memory; only who detects loads it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(STEMMED_LANGUAGES))
    return identifier
