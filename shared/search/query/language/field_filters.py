"""Reads a field of a question as filters; which fields there are: `scanner.FIELDS`."""

from shared.errors import InvalidRequestError
from shared.search.query.filters import filter_operators, filters
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.filters.filters import Filters
from shared.search.query.language import ranges
from shared.text import facts
from shared.times import date_expressions
from shared.times.calendar import Clock

# These take a date; written without quotes, it may go on in the next words.
_CALLED = {"start_date": "since", "end_date": "until"}
DATES = frozenset({"after", "before", "date", "from", "since", "until", *_CALLED})
_MORE_WORDS, _MORE_OF_A_SIZE = 3, 5
ID, THREAD = "id", "thread"
_FILES = filters.parse({filters.HAS_ATTACHMENT: True}, max_values=1)
_PICTURES = Filters(facts=(WantedFact(facts.HAS, (facts.PICTURE,)),))
_HAS = {facts.ATTACHMENT: _FILES, facts.PICTURE: _PICTURES}


def counts(name: str) -> range:
    """Return how many of the next words may belong to a value, in the order of trial.

    A date takes as many words as can be read, a quantity as few as are enough.
    """
    if name == filters.QUANTITY:
        return range(_MORE_OF_A_SIZE + 1)
    goes_on = name in DATES or name.startswith(facts.METADATA)
    return range(_MORE_WORDS if goes_on else 0, -1, -1)


def parse_field(
    name: str, value: str, clock: Clock, *, goes_on: bool = False
) -> Filters | None:
    """Return the filters, or None where the value cannot be read; never raises.

    `goes_on` says that the value includes the next words, which only a quantity may.
    """
    if name in DATES:
        span = date_expressions.parse_date_expression(value, clock)
        bounded = span and date_expressions.bounded(_CALLED.get(name, name), span)
        # Nothing is left of `since:..2024`.
        return (bounded and filters.within(bounded)) or None
    if not value.strip():
        return None
    if name == facts.HAS:
        return _HAS.get(value.strip().lower().removesuffix("s"))
    if name == ID:
        return Filters(ids=filter_operators.entry_ids((value.strip(),)))
    if name.startswith(facts.METADATA):
        field = facts.metadata_field(name.removeprefix(facts.METADATA))
        bounds = ranges.parse_range(field, value, clock)
        if bounds is not None:
            return Filters(ranges=(bounds,))
        if goes_on or ranges.is_meant(value):
            return None
    asked = filters.THREAD if name == THREAD else name
    try:
        return filters.parse({asked: value}, max_values=1)
    except InvalidRequestError:
        return None


def is_swapped(value: str, clock: Clock) -> bool:
    """Tell whether an interval of two dates ends before it begins."""
    first, dots, last = value.partition("..")
    begins, ends = (
        date_expressions.parse_date_expression(one, clock) for one in (first, last)
    )
    if not dots or begins is None or ends is None:
        return False
    return bool(begins.since and ends.until and ends.until < begins.since)
