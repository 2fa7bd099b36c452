"""Tells questions of a state: is the valve repaired, does it still leak.

What was written last tells it, in whatever words: who asks whether something is fixed
is answered by `replaced the O-ring` as well.
"""

from __future__ import annotations

import re

from shared.text.words.folding import fold_surface

_ASKS = re.compile(
    r"\W*(?:is|are|has|have|does|do|ist|sind|hat|haben|funktioniert|l\u00e4uft|geht)\b",
    re.IGNORECASE,
)
_STATES = {
    "en": """
    again already back cured done fine finished fixed mended ok okay online operational
    ready repaired resolved running runs solved still works working yet
    """,
    "de": """
    behoben beseitigt erledigt fertig funktioniert gelöst geht immer läuft noch
    ordnung repariert schon wieder
    """,
}
_CHANGES = {
    "en": """
    cleared exchanged fastened installed recovered reset restarted restored replaced
    swapped
    """,
    "de": """
    ausgetauscht eingebaut ersetzt getauscht gewechselt zurückgesetzt
    """,
}


def _fold(words: dict[str, str]) -> frozenset[str]:
    return frozenset(
        fold_surface(word, language)
        for language, listed in words.items()
        for word in listed.split()
    )


_STATE_WORDS = _fold(_STATES)
_TELLING = _STATE_WORDS | _fold(_CHANGES)
_WORD = re.compile(r"[^\W\d_]+")


def asks_state(question: str) -> bool:
    """Tell whether a question is of how something is now."""
    return bool(_ASKS.match(question))


def is_state_word(word: str, language: str = "en") -> bool:
    """Tell whether a word names a state for which an entry may have other words."""
    return fold_surface(word, language) in _STATE_WORDS


def tells_state(sentence: str, language: str) -> bool:
    """Tell whether a sentence says how something is, or was put right."""
    return any(
        fold_surface(word, language) in _TELLING for word in _WORD.findall(sentence)
    )
