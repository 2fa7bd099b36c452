"""A range of a value of the metadata: `>42`, `40..50`, `<=2024-06`, `..3.5`.

Its ends are numbers or dates, and mean what `gte` and `lte` of a filter mean.
"""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from shared.errors import InvalidRequestError
from shared.search.query.filters import filter_operators
from shared.search.query.filters.fact_filters import QuantityBounds
from shared.text import facts
from shared.text.reading import quantities
from shared.times.calendar import Clock

_DOTS = ".."
_PUNCTUATION = ",.;!?"
# A value between both signs is no range: `<none>`.
_SIGN = re.compile("(?P<sign><=|>=|[<>=\u2264\u2265])(?!.*>$)")
_SAID_OF = {
    **dict.fromkeys((">=", "\u2265", "<"), ("gte",)),
    **dict.fromkeys(("<=", "\u2264", ">"), ("lte",)),
    "=": ("gte", "lte"),
}
# `40..`, `..2024-06`, `5mA..`: names of files have dots, too, and no such ends.
_END = re.compile(r"[-+]?\.?\d", re.ASCII)


def is_meant(value: str) -> bool:
    """Tell whether a value is meant as a range, though it may be unreadable."""
    plain = value.strip()
    if _SIGN.match(plain):
        return True
    ends = plain.split(_DOTS)
    return len(ends) > 1 and any(_END.match(one.strip()) for one in ends)


def parse_range(field: str, value: str, clock: Clock) -> QuantityBounds | None:
    """Return the bounds of a range, or None where the value is none; never raises."""
    plain = value.strip()
    sign = _SIGN.match(plain)
    if sign is not None:
        end = plain[sign.end() :].strip()
        found = _between(field, dict.fromkeys(_SAID_OF[sign[0]], end), clock)
        return _beyond(found) if found and sign[0] in {"<", ">"} else found
    first, dots, last = plain.partition(_DOTS)
    ends = {"gte": first.strip(), "lte": last.strip()}
    given = {said: end for said, end in ends.items() if end}
    found = _between(field, given, clock) if dots and given else None
    return found if found and _is_range(found) else None


def is_cut(found: Sequence[QuantityBounds], following: Sequence[str]) -> bool:
    """Tell whether a unit follows a number, which no number of the metadata has."""
    has_number = any(one.dimension == facts.undated(one.dimension) for one in found)
    if not has_number or not following:
        return False
    unit = following[0].rstrip(_PUNCTUATION)
    return quantities.convert_quantity(Decimal(1), unit) is not None


def _between(field: str, ends: dict[str, str], clock: Clock) -> QuantityBounds | None:
    if any(_DOTS in end or _SIGN.match(end) for end in ends.values()):
        # A date with dots or a sign is a range by itself.
        return None
    try:
        return filter_operators.between(field, field, ends, clock)
    except InvalidRequestError:
        return None


def _beyond(bounds: QuantityBounds) -> QuantityBounds | None:
    """Return the bounds of all values strictly past the one end of these bounds.

    None where they have no end, or no number lies past it.
    """
    end, way = bounds.most, math.inf
    if end is None:
        end, way = bounds.least, -math.inf
    past = None if end is None else math.nextafter(end, way)
    if past is None or math.isinf(past):
        return None
    ends = (past, None) if bounds.least is None else (None, past)
    return QuantityBounds(bounds.dimension, *ends)


def _is_range(bounds: QuantityBounds) -> bool:
    least, most = bounds.least, bounds.most
    return least is None or most is None or least <= most
