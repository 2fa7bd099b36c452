"""How bad a text says that it is, where it begins with that: `FATAL: vacuum interlock`.

Words of a level are words of the trade as well: only one that stands apart from what
follows says a level, and what is cleared, off or a test says none.
"""

import re
from typing import NamedTuple

# The word that is shown, and whatever else stands for it.
_WORDS = {
    "fatal": ("fatal",),
    "critical": ("critical", "crit", "kritisch"),
    "emergency": ("emergency", "notfall"),
    "error": ("error", "fehler"),
    "alarm": ("alarm",),
    "warning": ("warning", "warn", "warnung"),
    "info": ("info",),
}
_LEVELS = {word: level for level, words in _WORDS.items() for word in words}
_WORD = rf"(?P<word>{'|'.join(_LEVELS)})"
_SAID = re.compile(
    # `[FATAL] vacuum`, `*** ALARM: vacuum`, `Warning: vacuum`.
    rf"[*#=!\s]{{0,20}}(?:(?P<open>[\[(<]){_WORD}[\])>]"
    rf"|{_WORD.replace('word', 'loud')}"
    r"(?:\s?[:!*](?![:/\w])|\s[-\u2013\u2014]{1,2}\s|[ \t]*(?:\n|\Z)))",
    re.IGNORECASE,
)
_COLON = re.compile(r"\s?:")
_NONE = re.compile(
    r"[\s:!*\-\u2013\u2014]*(?:is |was |were |are |all |now |wieder |alle )?"
    r"(?:clear(?:ed|s)?|reset|acknowledged|gone|off|over|none|no|test(?:s|ed|ing)?"
    r"|aus|quittiert|behoben|keine?)\b",
    re.IGNORECASE,
)


class Severity(NamedTuple):
    """A level, what it is called besides, and where it stands."""

    level: str
    others: tuple[str, ...]
    start: int
    end: int


def find_severity(text: str) -> Severity | None:
    """Return the severity that a text begins with, or None."""
    said = _SAID.match(text)
    if said is None or _NONE.match(text, said.end()):
        return None
    group = "word" if said["open"] else "loud"
    word, (start, end) = said[group], said.span(group)
    # In small letters a word without a colon goes on: `alarm - again`.
    if group == "loud" and not (word.isupper() or _COLON.match(text, end)):
        return None
    level = _LEVELS[word.lower()]
    others = tuple(one for one in _WORDS[level] if one != level)
    return Severity(level, others, start, end)
