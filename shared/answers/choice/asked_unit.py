"""Whether the evidence counts in what a question counts in: volts are no litres."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.question import Question
from shared.text.reading.quantities import Quantity, find_quantities

# The words of a dimension: its units as one says them, and what is measured in it.
# Times are another kind of question; shares are written in words, `three quarters`.
_UNIT_WORDS = {
    "voltage": r"(?:kilo|milli|micro)?volts?",
    "current": r"(?:kilo|milli|micro)?amp(?:ere|\u00e8re)?s?",
    "power": r"(?:kilo|mega|milli)?watts?",
    "frequency": r"(?:kilo|mega|giga)?hertz",
    "pressure": r"(?:milli)?bars?|(?:hecto|kilo)?pascals?|torr",
    "temperature": r"degrees?|kelvin|grad",
    "length": r"(?:milli|centi|mikro|kilo)?met(?:er|re)[ns]?|microns?|inch(?:es)?",
    "volume": r"(?:milli)?lit(?:er|re)[ns]?|gallons?",
    "field": r"(?:milli)?tesla|gauss",
    "money": r"euros?|dollars?|francs?|franken|EUR|USD|CHF",
}
_MEASURES = {
    "voltage": r"voltages?|\w*spannung",
    "pressure": r"pressures?|\w*druck",
    "temperature": r"temperatures?|\w*temperatur",
    "money": r"prices?|preis|how much (?:did|does|do|will|would) .+? cost|was kostet",
}
# What tells of it besides.
_ALSO = {"pressure": r"\w*va[ck]uum\w*", "money": r"price\w*|\w*preis\w*"}
_SIGNS = {"money": re.compile("[$\u20ac\u00a3]")}
_HOW_MANY = r"(?i)\b(?:how many|wie viele?)\s+"
_MEASURED_KINDS = frozenset({"how_much", "what", "which"})
_NUMERAL = re.compile(r"[\d.,]*\d")
# What is reckoned from two others is stated by neither: `by 5 mA`, `3 hours`, `30 %`.
_RECKONED = frozenset({"time", "fraction", "ratio"})
_DIFFERENCE = re.compile(r"(?i)\b(?:by|um)\W*\Z")
# What lies between the name of a measure and its size, within a sentence.
_BESIDE = r"[^.!?\n]{0,40}"
# Who asks may round.
_ROUNDED = 0.1


def find_unsaid_unit(
    question: Question, entries: Iterable[EvidenceEntry]
) -> str | None:
    """Return the unit or measure that a question is about, where no entry tells of it.

    None where it names nothing of the kind, or an entry has it as well.
    """
    asked = [*_find_dimensions(question)]
    stated = [*_find_stated(question.text)]
    if not asked and not stated:
        return None
    texts = [
        (text, one.language) for one in entries for text in (one.row.title, one.text)
    ]
    told = [
        (text[one.start : one.end], one)
        for text, language in texts
        for one in find_quantities(text, language)
    ]
    whole = "\n".join(text for text, _ in texts)
    dimensions = {one.dimension for _, one in told}
    for written, dimension in asked:
        if dimension not in dimensions and not _is_told(dimension, whole):
            return written
    return next(
        (
            written
            for written, one in stated
            if not _is_stated(written, one, told, whole)
        ),
        None,
    )


def _find_dimensions(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the dimensions a question asks for, each with its word."""
    for dimension, units in _UNIT_WORDS.items():
        counted = re.search(rf"{_HOW_MANY}({units})\b", question.text)
        if counted:
            yield counted[1], dimension
    if question.kind in _MEASURED_KINDS:
        for dimension, names in _MEASURES.items():
            measured = re.search(rf"(?i)\b({names})\b", question.text)
            if measured:
                yield measured[1].rpartition(" ")[2], dimension


def _find_stated(text: str) -> Iterator[tuple[str, Quantity]]:
    """Yield the quantities that a question states, as they are written."""
    for one in find_quantities(text):
        if one.dimension in _RECKONED or _DIFFERENCE.search(text, 0, one.start):
            continue
        yield text[one.start : one.end], one


def _is_told(dimension: str, text: str) -> bool:
    """Tell whether a text has a unit of a dimension, or its name beside a number.

    `At the price of cathode life` says of no price how high it is.
    """
    signs = _SIGNS.get(dimension)
    if signs and signs.search(text):
        return True
    ways = (source.get(dimension) for source in (_MEASURES, _ALSO))
    names = "|".join(one for one in ways if one)
    told = rf"\b(?:{_UNIT_WORDS[dimension]})\b"
    if names:
        told += rf"|\d{_BESIDE}\b(?:{names})\b|\b(?:{names})\b{_BESIDE}\d"
    return re.search(f"(?i){told}", text) is not None


def _is_stated(
    written: str, asked: Quantity, told: Sequence[tuple[str, Quantity]], text: str
) -> bool:
    """Tell whether a quantity is there, about as large, or its number alone."""
    if any(
        one.dimension == asked.dimension
        and math.isclose(one.value, asked.value, rel_tol=_ROUNDED)
        for _, one in told
    ):
        return True
    number = _NUMERAL.search(written)
    if number is None:
        return True
    with_unit = any(
        (m := _NUMERAL.search(said)) and m[0] == number[0] for said, _ in told
    )
    # What is told in another unit is not meant where the number stands alone.
    return not with_unit and bool(
        re.search(rf"(?<![\d.,]){re.escape(number[0])}(?![.,]?\d)", text)
    )
