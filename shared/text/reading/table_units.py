"""What the numbers in a table's cells are of: the header of their column says it.

`Pressure [mbar]` above `3e-9` is `pressure 3e-9 mbar`, and the device in the first cell
of the row is whose. A column without a unit has none.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from shared.text.facility.devices import DEVICE
from shared.text.facts import Fact, make_key, scan_words
from shared.text.reading import parameters, pasted_tables, quantities
from shared.text.reading.pasted_tables import Cell, Grid, Row
from shared.text.reading.quantities import MAX_FOUND, Quantity
from shared.text.words import numerals
from shared.text.words.numerals import DecimalMark

# So many words of a header are the name of what its column has, and of a row's label.
_NAME_WORDS = 6
_LABEL_WORDS = 3
_BRACKETED = re.compile(
    r"(?P<name>[^\[\]()]*)(?:\[(?P<square>[^\[\]()]+)\]|\((?P<round>[^\[\]()]+)\))"
)
_BEHIND = re.compile(
    r"(?P<name>[^/\[\]()]*[^\s/,\[\]()])(?P<sign>\s?/\s?|,\s|\sin\s)(?P<unit>\S+)"
)
# `[10^-9 mbar]`, `[x 1e-9 mbar]`: by a power of ten, and nothing else.
_SCALED = re.compile(r"(?:[x*\u00d7\u00b7]\s?)?(?P<number>\d\S*)\s(?P<unit>\S+)")
_MULTIPLE = re.compile(
    r"\d[eE][-+\u2212]?\d|10\s?(?:\^|\*\*|[\u207a\u207b\u2070-\u2079])"
)
# By these words alone a column is one of times: `(min)` stands for the least, `/ s` for
# so many a second.
_TIMES = ("time", "zeit", "dauer", "durat", "delay", "dwell", "elapsed", "expos")
_TIME_NAMES = frozenset({"t", "dt", "tau", "period", "interval", "age"})
_DEGREE_NAMES = ("temp", "t")
_CHARGE_NAMES = frozenset({"charge", "ladung", "q"})
_RATES = frozenset({"time", "length"})
_BOUND = re.compile(r"[<>~\u2248\u2264\u2265]\s?")


class _Column(NamedTuple):
    """What stands above a column: what its numbers are of, and in which unit."""

    name: tuple[str, ...]
    # As it goes behind a number: ` mbar`, ` x 10^-9 mbar`; empty: there is none.
    unit: str
    cell: Cell


def read_quantities(
    text: str,
    numbers: Sequence[Quantity],
    facts: Sequence[Fact],
    language: str = "en",
    mark: DecimalMark | None = None,
) -> list[Quantity]:
    """Return all quantities of a text in order, each with what it is a value of.

    `numbers` are those that have their unit beside them, in a table or not.
    """
    found: list[Quantity] = []
    units: list[Cell] = []
    for grid in pasted_tables.find_tables(text):
        named = [_column(text, cell) for cell in grid.header]
        if len(found) < MAX_FOUND and any(column.unit for column in named):
            of_grid = _of_grid(text, grid, named, numbers, facts, language, mark)
            found += islice(of_grid, MAX_FOUND)
            units += [column.cell for column in named if column.unit]
    if not units:
        return list(parameters.stated(text, numbers, facts))
    here = {one.start for one in found}
    # In a header `10^-9 mbar` is a unit.
    here |= {one.start for one in numbers if any(a <= one.start < b for a, b in units)}
    others = [one for one in numbers if one.start not in here]
    all_found = [*parameters.stated(text, others, facts), *found]
    return sorted(all_found, key=lambda one: (one.start, one.end))[:MAX_FOUND]


def _of_grid(
    text: str,
    grid: Grid,
    named: Sequence[_Column],
    numbers: Sequence[Quantity],
    facts: Sequence[Fact],
    language: str,
    mark: DecimalMark | None,
) -> Iterator[Quantity]:
    """Yield the values in columns with a unit; a row with other cells gives none."""
    devices = [one for one in facts if one.field == DEVICE and one.start is not None]
    starts = [one.start for one in numbers]
    for row in grid.rows:
        if len(row) != len(named):
            continue
        label = _label(text, row)
        for column, cell in zip(named, row, strict=True):
            if not column.unit:
                continue
            first, last = (bisect_left(starts, place) for place in cell)
            values = numbers[first:last] or _values(
                text, cell, column.unit, language, mark
            )
            if not values:
                continue
            device = _device(devices, row[0]) or _device(devices, column.cell)
            for one in values:
                yield _named(one, column, label, device)


def _values(
    text: str, cell: Cell, unit: str, language: str, mark: DecimalMark | None
) -> list[Quantity]:
    """Return the quantity that a cell is, or both ends of a range; of others none."""
    said = text[cell.start : cell.end]
    bound = _BOUND.match(said)
    begin = bound.end() if bound else 0
    whole = said[begin:] + unit
    if not pasted_tables.is_value(said) or len(said) > pasted_tables.LONGEST_NAME:
        return []
    found = list(quantities.find_quantities(whole, language, mark))
    if not found or found[0].start or found[-1].end != len(whole):
        return []
    shift = cell.start + begin
    return [
        replace(
            one,
            # A bound is no value, and neither is an end of a range.
            is_end=one.is_end or bound is not None,
            start=shift + one.start,
            end=min(shift + one.end, cell.end),
        )
        for one in found
    ]


def _named(
    one: Quantity, column: _Column, label: Sequence[str], device: str
) -> Quantity:
    name = " ".join((*label, *column.name))
    parameter = parameters.of_column(column.name, one)
    if not device or not parameter:
        return replace(one, name=name)
    return replace(one, name=name, device=device, parameter=parameter)


def _label(text: str, row: Row) -> list[str]:
    """Return the words of a row's first cell, if it is no number."""
    said = text[row[0].start : row[0].end]
    if (
        not said
        or len(said) > pasted_tables.LONGEST_NAME
        or pasted_tables.is_value(said)
    ):
        return []
    return [word for word, _, _ in scan_words(said)][:_LABEL_WORDS]


def _device(devices: Sequence[Fact], cell: Cell) -> str:
    """Return the one device that a cell names."""
    named = {
        make_key(DEVICE, one.value)
        for one in devices
        if one.start is not None
        and one.end is not None
        and cell.start <= one.start
        and one.end <= cell.end
    }
    return named.pop() if len(named) == 1 else ""


def _column(text: str, cell: Cell) -> _Column:
    """Return the column that a header's cell describes: its words and its unit."""
    said = text[cell.start : cell.end]
    match = _BRACKETED.fullmatch(said)
    if match is not None:
        name, unit = match["name"], (match["square"] or match["round"]).strip()
        is_joined = match["round"] is not None and name[-1:].isalnum()
        told = _words(name)
        # `Magnet(s)` are several.
        is_unit = not (is_joined and len(unit) == 1 and not _is_time(told))
        return _Column(told, _unit(told, unit, name) if is_unit else "", cell)
    match = _BEHIND.fullmatch(said)
    if match is None:
        return _Column(_words(said), "", cell)
    told = _words(match["name"])
    unit = _unit(told, match["unit"], match["name"])
    is_slash = match["sign"].strip() == "/"
    if unit and is_slash and _is_rate(match["name"], told, unit):
        unit = ""
    return _Column(told if unit else _words(said), unit, cell)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word, _, _ in scan_words(name))[-_NAME_WORDS:]


def _unit(told: Sequence[str], said: str, name: str) -> str:
    """Return a unit as it goes behind the numbers of its column; empty: it is none."""
    if _MULTIPLE.search(name):
        # `Pressure x10^-9 [mbar]` is ambiguous: are the cells multiplied, or not yet?
        return ""
    factor = ""
    scaled = _SCALED.fullmatch(said)
    if scaled is not None:
        power = _power(scaled["number"])
        if power is None:
            return ""
        said, factor = scaled["unit"], f" x 10^{power}"
    said = _degrees(told, said)
    dimension = _dimension(said)
    is_time = _is_time(told)
    if dimension is None or (said == "C" and _CHARGE_NAMES.isdisjoint(told)):
        return ""
    if (said.lower() in {"min", "mins"} and not is_time) or (said == "m" and is_time):
        return ""
    return f"{factor} {said}"


def _power(number: str) -> int | None:
    """Return which power of ten a number is, if it is one."""
    read = next(iter(numerals.find_numerals(number, mark=".")), None)
    if read is None or read[1] is not None or read[0].end != len(number):
        return None
    plain = read[0].value.normalize().as_tuple()
    is_power = plain.digits == (1,) and isinstance(plain.exponent, int)
    return int(plain.exponent) if is_power else None


def _degrees(told: Sequence[str], said: str) -> str:
    """Return `C` and `F` of a temperature as degrees."""
    is_degree = said in {"C", "F"} and any(
        word == "t" or word.startswith(_DEGREE_NAMES[0]) for word in told
    )
    return f"\u00b0{said}" if is_degree else said


def _dimension(said: str) -> str | None:
    known = quantities.convert_quantity(Decimal(1), said)
    return known[0] if known else None


def _is_time(told: Sequence[str]) -> bool:
    return any(
        word in _TIME_NAMES or any(part in word for part in _TIMES) for word in told
    )


def _is_rate(name: str, told: Sequence[str], unit: str) -> bool:
    """Tell whether a slash divides: in `Counts / s`, `T / m`, not `t / s`, `x / mm`."""
    dimension = _dimension(unit.strip())
    if dimension == "time":
        return not _is_time(told)
    is_of_unit = _dimension(name.rsplit(maxsplit=1)[-1]) is not None
    return dimension in _RATES and is_of_unit
