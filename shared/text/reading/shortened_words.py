"""Points that end no sentence: of shortened words, of days and other numbers."""

import re

from shared.times.calendar_names import MONTH_OF

# What ends in a point and no sentence with it.
_ABBREVIATED = re.compile(
    r"(?:\b(?:no|nr|dr|mr|mrs|st|vs|ca|cf|eg|ie|approx|incl|max|temp|fig|bzw|ggf|evtl"
    r"|usw|etc|inkl|vgl|abt|tel|op|rev|resp|z\.\s?b|d\.\s?h|u\.a|e\.g|i\.e"
    # Behind a number they are minutes and seconds, and may end a sentence.
    r"|(?<!\d\s)(?:min|sec))|\b[A-Z]"
    # `am 4. Juni`, `der 2. Anlauf`
    r"|\b(?:am|beim|das|dem|den|der|des|die|im|vom|zum|zur)\s\d{1,2})\.\Z",
    re.IGNORECASE,
)
# Behind a number: the point is that of a day. `May` begins a sentence as well.
_MONTH = re.compile(rf"\s(?!may\b|march\b)(?:{'|'.join(MONTH_OF)})\b", re.IGNORECASE)
# So far before its point the longest of these begins.
_REACH = 8


def is_shortened(text: str, begin: int, point: int) -> bool:
    """Tell whether a sentence goes on behind a point, which only shortens a word."""
    if _ABBREVIATED.search(text, max(begin, point - _REACH), point):
        return True
    is_number = text[max(begin, point - 2) : point - 1].isdigit()
    return is_number and _MONTH.match(text, point) is not None
