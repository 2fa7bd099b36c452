"""What a sentence claims besides its words: sizes, days, directions and denials."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from shared.text.reading.quantities import Quantity, find_quantities

_DENIED = re.compile(
    r"(?i)\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|unable"
    r"|failed\s+to|kein\w{0,2}|nicht|nichts|nie|niemals|niemand|ohne|weder)\b"
    r"|n['\u2019]t\b"
)
# These are words of other kinds elsewhere: `mai`, `sin`, `non-linear`.
_DENIED_IN = {
    "fr": re.compile(r"(?i)\b(?:pas|jamais|aucune?|rien|sans)\b"),
    "it": re.compile(r"(?i)\b(?:non|mai|nessun\w?|niente|senza)\b"),
    "es": re.compile(
        r"(?i)\b(?:nunca|jam\u00e1s|ning\u00fan|ninguna|nada|nadie|sin)\b"
    ),
}
# Days and months of English and German by their number. `May` and `march` are words of
# other kinds as well, unless something stands before them that dates.
_DAY = re.compile(
    r"(?i)\b(?:(mondays?|montags?)|(tuesdays?|dienstags?)|(wednesdays?|mittwochs?)"
    r"|(thursdays?|donnerstags?)|(fridays?|freitags?)|(saturdays?|samstags?)"
    r"|(sundays?|sonntags?))\b"
)
_MONTH = re.compile(
    r"\b(?:(January|Januar)|(February|Februar)|((?<=\d )March|(?<=in )March|M\u00e4rz)"
    r"|(April)|((?<=\d )May|(?<=in )May|Mai)|(June|Juni)|(July|Juli)|(August)"
    r"|(September)|(October|Oktober)|(November)|(December|Dezember))\b"
)
# What is one of these is not the other.
_OPPOSITES = tuple(
    (re.compile(rf"(?i)\b(?:{one})\b"), re.compile(rf"(?i)\b(?:{other})\b"))
    for one, other in (
        (r"open\w*", r"clos\w+|shut"),
        (r"start\w*|restart\w*", r"stop\w*"),
        (r"increas\w+|rais\w+|rose|risen", r"decreas\w+|lower\w*|fell|fallen|dropp\w+"),
        (r"enabl\w+", r"disabl\w+"),
        (r"insert\w+", r"retract\w+|remov\w+"),
        (r"connect\w+", r"disconnect\w+"),
        (r"(?:switch|turn)\w* on", r"(?:switch|turn)\w* off"),
        (r"ge\u00f6ffnet|offen|\u00f6ffnet\w*", r"geschlossen|schlie\u00df\w+|schloss"),
        (r"gestiegen|stieg|erh\u00f6ht\w*", r"gesunken|sank|gefallen|gesenkt"),
        (r"eingeschaltet", r"ausgeschaltet|abgeschaltet"),
    )
)


def count_denials(text: str, language: str) -> int:
    """Return how often a text denies something, in English, German or its language."""
    own = _DENIED_IN.get(language)
    return len(_DENIED.findall(text)) + len(own.findall(text) if own else ())


def is_other_size(sentence: str, texts: Sequence[str], language: str) -> bool:
    """Tell whether a number has another unit or sign in a sentence than in texts.

    A number that stands there without a unit may have been given one.
    """
    told = [one for text in texts for one in _sizes(text, language)]
    return any(
        any(number == digits for digits, _ in told)
        and not any(
            other.dimension == one.dimension
            and math.isclose(other.value, one.value, rel_tol=1e-9)
            for _, other in told
        )
        for number, one in _sizes(sentence, language)
    )


def is_other_day(
    sentence: str, texts: Sequence[str], moments: Sequence[datetime]
) -> bool:
    """Tell whether a sentence names a weekday or month of neither texts nor times."""
    days = {f"day {moment.isoweekday()}" for moment in moments}
    months = {f"month {moment.month}" for moment in moments}
    return not {*_days(sentence)} <= days.union(months, *map(_days, texts))


def is_opposite(sentence: str, texts: Sequence[str]) -> bool:
    """Tell whether a sentence has the opposite of a word of texts, not that word."""
    whole = "\n".join(texts)
    return any(
        said.search(sentence)
        and not other.search(sentence)
        and other.search(whole)
        and not said.search(whole)
        for pair in _OPPOSITES
        for said, other in (pair, pair[::-1])
    )


def _sizes(text: str, language: str) -> Iterator[tuple[str, Quantity]]:
    """Yield the quantities of a text, each with its digits as they are written."""
    for one in find_quantities(text, language):
        yield re.sub(r"[^\d.,]", "", text[one.start : one.end]), one


def _days(text: str) -> Iterator[str]:
    for kind, names in (("day", _DAY), ("month", _MONTH)):
        for found in names.finditer(text):
            yield f"{kind} {found.lastindex}"
