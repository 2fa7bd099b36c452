"""A quantity as a question writes it: `vacuum > 1e-7 Torr`, `<300mA`, `5-10 mA`."""

from __future__ import annotations

import math
import re

from shared.search.query.filters.fact_filters import QuantityBounds
from shared.text import facts
from shared.text.reading import quantities
from shared.text.words import numerals

_SIGN = re.compile("<=|>=|[<>=\u2264\u2265]")
_DOTS = re.compile(r"(?<=\d) ?\.\. ?(?=\d)")
# No locale is known here: a text that may be 1500 or 1.5 is better left unread.
_DOUBTFUL = "de"


def parse_bounds(text: str) -> QuantityBounds | None:
    """Return the bounds that a text asks for, or None; a sign alone leaves them out."""
    plain = _DOTS.sub("-", text.strip())
    sign = _SIGN.search(plain)
    begin = sign.end() if sign else 0
    said = plain[begin:]
    for first, last in numerals.find_numerals(said, _DOUBTFUL):
        if sign and (last or said[: first.start].strip()):
            return None
        unit = said[(last or first).end :]
        low = quantities.convert_quantity(first.value, unit)
        high = quantities.convert_quantity(last.value, unit) if last else low
        if low is None or high is None or low[1] > high[1]:
            if sign:
                return None
            continue
        named = plain[: sign.start()] if sign else said[: first.start]
        least, most = _ends(sign[0] if sign else "=", low[1], high[1])
        name = " ".join(word for word, _, _ in facts.scan_words(named))
        return QuantityBounds(low[0], least, most, name or None)
    return None


def _ends(sign: str, low: float, high: float) -> tuple[float | None, float | None]:
    if sign == "=":
        return low, high
    if sign in "<=\u2264":
        return None, high if sign != "<" else math.nextafter(high, -math.inf)
    return (low if sign != ">" else math.nextafter(low, math.inf)), None
