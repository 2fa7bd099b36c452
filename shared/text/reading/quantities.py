"""Numbers with units, made comparable: 300 mA and 0.3 A are one quantity."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import islice

from shared.text.facts import scan_words
from shared.text.words import numerals
from shared.text.words.numerals import DecimalMark, Numeral
from shared.times import date_tokens

# A text of nothing but numbers does not fill the entry with them.
MAX_FOUND = 128
# The words before a number say what it is of.
NAME_WORDS = 3
_NAME_REACH = 60

_PREFIXES = {
    "p": Decimal("1e-12"),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
}
# Dimension, unit, the prefixes that occur, and how much of the dimension's own unit it
# is. What is also a word, or stands for something else as often, is not here.
_UNITS = (
    ("current", "A", "pnum kM", "1"),
    ("voltage", "V", "um kM", "1"),
    ("power", "W", "um kMG", "1"),
    ("frequency", "Hz", "m kMG", "1"),
    ("energy", "eV", "m kMG", "1"),
    ("charge", "C", "pnu", "1"),
    ("time", "s", "num ", "1"),
    ("time", "sec", " ", "1"),
    ("time", "secs", " ", "1"),
    ("time", "seconds", " ", "1"),
    ("time", "min", " ", "60"),
    ("time", "mins", " ", "60"),
    ("time", "minutes", " ", "60"),
    ("time", "h", " ", "3600"),
    ("time", "hr", " ", "3600"),
    ("time", "hrs", " ", "3600"),
    ("time", "hours", " ", "3600"),
    ("time", "days", " ", "86400"),
    ("length", "m", "num k", "1"),
    ("length", "cm", " ", "0.01"),
    ("length", "feet", " ", "0.3048"),
    ("length", "ft", " ", "0.3048"),
    ("length", "inches", " ", "0.0254"),
    ("length", "inch", " ", "0.0254"),
    ("length", "miles", " ", "1609.344"),
    ("pressure", "Pa", " mkM", "1"),
    ("pressure", "hPa", " ", "100"),
    ("pressure", "bar", " m", "100000"),
    ("pressure", "Torr", " m", "133.322368421"),
    ("pressure", "psi", " ", "6894.757293168"),
    ("pressure", "psig", " ", "6894.757293168"),
    ("temperature", "K", " m", "1"),
    ("fraction", "%", " ", "0.01"),
    ("fraction", "percent", " ", "0.01"),
    ("flow", "gpm", " ", "0.0000630901964"),
    ("flow", "gph", " ", "0.00000105150327333"),
    ("flow", "lpm", " ", "0.00001666666666666666666666667"),
    ("flow", "l/min", " ", "0.00001666666666666666666666667"),
    ("flow", "l/s", " ", "0.001"),
    ("flow", "l/h", " ", "2.777777777777777777777777778e-7"),
    ("flow", "m3/s", " ", "1"),
    ("flow", "m3/h", " ", "2.777777777777777777777777778e-4"),
    ("field", "T", "um ", "1"),
    ("field", "G", " k", "0.0001"),
    ("field", "gauss", " ", "0.0001"),
    ("radiation", "Sv", "num ", "1"),
    ("radiation", "rem", "um ", "0.01"),
    ("dose rate", "Sv/h", "num ", "1"),
    ("dose rate", "rem/h", "um ", "0.01"),
    ("activity", "Ci", "pnum ", "37000000000"),
    ("activity", "Bq", "um kMG", "1"),
    ("ratio", "dB", " ", "1"),
)
# Degrees have a zero of their own.
_DEGREES = {
    "c": (Decimal(1), Decimal("273.15")),
    "f": (Decimal(5) / Decimal(9), Decimal("273.15") - Decimal(160) / Decimal(9)),
}
_DEGREE = re.compile(r"(?:\u00b0|deg\.?|degrees?)\s?([cf])")
_OF_WRITTEN: dict[str, tuple[str, Decimal]] = {
    prefix.strip() + unit: (dimension, _PREFIXES[prefix.strip()] * Decimal(size))
    for dimension, unit, prefixes, size in _UNITS
    for prefix in prefixes
}
# Where case does not tell two units apart, it does not count: `10 KV`, `1e-7 torr`.
_LOWER: dict[str, set[tuple[str, Decimal]]] = {}
for _written, _meaning in _OF_WRITTEN.items():
    # `5 ma` and `5 pa` are not these: who means them writes them so.
    if _written not in {"MA", "pA"}:
        _LOWER.setdefault(_written.lower(), set()).add(_meaning)
_OF_LOWER = {
    written: next(iter(meanings))
    for written, meanings in _LOWER.items()
    # A single letter is a unit in its own case alone: `5 a`, `3 t` are none. A weight
    # is no field.
    if len(meanings) == 1 and len(written) > 1 and written != "kg"
}
# Before a unit of one letter another prefix, or none: `US gallons`, `5 Nm`, `MS`.
_OTHER_PREFIX = re.compile("[MNPU].")
_SIGNS = str.maketrans({"\u00b5": "u", "\u03bc": "u", "\u00b3": "3"})
_HOURLY = re.compile(r"/(?:hr|hour)$", re.IGNORECASE)
_LONGEST_UNIT = max(map(len, _OF_WRITTEN))

_UNIT = re.compile(
    r"[ \u00a0-]?(?:(?P<degree>\u00b0\s?|deg\.?\s?|degrees?\s)(?P<scale>[CcFf])"
    r"|(?P<unit>%|[A-Za-z\u00b5\u03bc]{1,4}[3\u00b3]?/(?:min|s|hour|hr|h)"
    rf"|[A-Za-z\u00b5\u03bc]{{1,{_LONGEST_UNIT}}}))(?![\w/^]|-\w)"
    # So much of mercury or of water is a pressure, and of the table none.
    r"(?!\s(?:Hg|of (?:vacuum|water|mercury|Hg)|water|w\.?[cg])\b)"
)
# Written together these are as often a part's name: `pump 1A`, `the 3T gauge`.
_NEED_A_BLANK = frozenset({"A", "C", "G", "T", "K", "s", "m", "h"})
_HOURS = frozenset({"h", "hr", "hrs", "hours"})
# What the values of a dimension are counted in; a fraction is a number.
UNIT_OF = {"fraction": ""}
for _dimension, _unit, _, _size in _UNITS:
    if _size == "1":
        UNIT_OF.setdefault(_dimension, _unit)
# So is said what has no unit written: what is warm in degrees, a vacuum in mbar.
_WARM_KELVIN, _BAR, _LEAST_BAR = 200, 1e5, 0.5
_SIZES = {
    dimension: [(float(_PREFIXES[p.strip()]), p.strip() + unit) for p in prefixes]
    for dimension, unit, prefixes, size in reversed(_UNITS)
    if size == "1"
}
_DIGITS = 10
_SENTENCE_END = re.compile(r"[.;!?]\s|\n\n|\n(?=[^\n]*(?:\||\S\t))")
_LEADS = frozenset({"a", "an", "at", "about", "approximately", "by", "for", "from"})
_LEADS |= {"is", "of", "the", "to", "was", "were", "with", "only", "than", "over"}
_LEADS |= {"below", "above", "and", "or", "had", "has", "in", "on", "within", "after"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the unit of its dimension, and what it is of."""

    dimension: str
    value: float
    name: str
    start: int
    end: int
    # The device and its parameter that have this value, where the text names them.
    device: str = ""
    parameter: str = ""
    # Since when, if it is known.
    said_at: datetime | None = None
    # One of `5-10 mA`: what is between them is no value of a device.
    is_end: bool = False
    # As it is written, `mbar`; empty where the text has none.
    unit: str = field(default="", compare=False)


def find_quantities(
    text: str, language: str = "en", mark: DecimalMark | None = None
) -> Iterator[Quantity]:
    """Yield the quantities of a text, in order; a number without a unit is none."""
    return islice(_found(text, language, mark), MAX_FOUND)


def _found(text: str, language: str, mark: DecimalMark | None) -> Iterator[Quantity]:
    for number, other in numerals.find_numerals(text, language, mark):
        unit = _UNIT.match(text, (other or number).end)
        if unit is None:
            continue
        said = unit["unit"] or "deg" + unit["scale"].lower()
        if _is_none(other or number, unit, said):
            continue
        first = convert_quantity(number.value, said)
        if first is None:
            continue
        name = _name(text[max(0, number.start - _NAME_REACH) : number.start])
        written = unit["unit"] or f"\u00b0{unit['scale'].upper()}"
        if other is None:
            yield Quantity(*first, name, number.start, unit.end(), unit=written)
            continue
        last = convert_quantity(other.value, said)
        # What is no more than the first is no end of it: `10-7 Torr`.
        if last is not None and first[1] < last[1]:
            whole = Quantity(
                *first, name, number.start, number.end, is_end=True, unit=written
            )
            yield whole
            yield replace(whole, value=last[1], start=other.start, end=unit.end())


def convert_quantity(number: Decimal, unit: str) -> tuple[str, float] | None:
    """Return dimension and value of a number with a unit; None: no known unit."""
    plain = _HOURLY.sub("/h", unit.strip().translate(_SIGNS))
    lower = plain.lower()
    scale = _DEGREE.fullmatch(lower)
    if scale is not None:
        factor, zero = _DEGREES[scale[1]]
        return "temperature", float(number * factor + zero)
    known = _OF_WRITTEN.get(plain)
    if known is None and not _OTHER_PREFIX.fullmatch(plain):
        known = _OF_LOWER.get(lower)
    if known is None:
        return None
    dimension, factor = known
    value = float(number * factor)
    # More than a double holds is no size of anything.
    return (dimension, value) if math.isfinite(value) else None


def say_quantity(dimension: str, value: float, unit: str = "") -> str:
    """Return a value as one writes it: in a unit of its dimension, or in a usual one.

    It has as many digits as a newer value may differ in: `499.65409 MHz`.
    """
    unit = unit or _usual_unit(dimension, value)
    zero = convert_quantity(Decimal(0), unit)
    one = convert_quantity(Decimal(1), unit)
    if zero is None or one is None:
        return f"{value:.{_DIGITS}g} {unit}".rstrip()
    return f"{(value - zero[1]) / (one[1] - zero[1]):.{_DIGITS}g} {unit}"


def _usual_unit(dimension: str, value: float) -> str:
    """Return the largest unit of which a value is at least one."""
    size = abs(value)
    match dimension:
        case "temperature":
            return "\u00b0C" if size >= _WARM_KELVIN else "K"
        case "pressure":
            return "bar" if size >= _LEAST_BAR * _BAR else "mbar"
        case "fraction":
            return "%"
    fitting = [unit for least, unit in _SIZES.get(dimension, ()) if least <= size]
    return fitting[-1] if fitting else UNIT_OF.get(dimension, "")


def _is_none(number: Numeral, unit: re.Match[str], said: str) -> bool:
    """Tell whether it is no quantity: `1A` is a part, `0545 hours` a time of day."""
    is_joined = unit.start("unit") == number.end
    if said in _NEED_A_BLANK and is_joined and number.is_whole:
        return True
    clock = date_tokens.insert_colon(number.digits)
    return said.lower() in _HOURS and clock is not None


def _name(before: str) -> str:
    """Return the words that stand right before a number, in its own sentence or row."""
    sentence = _SENTENCE_END.split(before)[-1]
    told = [word for word, _, _ in scan_words(sentence)]
    if sentence and not sentence[-1].isspace() and told and before[-1:].isalnum():
        told = told[:-1]
    while told and told[-1] in _LEADS:
        told.pop()
    return " ".join(told[-NAME_WORDS:])
