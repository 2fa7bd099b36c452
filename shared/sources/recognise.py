"""What an address is: every adapter that can tell is asked, and asks little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from shared.entries.adapter import Recognises, Recognition
from shared.errors import LogchordError
from shared.settings_sources import SourceSettings
from shared.sources import loading
from shared.sources.io import make_io

# What stands this far above the others needs no question.
CLEAR_LEAD = 0.2


@dataclass(frozen=True, slots=True)
class Candidate:
    """An adapter that takes the address for its own."""

    adapter: str
    title: str
    found: Recognition


@dataclass(frozen=True, slots=True)
class Tried:
    """Everything that was found, the likeliest first, and who was asked."""

    candidates: tuple[Candidate, ...]
    asked: tuple[str, ...]
    # Why it could not be looked at, if that is so.
    failures: tuple[str, ...]

    @property
    def winner(self) -> Candidate | None:
        """The one that is clearly it."""
        if not self.candidates:
            return None
        first, *others = self.candidates
        second = others[0].found.confidence if others else 0.0
        return first if first.found.confidence - second >= CLEAR_LEAD else None


def recognise(url: str, settings: SourceSettings) -> Tried:
    """Ask each adapter about an address: at most three requests each, no login."""
    candidates: list[Candidate] = []
    asked: list[str] = []
    failures: dict[str, None] = {}
    for name, title, kind in _by_name():
        asked.append(name)
        hurried = settings.model_copy(update={"max_retries": 0, "rate_per_second": 20})
        with make_io(name, hurried) as io:
            try:
                found = kind.recognise(url, io)
            except LogchordError as exc:
                failures[exc.message] = None
                continue
        if found is not None:
            candidates.append(Candidate(name, title, found))
    candidates.sort(key=lambda one: (-one.found.confidence, one.adapter))
    return Tried(tuple(candidates), tuple(asked), tuple(failures))


def _by_name() -> list[tuple[str, str, type[Recognises]]]:
    """Return who can tell, each once: not again by the names that peers give it."""
    return [
        (name, kind.descriptor.title, cast("type[Recognises]", kind))
        for name, kind in loading.adapters().items()
        if kind.descriptor.name == name and hasattr(kind, "recognise")
    ]
