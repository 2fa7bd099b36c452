"""The same time in earlier years: `on 12 May` is the latest, and may be long ago."""

from __future__ import annotations

import re
from dataclasses import replace

from dateutil.relativedelta import relativedelta

from shared.times import time_phrases
from shared.times.calendar import Clock
from shared.times.time_phrases import TimePhrase

# Further back nobody means a date without its year.
MOST_YEARS = 10
_MONTH = re.compile(rf"(?<!last )\b(?:{'|'.join(sorted(time_phrases.MONTHS))})\b")
_YEAR = re.compile(r"\b\d{4}\b", re.ASCII)


def list_earlier_years(text: str, clock: Clock) -> list[TimePhrase]:
    """Return the phrase's interval in each earlier year; none if it names a year."""
    if clock.now is None or _YEAR.search(text) or not _MONTH.search(text):
        return []
    clocks = (
        replace(clock, now=clock.now - relativedelta(years=back))
        for back in range(1, MOST_YEARS + 1)
    )
    read = (time_phrases.parse_time_phrase(text, one) for one in clocks)
    return [one for one in read if one is not None]
