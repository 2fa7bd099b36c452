"""How often a text denies something, in whatever of the five languages it is."""

from __future__ import annotations

import re
from functools import lru_cache

_FEW_WORDS = r"(?: [^\W\d_]+){1,3}?"
# What denies in two words counts once; `not only` denies nothing where more is told,
# and behind the `no` of a thing stands its number.
_DENIED = (
    r"neither\b[^.;]*?\bnor|weder\b[^.;]*?\bnoch"
    r"|(?P<more>(?:not|nicht|non|no|pas) (?:only|just|nur|seulement|solo|s\u00f3lo))\b"
    r"(?=.*\b(?:but|also|too|sondern|auch|mais|aussi|ma|anche|sino|tambi\u00e9n)\b)"
    rf"|no{_FEW_WORDS} (?:nunca|nadie|nada|ning\u00fan\w{{0,2}})"
    rf"|non{_FEW_WORDS} (?:mai|nessun\w?|niente|nulla|pi\u00f9)"
    rf"|(?:ne|n['\u2019][^\W\d_]+){_FEW_WORDS} (?:plus|personne)"
    r"|no(?!\.? ?\d)|not|never|none|nobody|nothing|nor|without|cannot|unable|impossible"
    r"|failed to|kein\w{0,2}|nichts?|nie|niemals|niemand|ohne|unm\u00f6glich"
    r"|(?-i:[Pp]as)|jamais|aucune?|rien|sans|non(?!-)|nessun\w?|niente|nulla|senza"
    r"|nunca|jam\u00e1s|ning\u00fan|ninguna|nada|nadie|(?-i:[Ss]in)(?! ?\(| embargo\b)"
)
_NOT = r"|\w+n['\u2019]t"
_IN_ANY = re.compile(rf"\b(?:{_DENIED}{_NOT})\b", re.IGNORECASE)
# Elsewhere it is a month.
_IN_ITALIAN = re.compile(rf"\b(?:{_DENIED}|mai{_NOT})\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def count_denials(text: str, language: str) -> int:
    """Return how often a text denies something; `language`: that of its source."""
    denied = _IN_ITALIAN if language == "it" else _IN_ANY
    return sum(found["more"] is None for found in denied.finditer(text))
