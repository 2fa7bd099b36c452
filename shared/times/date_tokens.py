"""Dates and times of day as one token each, so that none is taken for a name."""

import re
from collections.abc import Iterator
from typing import NamedTuple

TIME, DATE = "time", "date"
KINDS = frozenset({TIME, DATE})

_NOON = 12
_CENTURY = 2000
_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_OTHER_MONTHS = {"mrz": 3, "mai": 5, "okt": 10, "dez": 12}
_MONTH = "|".join((*_MONTHS, *_OTHER_MONTHS))
_CLOCK = (
    r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[ap]m|hrs?|h|uhr|z|utc)?"
)
_DATE = (
    r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.\d{4}"
    rf"|\d{{1,2}}-(?:{_MONTH})-(?:\d{{4}}|\d{{2}})|(?:{_MONTH})-\d{{1,2}})"
)
_WHOLE = re.compile(
    rf"(?P<date>{_DATE})(?:[T_-](?P<of_day>{_CLOCK}))?"
    rf"|(?P<time>{_CLOCK})(?:-(?P<until>{_CLOCK}))?",
    re.IGNORECASE,
)
# Four digits that a clock may show. With 0 in front they are a time wherever they
# stand; of others, what stands beside them says it.
_OF_DAY = r"(?:(?:[01]\d|2[0-3])[0-5]\d|2400)"
_FOUR = re.compile(_OF_DAY, re.ASCII)
EARLY = rf"0\d[0-5]\d(?:-{_OF_DAY})?(?![^\W\u02bc]|-)"
_SAYS_SO = re.compile(
    r"[(\[]?(?:(?i:h|hrs?|hours|uhr|utc|gmt)|Z|CES?T|[ECMP][SD]T)(?!\w)"
    r"|\d{1,2}/\d{1,2}/\d{2}"
)
_DASH = re.compile(r"[-\u2013\u2014]{1,2}")
_SMALL = re.compile(r"[a-z]{2,}")
_YEAR = re.compile(r"20[0-5]\d")
# So long is the name of an area as a rule, and hardly one of a thing of such a number.
_AREA_LETTERS = 2
_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"[a-z]+|\d+")
_AFTERNOON = re.compile(r"[ap]m")


class TimeWord(NamedTuple):
    """A date or a time of day, where it stands, and what else it is found by."""

    kind: str
    term: str
    start: int
    end: int
    idents: tuple[str, ...]


def parse_date_token(written: str) -> list[TimeWord] | None:
    """Return the date and the times that a run of characters is, or None."""
    match = _WHOLE.fullmatch(written) if written.isascii() else None
    return None if match is None else list(_of(match))


def insert_colon(digits: str) -> str | None:
    """Return `07:30` for `0730`, and None for what no clock shows."""
    return f"{digits[:2]}:{digits[2:]}" if _FOUR.fullmatch(digits) else None


def of_digits(digits: str, behind: str) -> tuple[str, ...]:
    """Return the terms of a number that is a time by itself: `0730`, `1430h`."""
    is_time = _SAYS_SO.fullmatch(behind) if behind else digits.startswith("0")
    return idents_of(digits) if is_time else ()


def idents_of(digits: str) -> tuple[str, ...]:
    """Return the terms of four digits as a time; none if no clock shows them."""
    colon = insert_colon(digits)
    return (digits, colon) if colon else ()


def is_told(digits: str, head: str | None, after: str) -> bool:
    """Tell whether the words beside four digits say that they are a time of day."""
    if _FOUR.fullmatch(digits) is None:
        return False
    if _SAYS_SO.match(after):
        return True
    if head is None or not head.isupper() or _YEAR.fullmatch(digits):
        return False
    if _DASH.fullmatch(after):
        return True
    return len(head) == _AREA_LETTERS and _SMALL.match(after) is not None


def _of(match: re.Match[str]) -> Iterator[TimeWord]:
    for group in ("date", "of_day", "time", "until"):
        if match[group] is not None:
            text = match[group].lower()
            kind, term = (
                (DATE, _date(text)) if group == "date" else (TIME, _clock(text))
            )
            # With seconds a time is found without them.
            other = text if kind == DATE else term[: len("hh:mm")]
            idents = tuple(sorted({term, other, *_WORDS.findall(text)}))
            yield TimeWord(kind, term, *match.span(group), idents)


def _clock(text: str) -> str:
    """Return `14:05` for `2:05pm`; seconds stay, parts of them do not."""
    numbers = _NUMBERS.findall(text.partition(".")[0])
    hour = int(numbers[0])
    half = _AFTERNOON.search(text)
    if half and hour <= _NOON:
        hour = hour % _NOON + (_NOON if half[0] == "pm" else 0)
    return ":".join((f"{hour:02d}", *numbers[1:]))


def _date(text: str) -> str:
    """Return the date as `2024-03-12`, and what is none as it is written."""
    words = _WORDS.findall(text)
    if "-" in text and words[0].isdigit() and words[1].isdigit():
        return text
    if len(words) < len(("day", "month", "year")):
        return f"{words[0]}-{int(words[1]):02d}"
    day, month, year = words
    number = _OTHER_MONTHS.get(month) or 0
    if not number:
        number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
    full = int(year) if len(year) > 2 else _CENTURY + int(year)  # noqa: PLR2004
    if not (1 <= number <= len(_MONTHS) and 1 <= int(day) <= 31):  # noqa: PLR2004
        return text
    return f"{full:04d}-{number:02d}-{int(day):02d}"
