"""Entries as a control room writes them: the same seed and number, the same text."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

_BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
_PEOPLE = ("m.koval", "i.brandt", "r.patel", "t.nguyen", "a.ruiz", "l.marin")
_BOOKS = ("Operations", "RF", "Vacuum", "Diagnostics", "Safety")
_SUBJECTS = ("tripped", "drifted", "was restarted", "is noisy", "was replaced", "leaks")
_DEVICES = ("SR:C{n:02d}-RF", "BPM{n:03d}", "HCM {n:02d}", "PSS{n:02d}", "Q{n}A")
_CAUSES = (
    "arc in the waveguide",
    "cooling water flow too low",
    "interlock on the shutter",
    "timing jitter of the master clock",
    "a loose cable at the rack",
    "pressure of {p}e-9 mbar at the ion pump",
)
_ACTIONS = (
    "Reset from the control room after {m} min.",
    "Swapped the card, beam back at {h:02d}:{m:02d}.",
    "Called the expert, will look at it tomorrow.",
    "No action, watching it for the rest of the shift.",
    "Access needed; see the entry of last week.",
)


def entries(count: int, *, seed: int = 1, first: int = 1) -> Iterator[dict[str, Any]]:
    """Yield so many entries in the form of the generic JSON reader, oldest first."""
    for number in range(first, first + count):
        luck = random.Random(f"{seed}:{number}")  # noqa: S311 - a test's luck
        yield _entry(number, luck)


def lines(count: int, *, seed: int = 1, first: int = 1) -> Iterator[bytes]:
    """Yield the same as lines of JSON."""
    for one in entries(count, seed=seed, first=first):
        yield json.dumps(one).encode() + b"\n"


def _entry(number: int, luck: random.Random) -> dict[str, Any]:
    n, minute = luck.randrange(1, 60), luck.randrange(1, 59)
    device = luck.choice(_DEVICES).format(n=n)
    subject = luck.choice(_SUBJECTS)
    sentences = [f"{device} {subject}: {luck.choice(_CAUSES).format(p=n)}."]
    for _ in range(min(12, int(luck.expovariate(0.5)) + 1)):
        text = luck.choice(_ACTIONS).format(m=minute, h=luck.randrange(24))
        sentences.append(text)
    return {
        "id": str(number),
        "timestamp": (_BEGAN + timedelta(minutes=3 * number)).isoformat(),
        "author": luck.choice(_PEOPLE),
        "title": f"{device} {subject}",
        "text": " ".join(sentences),
        "books": [luck.choice(_BOOKS)],
        "tags": [luck.choice(("trip", "maintenance", "beam", "access"))],
        "metadata": {"shift": luck.choice(("OWL", "DAY", "SWING"))},
    }
