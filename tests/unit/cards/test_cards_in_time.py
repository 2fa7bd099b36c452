"""Cards take no longer than they may, and what was made in time is kept."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from shared.cards import card_rows, card_things, make_cards
from shared.cards.card_rows import MAX_CHARS, MAX_CHARS_IN_ALL, CardEntry
from shared.cards.card_things import CardThing
from shared.cards.thing_card import BestHit, make_thing_card
from shared.cards.thread_card import make_thread_card
from shared.errors import DatabaseQueryError
from shared.search.response.card import Card

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
THREAD = UUID(int=7)


def entry(number: int, text: str) -> CardEntry:
    at = BEGIN + timedelta(hours=number)
    name = {"kind": "device", "name": "HCM03", "canonical": "hcm3"}
    return CardEntry(
        entry_id=UUID(int=number),
        source="api",
        external_id=str(number),
        revision=1,
        entry_time=at,
        event_time=None,
        thread_id=THREAD,
        title="HCM03",
        text=text,
        kind="logbook",
        is_naming=True,
        entities=[name],
        entries=9,
        first_time=BEGIN,
        kinds=None,
        months=None,
    )


class Link:
    """A link that takes what is told to the server and answers nothing."""

    def execute(self, *_: object, **__: object) -> None:
        """Take a statement."""


def made(
    monkeypatch: pytest.MonkeyPatch, load: Callable[..., list[CardEntry]]
) -> list[Card]:
    """Return the cards of a page of which two threads are."""

    @contextmanager
    def linked(_: object) -> Iterator[Link]:
        yield Link()

    threads = {UUID(int=1): "named", UUID(int=2): "named"}
    monkeypatch.setattr(make_cards, "pipelined_connection", linked)
    monkeypatch.setattr(card_things, "find_card_things", lambda *_: [])
    monkeypatch.setattr(card_things, "find_card_threads", lambda *_: threads)
    monkeypatch.setattr(card_rows, "load_named", lambda *_: {})
    monkeypatch.setattr(card_rows, "load_thread_entries", load)
    row = SimpleNamespace(entry_id=UUID(int=1), thread_id=None)
    page: Any = [SimpleNamespace(row=row)]
    context: Any = SimpleNamespace(pool=None, facility=SimpleNamespace(incidents=()))
    plan: Any = SimpleNamespace(scope=None, time=SimpleNamespace(zone="UTC"))
    return [*make_cards.make_cards(context, plan, page, 1000)]


def test_a_card_that_fails_leaves_those_before_it(monkeypatch) -> None:
    def load(_: object, __: object, thread: UUID) -> list[CardEntry]:
        if thread == UUID(int=2):
            raise DatabaseQueryError(technical="canceling statement")
        return [entry(1, "HCM03 tripped.")]

    assert [one.card_id for one in made(monkeypatch, load)] == [f"thread:{UUID(int=1)}"]


def test_statements_that_are_each_in_time_are_together_not_too_many(monkeypatch):
    asked = []

    def load(_: object, __: object, thread: UUID) -> list[CardEntry]:
        asked.append(thread)
        until = time.monotonic() + make_cards.MOST_MS / 1000
        while time.monotonic() < until:
            pass
        return [entry(1, "HCM03 tripped.")]

    assert [one.card_id for one in made(monkeypatch, load)] == [f"thread:{UUID(int=1)}"]
    assert asked == [UUID(int=1)]


def test_of_long_texts_the_newest_are_read() -> None:
    filler = "HCM03 is fine. " * (MAX_CHARS // 15 + 1)
    # One more than is read.
    most = MAX_CHARS_IN_ALL // len(filler)
    newest = [entry(100 - n, filler) for n in range(most + 1)]
    trip = entry(1, "HCM03 tripped.")
    thing = CardThing("device", "hcm3", "HCM03", "named")
    hit = BestHit(None, 0.0)

    def kinds(entries: list[CardEntry]) -> list[set[str]]:
        cards = (
            make_thing_card(thing, entries, [], hit, "UTC", ()),
            make_thread_card(THREAD, entries, "named", hit, "UTC", ()),
        )
        return [{line.kind for line in one.lines} for one in cards]

    assert kinds([*newest[1:], trip])[0] >= {"last_trip"}
    assert "trip" in kinds([*newest[1:], trip])[1]
    assert "last_trip" not in kinds([*newest, trip])[0]
    assert "trip" not in kinds([*newest, trip])[1]
