"""Questions whose answers are known: S by hand, N made from events by rule.

N takes from a title what stands after DUE TO, FOLLOWING or AFTER as the fact, and asks
why what stands before it happened; the entry that is stored has the first part alone.
With another number, another facility or an invented one they ask for what nobody has
written: they must not be grounded.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench.answers_corpus import DATA, EVENTS, SAMPLE, read_events, title_of
from shared.text.analysis.tokens import scan
from shared.times.calendar import Clock

_RULE = re.compile(r"(.{12,}?)\s+(?:DUE TO|FOLLOWING|AFTER)\s+(.{8,})", re.IGNORECASE)
_NUMBERED = re.compile(r"(?<=[A-Za-z ])(?<!\d)(\d{1,3})(?=\W)")
_MONTHS = tuple(calendar.month_name)
# So much of a fact's words makes it told, or sure to be in the text at all.
_MOST_OF = 0.6
_LEAST_TEXT, _LEAST_TERMS = 100, 2
CLOCKS = {
    SAMPLE: Clock(now=datetime(2026, 5, 20, tzinfo=UTC), zone="Europe/Berlin"),
    EVENTS: Clock(now=datetime(2000, 1, 10, tzinfo=UTC), zone="America/New_York"),
}


@dataclass(frozen=True)
class KnownQuestion:
    """A question, of which set and kind it is, and what a true answer has."""

    name: str
    kind: str
    tenant: str
    text: str
    answerable: bool = True
    relevant: frozenset[str] = frozenset()
    is_told: Callable[[str], bool] = lambda _: False


def sample_questions() -> Iterator[KnownQuestion]:
    """Yield S: written by hand, with the facts that an answer must tell."""
    path = DATA / "answers/sample_questions.jsonl"
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        yield KnownQuestion(
            "S" if one["answerable"] else "S unanswerable",
            one["kind"],
            SAMPLE,
            one["question"],
            one["answerable"],
            frozenset(one.get("relevant", ())),
            _all_of(one.get("nuggets", ())),
        )


def perturbed_questions() -> Iterator[KnownQuestion]:
    """Yield those of S with the number of a thing that nobody has."""
    for one in sample_questions():
        changed = _NUMBERED.sub("77", one.text)
        if one.answerable and changed != one.text and "degrees" not in one.text:
            yield KnownQuestion(
                "S unanswerable", "another_number", SAMPLE, changed, answerable=False
            )


def event_questions() -> Iterator[KnownQuestion]:
    """Yield N: with the month and without, of another facility, of an invented one."""
    rows = [row for row in read_events() if _is_usable(row)]
    facilities = sorted({row["facility"] for row in rows})
    for number, row in enumerate(rows):
        told = _RULE.fullmatch(title_of(row)[0])
        assert told is not None
        what = told[1].strip(" -.,").lower()
        day = datetime.fromisoformat(row["notification_date"])
        month = f"in {_MONTHS[day.month]} {day.year}"
        known = _most_of(told[2])
        relevant = frozenset({str(row["event_number"])})
        own = row["facility"]
        other = next(
            one
            for shift in range(1, len(facilities))
            if (one := facilities[(number * 7 + shift) % len(facilities)]) != own
        )
        base = f"Why was there {what} at"
        for name, text, answerable in (
            ("N month", f"{base} {own.title()} {month}?", True),
            ("N open", f"{base} {own.title()}?", True),
            ("N swapped", f"{base} {other.title()} {month}?", False),
            ("N invented", f"{base} Zephyr Creek {month}?", False),
        ):
            yield KnownQuestion(name, "why", EVENTS, text, answerable, relevant, known)


def fact_title(title: str) -> str:
    """Return what is stored of a title: without the fact that answers must find."""
    told = _RULE.fullmatch(title)
    return title if told is None else told[1].strip(" -.,")


def _is_usable(row: dict[str, Any]) -> bool:
    title, text = title_of(row)
    told = _RULE.fullmatch(title)
    if told is None or not row["facility"] or len(text) < _LEAST_TEXT:
        return False
    # A title that goes on in the next line has only the beginning of the fact.
    if text.split("\n")[0].isupper():
        return False
    fact = _terms(told[2])
    found = len(fact & _terms(text))
    return len(fact) >= _LEAST_TERMS and found >= _MOST_OF * len(fact)


def _all_of(nuggets: list[str]) -> Callable[[str], bool]:
    return lambda text: all(re.search(one, text) for one in nuggets)


def _most_of(fact: str) -> Callable[[str], bool]:
    terms = _terms(fact)
    return lambda text: len(terms & _terms(text)) >= _MOST_OF * len(terms)


def _terms(text: str) -> set[str]:
    return {one.term for one in scan(text, "en") if len(one.surface or "") > 3}  # noqa: PLR2004 - no small words
