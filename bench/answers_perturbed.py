"""Questions changed so that nobody knows an answer: they must not be grounded.

Made anew from one seed: another number of a device, another month, another unit, what
did not happen instead of what did. Another facility has N itself.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from bench import answer_questions
from bench.answer_questions import MONTHS, KnownQuestion
from bench.answers_corpus import EVENTS, SAMPLE, read_events

_SEED = 27
_NUMBERED = re.compile(r"(?<=[A-Za-z ])(?<!\d)(\d{1,3})(?=\W)")
# What is asked for in one unit has no size in another one.
_UNITS = {
    r"\b[Hh]ow many (litres|liters)\b": "How many volts",
    r"\b(\d+(?:\.\d+)?) ?(mm|microns)\b": r"\1 bar",
    r"\b(\d+) degrees\b": r"\1 litres",
    r"\b[Hh]ow long\b": "How many litres",
    r"\b[Ww]ie lange\b": "Wie viele Liter",
    r"\b[Hh]ow many (seconds|minutes|hours|days)\b": "How many volts",
    r"\bfraction\b": "voltage",
    r"\bpressure\b": "voltage",
}
# Of what did not happen nobody wrote why.
_AUXILIARY = re.compile(
    r"\A(Why|Warum) ((?:did|was|does|is|were|would) .{3,60}?) (\w+)\?\Z"
)


def perturb_sample() -> Iterator[KnownQuestion]:
    """Yield the answerable ones of S and of the new, changed in each way that fits."""
    draw = random.Random(_SEED)  # noqa: S311 - the same ones each time
    for one in (
        *answer_questions.sample_questions(),
        *answer_questions.new_questions(),
    ):
        if not one.answerable:
            continue
        number = str(draw.randrange(60, 99))
        changed = _NUMBERED.sub(number, one.text)
        if changed != one.text and "degrees" not in one.text:
            yield _unanswerable(one, "another number", changed)
        for unit, other in _UNITS.items():
            changed = re.sub(unit, other, one.text)
            if changed != one.text:
                yield _unanswerable(one, "another unit", changed)
        changed = _AUXILIARY.sub(r"\1 \2 not \3?", one.text)
        if changed != one.text and " not " not in one.text:
            yield _unanswerable(one, "not so", changed)


def perturb_events() -> Iterator[KnownQuestion]:
    """Yield N of a month in which its facility reported nothing."""
    reported: dict[str, set[int]] = defaultdict(set)
    for row in read_events():
        day = datetime.fromisoformat(row["notification_date"])
        reported[row["facility"]].add(day.month)
    draw = random.Random(_SEED)  # noqa: S311 - the same ones each time
    for row in answer_questions.usable_events():
        day = datetime.fromisoformat(row["notification_date"])
        # What was reported in the first days of a month is found by the one before.
        near = {
            (month + shift) % 12
            for month in reported[row["facility"]]
            for shift in (-1, 0, 1)
        }
        quiet = [month for month in range(1, 13) if month % 12 not in near]
        if quiet:
            what, _ = answer_questions.cause_of(row)
            month = f"{MONTHS[draw.choice(quiet)]} {day.year}"
            text = f"Why was there {what} at {row['facility'].title()} in {month}?"
            yield KnownQuestion(
                "N perturbed", "another month", EVENTS, text, answerable=False
            )


def _unanswerable(one: KnownQuestion, kind: str, text: str) -> KnownQuestion:
    name = f"{one.name} perturbed"
    return KnownQuestion(name, kind, SAMPLE, text, answerable=False)
