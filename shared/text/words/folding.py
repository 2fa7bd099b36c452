"""From a written word to its term: folded first, then stemmed by its language."""

import functools
import re
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
ENGLISH, GERMAN, FRENCH = "en", "de", "fr"
_MIN_FRENCH_CHARS = 4

# Letters that are no accent upon another, as who lacks the key writes them.
_LETTERS = str.maketrans(
    {
        "œ": "oe",
        "æ": "ae",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\u0131": "i",
    }
)
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'"})
# `ue` for ü, but not in `neue`, `steuern`, `Quelle`.
_SPELT_OUT = re.compile(r"(?<![aeiouyq])ue|ae|oe")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_HAS_UMLAUT = re.compile("[äöü]|[aou]\u0308", re.IGNORECASE)

# English verbs and nouns whose forms no stemmer brings together, and what is spelt in
# two ways. Left out is what is mostly another word where things are operated: `found` a
# base, `led` a lamp, `left` a side, `saw`, `bit` and `bore`, `ground`, `wound`, `shot`.
_FORMS = """
    became become, began begin, begun begin, bent bend, bled bleed, blew blow,
    blown blow, broke break, broken break, brought bring, built build, burnt burn,
    caught catch, crept creep, drawn draw, drew draw, driven drive, drove drive,
    dug dig, eaten eat, ate eat, fallen fall, fell fall, fed feed, forgot forget,
    forgotten forget, froze freeze, frozen freeze, gave give, given give, grew grow,
    grown grow, heard hear, held hold, hid hide, hidden hide, hung hang, kept keep,
    leant lean, learnt learn, lost lose, molten melt, overshot overshoot,
    proven prove, ran run, rebuilt rebuild, retook retake, risen rise, rose rise,
    sank sink, sent send, shaken shake, shook shake, shown show, shrank shrink,
    shrunk shrink, slid slide, smelt smell, spilt spill, spun spin, stole steal,
    stolen steal, struck strike, stuck stick, sunk sink, swept sweep, swollen swell,
    swung swing, taken take, took take, threw throw, thrown throw, told tell, tore tear,
    torn tear, undershot undershoot, understood understand, withdrawn withdraw,
    withdrew withdraw, woken wake, woke wake, wore wear, worn wear, written write,
    wrote write,
    analysis analyse, antennae antenna, axes axis, buses bus, children child,
    crises crisis, criteria criterion, diagnosis diagnose, feet foot, foci focus,
    formulae formula, gases gas, geese goose, halves half, indices index, knives knife,
    lenses lens, matrices matrix, maxima maximum, men man, mice mouse, minima minimum,
    momenta momentum, nuclei nucleus, phenomena phenomenon, quanta quantum,
    radii radius, shelves shelf, spectra spectrum, teeth tooth, tori torus,
    vacua vacuum, vertices vertex, women woman,
    acknowledgement acknowledgment, aluminium aluminum, artefact artifact, biassed bias,
    catalogued catalog, centred center, defence defense, dialled dial, enquiry inquiry,
    focussed focus, focussing focus, fuelled fuel, fuelling fuel, gage gauge, grey gray,
    judgement judgment, licence license, manoeuvre maneuver, mould mold, moulded mold,
    practise practice, practised practice, programme program, programmes program,
    sceptical skeptical, sulphur sulfur, sulphuric sulfuric
"""
# By the form: the word that it is a form of.
_WORDS = dict[str, str](pair.split() for pair in _FORMS.split(","))
# What Britain and America spell in two ways, as the one of them has it: `colour`,
# `fibres`, `analogue`, `ionisation`, `analyze`. `promise` becomes a term like no other.
_SPELLINGS = (
    (r"(arm|behavi|col|endeav|fav|flav|harb|hon|lab|neighb|od|vap)our", r"\1or"),
    (r"(calib|cent|fib|lit|met|theat)re(?=s?\Z)", r"\1er"),
    (r"(anal|catal|dial)ogue(?=s?\Z)", r"\1og"),
    (r"(\w\w[dglmnrt])is(?=e|ing|ation|able)", r"\1iz"),
    (r"lyz(?=e|ing)", "lys"),
)
_SPELT = [(re.compile(british), american) for british, american in _SPELLINGS]

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
        plain = word.translate(_APOSTROPHES)
        # Folding case may compose, and decomposing may bring capitals.
        apart = unicodedata.normalize("NFKD", plain).casefold()
        apart = unicodedata.normalize("NFKD", apart).translate(_LETTERS)
        folded = "".join(c for c in apart if c.isalnum() or c == "'")
    return folded[:MAX_TOKEN_CHARS]


def fold_surface(word: str, language: str) -> str:
    """Return a word as a language compares it whole: folded, not stemmed.

    In German `Kuehlwasser`, `Kühlwasser` and `Kuhlwasser` are one word.
    """
    folded = fold(word)
    return _SPELT_OUT.sub(_first, folded) if language == GERMAN else folded


def spell_out_umlauts(word: str) -> str | None:
    """Return `mueller` for `Müller`, and None for a word without an umlaut."""
    if word.isascii() or not _HAS_UMLAUT.search(word):
        return None
    composed = unicodedata.normalize("NFC", word).lower()
    return fold(composed.translate(_UMLAUTS)).removesuffix("'s").replace("'", "")


@functools.lru_cache(maxsize=65_536)
def stem(folded: str, language: str) -> str:
    """Return the stem of a folded word; languages without a stemmer keep the word."""
    word = folded.removesuffix("'s").replace("'", "")
    name = _STEMMERS.get(language)
    if name is None or len(word) > _MAX_STEMMED_CHARS or not word.isalpha():
        return word
    if language == ENGLISH:
        word = _english_word(word)
    stemmed = str(_stemmer(name).stemWord(word)) or word
    if language == FRENCH and len(stemmed) > _MIN_FRENCH_CHARS:
        # Without its accent the é of `arrêtée` is an e like any other.
        stemmed = stemmed.rstrip("e") or stemmed
    return stemmed


def _english_word(word: str) -> str:
    """Return the word that one is a form of, or is spelt as elsewhere."""
    word = _WORDS.get(word, word)
    for spelt, other in _SPELT:
        word = spelt.sub(other, word)
    return word


def _first(match: re.Match[str]) -> str:
    return match[0][0]


def _stemmer(name: str) -> Any:
    known: dict[str, Any] = _of_thread.__dict__.setdefault("stemmers", {})
    if name not in known:
        known[name] = snowballstemmer.stemmer(name)
    return known[name]
