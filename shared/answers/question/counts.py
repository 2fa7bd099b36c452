"""What `how many` counts, and how it is counted: by no number of something else."""

import re
from decimal import Decimal

from shared.answers.question.plain_numbers import NUMBER_WORDS
from shared.text.reading.quantities import convert_quantity
from shared.times.calendar_names import MONTH_OF, SECONDS_OF, SHORT_MONTH_OF

# With those that are numbers in one language alone.
NUMERALS = rf"one|several|few|due(?! to\b)|otto|neuf|{'|'.join(NUMBER_WORDS)}"
# The words of a dimension: its units as one says them. Times are another kind of
# question; shares are written in words, `three quarters`.
UNIT_WORDS = {
    "voltage": r"(?:kilo|milli|micro)?volts?",
    "current": r"(?:kilo|milli|micro)?amp(?:ere|\u00e8re)?s?",
    "power": r"(?:kilo|mega|milli)?watts?",
    "frequency": r"(?:kilo|mega|giga)?hertz",
    "pressure": r"(?:milli)?bars?|(?:hecto|kilo)?pascals?|torr",
    "temperature": r"degrees?|kelvin|grad",
    "length": r"(?:milli|centi|mikro|kilo)?met(?:er|re)[ns]?|microns?|inch(?:es)?",
    "volume": r"(?:milli)?lit(?:er|re)[ns]?|gallons?",
    "field": r"(?:milli)?tesla|gauss",
    "money": r"euros?|dollars?|francs?|franken|EUR|USD|CHF|GBP|AUD|CAD|JPY|SEK",
}
_MEASURED = re.compile(
    rf"(?:{'|'.join(UNIT_WORDS.values())}|prozent|(?:kilo|milli)?gram\w*|pounds?|tons?"
    r"|(?:micro|milli)?curies?)\Z",
    re.IGNORECASE,
)
# The first plural behind `how many`, else the next word.
_COUNTED = re.compile(
    r"\b(?:how many (?:(?:[\w-]+ ){0,2}?(?P<plural>(?!(?:is|was|has|does)\b)\w+s)\b"
    r"|(?P<next>\w+))|wie viele (?P<viele>\w+)"
    # `Combien d'h\u00e9lium` counts nothing.
    r"|combien d(?:e |['\u2019])(?P<combien>\w+[sx])\b|quant[ie] (?P<quanti>\w+)"
    r"|cu[a\u00e1]nt[oa]s (?P<cuantos>\w+)"
    r"|(?:how|wie) (?P<often>often|frequently|oft|h\u00e4ufig)\b)",
    re.IGNORECASE,
)
# `How many times was it replaced in May` counts replacements, too.
_TIMES_WORDS = """
    times occasions male mal often frequently oft h\u00e4ufig fois volte veces
"""
_TIMES = frozenset(_TIMES_WORDS.split())
_HAPPENED = re.compile(
    r"\b(?:times|often|frequently) \w+ .*?\b(?P<verb>\w+)(?: (?:in|on|at|since|during"
    r"|this|last|by|for|from|between|with|due|after|before|because|while|when)\b.*)?"
    r"[\s?.!]*\Z",
    re.IGNORECASE,
)
# A part of no name, decimal or date, and no number of a thing: `No. 3`, `#3`.
_COUNT = (
    r"(?<![\w.,:/#-])(?<!\bno )(?<!\bno\.)(?<!\bno\. )"
    rf"(?:\d[\d,]*(?![\d,]|[.:/]\d)|{NUMERALS}|both|no|keine?)"
)
# Behind another word a number is that one's: `unit 2 trips`.
_LED = (
    r"(?:(?:\A|[^\w\s]\s*|\b(?:had|has|have|were|are|was|saw|after|of|with|in|the|about"
    rf"|another|made)\s+)\d{{1,4}}|\b(?:{NUMERALS}|no))"
)
# Up to two words, as in `3 new hoses`; none as in `after 20 minutes hoses`.
_BETWEEN = (
    rf"[\s-]+(?:(?!(?:sec|min|degree|percent|{'|'.join(SECONDS_OF)}"
    rf"|{'|'.join(MONTH_OF | SHORT_MONTH_OF)})s?\b)[^\W\d][\w-]*\s+){{0,2}}?"
)
_NO_FACTOR = r"(?!\s+(?:(?:as|the|that of)\b|high|larg|great|low|less|norm|background))"
_COUNTED_TIMES = (
    rf"(?:{_COUNT}[\s-]+(?:(?:more|other|separate)\s+)?(?:times|male?|fois|volte|veces)"
    rf"|\btwice|\b(?:{'|'.join(NUMBER_WORDS)}|mehr)mals?)\b{_NO_FACTOR}|{_COUNT}\s+occasions\b"
    r"|\b(?:never|nie|(?:only|just) once)\b|(?<!at )\bonce(?=\s*(?:[.,;)]|\Z))"
    r"|\b(?:second|third|fourth|fifth|\d+(?:st|nd|rd|th)) (?:time|occasion)\b"
)
_ENDING = re.compile(r"(?:ies|ed|es|s|en|n|e)\Z", re.IGNORECASE)
_LEAST_STEM = 3


def asks_times(question: str) -> bool:
    """Tell whether it is asked how often something happened."""
    asked = _COUNTED.search(question)
    return asked is not None and is_times_word(str(asked[asked.lastgroup or 0]))


def is_times_word(word: str) -> bool:
    """Tell whether a word only asks how often something happened."""
    return word.lower() in _TIMES


def find_counted(question: str) -> str:
    """Return a pattern of what counts as `how many` asks; empty: nothing is counted.

    What has a unit is measured.
    """
    asked = _COUNTED.search(question)
    if asked is None:
        return ""
    noun = str(asked[asked.lastgroup or 0])
    if is_times_word(noun):
        happened = _HAPPENED.search(question)
        if happened is None:
            return _COUNTED_TIMES
        return rf"{_COUNTED_TIMES}|{_LED}{_BETWEEN}{_stem_of(happened['verb'])}\w*s\b"
    if _MEASURED.match(noun) or convert_quantity(Decimal(1), noun) is not None:
        return ""
    # Several are a plural: `cavity 2 reflected power trip` counts no trips.
    return (
        rf"{_COUNT}(?:\s?x)?(?!\w)(?:\s?\(\d{{1,4}}\))?{_BETWEEN}{re.escape(noun)}\b"
        rf"|\b(?:one|single|eine?){_BETWEEN}{_stem_of(noun)}(?:y|e)?\b"
        rf"|\b{re.escape(noun)}\s*(?:[:=(]|\bx)\s*\d|\b(?:nobody|none|niemand)\b"
    )


def _stem_of(word: str) -> str:
    stem = _ENDING.sub("", word)
    return re.escape(stem if len(stem) >= _LEAST_STEM else word)
