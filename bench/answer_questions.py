"""Questions whose answers are known: by hand (S, and new ones), N from events by rule.

N takes from a title what stands after DUE TO, FOLLOWING or AFTER as the fact, and asks
why what stands before it happened; the entry that is stored has the first part alone.
With another facility or an invented one they ask for what nobody has written.
"""

import calendar
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.answers_corpus import DATA, EVENTS, SAMPLE, read_events, title_of
from shared.text.analysis.tokens import scan
from shared.times.calendar import Clock

_RULE = re.compile(r"(.{12,}?)\s+(?:DUE TO|FOLLOWING|AFTER)\s+(.{8,})", re.IGNORECASE)
MONTHS = tuple(calendar.month_name)
NEW = Path(__file__).parent / "new_questions.jsonl"
FOREIGN = Path(__file__).parent / "foreign_questions.jsonl"
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
    yield from read_questions("S", DATA / "answers/sample_questions.jsonl")


def new_questions(path: Path = NEW) -> Iterator[KnownQuestion]:
    """Yield questions to the sample logbook that no weight was fitted to."""
    yield from read_questions("new", path)


def foreign_questions() -> Iterator[KnownQuestion]:
    """Yield questions to the sample logbook in another language than their entries."""
    yield from read_questions("foreign", FOREIGN)


def read_questions(name: str, path: Path) -> Iterator[KnownQuestion]:
    """Yield the questions of a file, a line of JSON each, as S and the new ones are."""
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        yield KnownQuestion(
            name if one["answerable"] else f"{name} unanswerable",
            one["kind"],
            SAMPLE,
            one["question"],
            one["answerable"],
            frozenset(one.get("relevant", ())),
            _all_of(one.get("nuggets", ())),
        )


def event_questions() -> Iterator[KnownQuestion]:
    """Yield N: with the month and without, of another facility, of an invented one."""
    rows = usable_events()
    facilities = sorted({row["facility"] for row in rows})
    for number, row in enumerate(rows):
        what, fact = cause_of(row)
        day = datetime.fromisoformat(row["notification_date"])
        month = f"in {MONTHS[day.month]} {day.year}"
        known = _most_of(fact)
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


def usable_events() -> list[dict[str, Any]]:
    """Return the events of which it is known why they happened.

    Of the 118 that the rule alone yields, those are left whose title is whole in its
    first line and whose text tells the fact: elsewhere there is nothing to find.
    """
    return [row for row in read_events() if _is_usable(row)]


def cause_of(row: dict[str, Any]) -> tuple[str, str]:
    """Return what happened, by an event's title, and the fact that tells why."""
    told = _RULE.fullmatch(title_of(row)[0])
    assert told is not None
    return told[1].strip(" -.,").lower(), told[2]


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
